#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks that collective-bench runs every collective and that every result is right.
set -uo pipefail
collectives=$(collective-bench --help | sed -n 's/^  COLLECTIVE: //p')
modes=("--out-of-place --nonblocking 4" "")
# Emulated machines are slow: they run one mode only.
[[ ${VM_KERNEL:-} != distro && ${VM_KERNEL:-} != rt ]] || unset 'modes[1]'
n=0 failed=0
result()
{
	((++n))
	if (($1 == 0)); then echo "ok $n $2"; else echo "not ok $n $2"; failed=1; fi
}

echo "TAP version 13"
for collective in $collectives; do
	for mode in "${modes[@]}"; do
		# shellcheck disable=SC2086 # words
		timeout 100 collective-bench "$collective" -n 3 --min 60 --max 60000 --factor 30 \
			--iters 2 --warmup 1 --type f32,i8 --csv $mode | sed 's/^/# /'
		result "${PIPESTATUS[0]}" "$collective${mode:+ $mode}"
	done
done

# A list of sizes, and a last column with the CPU time.
out=$(timeout 100 collective-bench allreduce -n 2 --sizes 8,4K,1M --iters 3 --cpu --csv)
awk -F, '
NR == 1 { good = $11 == "cpu_us" }
NR > 1 { good = good && NF == 11; sizes = sizes " " $1; cpu = $11 }
END { exit !(good && sizes == " 8 4096 1048576" && cpu > 0) }' <<<"$out"
result $? "--sizes, --cpu"
timeout 100 collective-bench allreduce -n 2 --sizes 4K,8 2>/dev/null
result $(($? != 2)) "--sizes that do not rise are refused"

# The kernel says which transport the links use; a rank that uses another one than asked for fails.
for links in '3 local, 0 tcp' '0 local, 3 tcp'; do
	transport=local
	[[ $links == 3* ]] || transport=tcp
	timeout 100 collective-bench allreduce -n 3 --sizes 8,1M --iters 2 --transport "$transport" |
		sed 's/^/# /' >"/tmp/bench.$$"
	status=${PIPESTATUS[0]}
	cat "/tmp/bench.$$"
	grep -q "links: $links" "/tmp/bench.$$" && ((status == 0))
	result $? "--transport $transport"
done
rm -f "/tmp/bench.$$"
timeout 100 collective-bench barrier --transport rdma 2>/dev/null
result $(($? != 2)) "--transport rdma is refused"
echo "1..$n"
((n > 15 * ${#modes[@]})) || failed=1
exit $failed
