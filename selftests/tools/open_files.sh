#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Groups of ranks that may have few open files.
# any-transport, any-kernel: the files are those of the library's sockets.
set -uo pipefail
n=0 failed=0

result()
{
	((++n))
	if (($1 == 0)); then echo "ok $n $2"; else echo "not ok $n $2"; failed=1; fi
}

# start RANKS FILES: sets $said to the output and $took to the duration in seconds.
start()
{
	local begin=$SECONDS status
	said=$(timeout 100 collective-run --no-bind -n "$1" -- sh -c "ulimit -n $2
		exec collective-bench barrier --iters 2 --csv" 2>&1)
	status=$?
	took=$((SECONDS - begin))
	sed 's/^/# /' <<<"$said" | head -n 20
	return $status
}

echo "TAP version 13"
echo "1..4"
start 40 30
result $? "more ranks than files"
start 4 14
result $? "a few files are enough"
start 4 6
(($? != 0 && took < 20))
result $? "too few are an error, and at once"
(($(grep -c 'open files' <<<"$said") >= 4))
result $? "which all ranks say"
exit $failed
