#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Runs the examples that need no data; the overlap example prints one line a size.
# any-kernel: what is tested is above the system calls.
set -uo pipefail
n=0 failed=0
result()
{
	((++n))
	if (($1 == 0)); then echo "ok $n $2"; else echo "not ok $n $2"; failed=1; fi
}

echo "TAP version 13"
echo "1..4"
timeout 100 collective-run -n 3 uring_pipeline 12 | sed 's/^/# /'
result "${PIPESTATUS[0]}" "uring_pipeline"
[[ $(timeout 100 uring_pipeline 1 /none 2>&1) == "uring_pipeline: /none: No such file or directory" ]]
result $? "a folder that is not there is named"
timeout 100 uring_pipeline --help >/dev/null 2>&1
result $(($? != 2)) "other arguments are refused"

out=$(timeout 100 collective-bench allreduce -n 2 --async --overlap --csv --min 4K --max 64K \
	--factor 16 --iters 3)
status=$?
sed 's/^/# /' <<<"$out"
((status == 0 && $(grep -cE '^[0-9]+,[0-9]+,f32,sum(,[0-9.]+){4}$' <<<"$out") == 2))
result $? "overlap is measured"
exit $failed
