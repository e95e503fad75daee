#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Four ranks, each with a network of its own: a healthy group has no straggler, ranks that are late are
# named, and so is one with a slow link; each rank that asks says the same.
# any-transport: all ranks use TCP.
set -uo pipefail
ranks=$(dirname "$0")/net_paced
any="(no(t sure:| straggler)|.* is waited for|.* (is|are) slow)"
n=0 failed=0
export COLL_TRANSPORT=tcp

# verdict NAME LINES PATTERN ARGUMENT...: all four ranks print so many lines that match, and no other
verdict()
{
	local name=$1 lines=$2 pattern=$3 output status
	shift 3
	output=$(timeout 60 collective-run --netns -n 4 --no-bind -- "$ranks" "$@" 2>&1)
	status=$?
	sed 's/^/# /' <<<"$output"
	((++n))
	if ((status)) || [[ $(grep -cE "^[^ ]+: $pattern" <<<"$output") != $((4 * lines)) ]] ||
	   [[ $(grep -cE "^[^ ]+: $any" <<<"$output") != $((4 * lines)) ]]; then
		failed=1
		echo -n "not "
	fi
	echo "ok $n $name"
}

echo "TAP version 13"
if ! collective-run --netns -n 1 true >/dev/null 2>&1; then
	echo "1..0 # SKIP no bridge or veth in this kernel"
	exit 4
fi
modprobe -q sch_netem
echo "1..7"
verdict "healthy" 1 "no(t sure:| straggler)" 0.7 8 - 0
verdict "rank 1 is late" 1 "rank 1 .*is waited for" 0.7 8 1 20000
verdict "ranks 1 and 3 are late" 2 "rank [13] .*is waited for" 0.7 8 13 100000
# A way is known after eight heartbeats.  On a busy machine that of other links takes tens of milliseconds, too.
COLL_HEARTBEAT_MS=250 verdict "the link of rank 3 delays" 1 "the links of rank 3 .*are slow" 3 8 - 0 3 "delay 200ms"
verdict "the link of rank 3 loses" 1 "the link between rank 3 .* slow.* segments lost" 1 262144 - 0 3 "loss 5%"
verdict "the link of rank 3 has 10 Mbit/s" 1 "the link between rank 3 .* and rank 0 .* slow.* MB/s" 2 65536 - 0 3 "rate 10mbit"
verdict "healthy, with 64 KiB" 1 "no(t sure:| straggler)" 0.7 65536 - 0
exit $failed
