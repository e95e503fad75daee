#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# collective-bench runs every collective that it knows, and every result is right.
set -uo pipefail
collectives=$(collective-bench --help | sed -n 's/^  COLLECTIVE: //p')
modes=("" "--out-of-place --nonblocking 4")
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
echo "1..$n"
((n > 30)) || failed=1
exit $failed
