#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Checks that collective-bench runs every collective and that every result is right.
# any-kernel: what is tested is above the system calls.
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

# A list of sizes, and a column with the CPU time, after which only the length of a batch stands.
out=$(timeout 100 collective-bench allreduce -n 2 --sizes 8,4K,1M --iters 3 --cpu --csv)
awk -F, '
NR == 1 { good = $11 == "cpu_us" && $12 == "batch" }
NR > 1 { good = good && NF == 12; sizes = sizes " " $1; cpu = $11 }
END { exit !(good && sizes == " 8 4096 1048576" && cpu > 0) }' <<<"$out"
result $? "--sizes, --cpu"
timeout 100 collective-bench allreduce -n 2 --sizes 4K,8 2>/dev/null
result $(($? != 2)) "--sizes that do not rise are refused"
[[ $(collective-bench allreduce --sizes 4K,8 2>&1) == "collective-bench: --sizes 4K,8: bad value" ]]
result $? "with the option and its value"
for nothing in "--min 9 --max 8" "--sizes 3 --type f32" "--sizes 8 --op band --type f32"; do
	# shellcheck disable=SC2086 # words
	out=$(timeout 100 collective-bench allreduce -n 2 $nothing 2>&1 >/dev/null)
	(($? == 2)) && [[ $out == "collective-bench: nothing to measure"* ]]
	result $? "$nothing leaves nothing to measure, which is an error"
done

# The table has both places, each with its columns, and ends with a summary.
out=$(timeout 100 collective-bench allreduce -n 2 --sizes 8,4K --iters 3)
sed 's/^/# /' <<<"$out"
awk '
/in place/ { places = /out of place .*in place/ }
$3 == "f32" { lines++; wrong += $10 + $16; good += NF == 16 && $5 > 0 && $11 > 0 }
/^# wrong elements: 0; average bus bandwidth: [0-9.]+ GB\/s$/ { summary++ }
END { exit !(places && lines == 2 && good == 2 && !wrong && summary == 1) }' <<<"$out"
result $? "both places in one table, and a summary"
for place in in out; do
	word=--in-place
	[[ $place == in ]] || word=--out-of-place
	out=$(timeout 100 collective-bench reduce_scatter -n 3 --sizes 60K --iters 2 "$word" --json)
	jq -e --arg place "$place" '[.results[].place] == [$place]' <<<"$out" >/dev/null
	result $? "$word alone"
done

# JSON: an object for each size and place; what a collective does not have is absent.
out=$(timeout 100 collective-bench allreduce -n 2 --sizes 8,1M --type f32,f64 --op sum,max --iters 3 --cpu --json \
	--algorithm ring)
jq -e '.collective == "allreduce" and .ranks == 2 and .algorithm == "ring" and .wrong == 0 and
	.registered and (.links | .local + .tcp) == 1 and .average_busbw_GBps > 0 and
	(.results | length) == 16 and ([.results[] | [.type, .op, .size, .place]] | unique | length) == 16 and
	all(.results[]; .repetitions == 3 and .min_us > 0 and .min_us <= .median_us and
		.median_us <= .p99_us and .busbw_GBps > 0 and .cpu_us >= 0 and .wrong == 0)' <<<"$out" >/dev/null
result $? "--json"
out=$(timeout 100 collective-bench barrier -n 2 --iters 3 --json)
jq -e '(.results | length) == 1 and (.results[0] | has("place") or has("type") or has("busbw_GBps") | not)' \
	<<<"$out" >/dev/null
result $? "--json of a barrier"

# Operations up to 64 KiB are timed in batches, whose length follows from the clock's cost or is asked for.  Every
# operation of a batch has its own values, also in place, and every result is compared.
batches()	# FILTER OPTION...
{
	local filter=$1 out
	shift
	out=$(timeout 100 collective-bench "$@" -n 2 --sizes 8,60K,1M --iters 3 --json)
	jq -e 'all(.results[]; .batch >= 1 and .batch <= 512 and .repetitions == 3 and .wrong == 0 and
		.min_us > 0 and (.size <= 65536 or .batch == 1)) and ('"$filter)" <<<"$out" >/dev/null && return
	sed 's/^/# /' <<<"$out"
	return 1
}
batches '.results | length == 6 and all(.[]; .batch as $b | any(range(10); pow(2; .) == $b))' allreduce
result $? "batches by the clock's cost, of one operation at a large size"
batches '.results | all(.[]; .batch == 1)' allreduce --batch 1
result $? "--batch 1"
batches '.results | map(.batch) == [1, 1, 1, 1, 1, 1]' allreduce --warmup 0
result $? "without untimed repetitions, a batch is one operation"
for collective in allreduce reduce_scatter scan broadcast alltoall; do
	batches '.results | all(.[]; .batch == if .size > 65536 then 1 else 20 end)' "$collective" --batch 20
	result $? "$collective --batch 20"
done
batches '.in_flight == 3 and (.results | all(.[]; .batch == if .size > 65536 then 1 else 5 end))' \
	allreduce --nonblocking 3 --batch 5 --check last
result $? "--nonblocking 3 --batch 5"
for batch in 0 513 -1 x ''; do
	out=$(collective-bench allreduce --batch "$batch" 2>&1)
	(($? == 2)) && [[ $out == "collective-bench: --batch $batch: bad value" ]]
	result $? "--batch '$batch' is refused"
done
collective-bench allreduce --overlap --batch 2 2>/dev/null
result $(($? != 2)) "--overlap with --batch 2 is refused"

timeout 100 collective-bench allreduce -n 2 --sizes 1M --iters 2 --algorithm hypercube 2>/dev/null >&2
result $(($? == 0)) "--algorithm with another name is refused"

# A line takes as long as is asked for, whatever its size.
begin=$EPOCHREALTIME
out=$(timeout 100 collective-bench allreduce -n 2 --sizes 8,1M --in-place --time 1 --json)
took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
jq -e 'all(.results[]; .repetitions > 20 and .wrong == 0)' <<<"$out" >/dev/null && ((took >= 2000 && took < 30000))
result $? "--time: 2 lines of 1 s each took $took ms"
timeout 100 collective-bench allreduce -n 2 --time 1 --iters 3 2>/dev/null
result $(($? != 2)) "--time with --iters is refused"

# What is shown of a long line is on the terminal only, and gone afterwards.
timeout 100 collective-bench allreduce -n 2 --sizes 8 --in-place --time 4 2>"/tmp/bench.$$" >/dev/null
[[ ! -s /tmp/bench.$$ ]]
result $? "no progress without a terminal"
timeout 100 script -qec 'collective-bench allreduce -n 2 --sizes 8 --in-place --time 4' /dev/null </dev/null >"/tmp/bench.$$"
grep -q '8 bytes, in place: .* %, [0-9]* s left' "/tmp/bench.$$"
result $? "progress of a long line on a terminal"
begin=$EPOCHREALTIME
timeout 100 script -qec 'collective-bench allreduce -n 2 --sizes 8,64,4K --in-place --time 1' /dev/null </dev/null >"/tmp/bench.$$"
took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
# Three lines of a second each; an emulated machine may take longer.
! grep -q 's left' "/tmp/bench.$$" || ((took > 4500))
result $? "and none of short ones: 3 lines took $took ms"

timeout 100 collective-bench allgather -n 2 --sizes 1K,4K,1M --iters 3 --plot "/tmp/bench.$$.svg" >/dev/null &&
	grep -q '</svg>' "/tmp/bench.$$.svg" && grep -q 'f32, out of place' "/tmp/bench.$$.svg" &&
	grep -q 'bus bandwidth' "/tmp/bench.$$.svg"
result $? "--plot"
rm -f "/tmp/bench.$$.svg"
timeout 100 collective-bench allgather -n 2 --sizes 1K --plot "/tmp/none.$$/x.svg" >/dev/null 2>&1
result $(($? != 1)) "--plot into no folder fails"
timeout 100 collective-bench allgather -n 2 --plot x.png 2>/dev/null
result $(($? != 2)) "--plot of another format is refused"

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
# The groups of another user than root have other names in sysfs.
mode=$(stat -c %a /dev/collective)
chmod 666 /dev/collective
timeout 100 setpriv --reuid 65534 --regid 65534 --clear-groups \
	collective-bench allreduce -n 2 --sizes 8 --iters 2 --transport local
result $? "of another user, --transport local"
chmod "$mode" /dev/collective
if [[ ! -d /sys/module/collective_rdma ]]; then
	timeout 100 collective-bench barrier -n 2 --transport rdma 2>/dev/null
	result $(($? != 1)) "--transport rdma is refused without its module"
fi
echo "1..$n"
((n > 15 * ${#modes[@]})) || failed=1
exit $failed
