#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Four ranks, each with a network of its own: a healthy group has no straggler, a rank that is late is
# named, and so is one with a slow link; each rank that asks says the same.
# any-transport: all ranks use TCP.
set -uo pipefail
ranks=$(dirname "$0")/net_paced
n=0 failed=0
export COLL_TRANSPORT=tcp

# verdict NAME PATTERN ARGUMENT...: all four ranks print a line that matches
verdict()
{
	local name=$1 pattern=$2 output status
	shift 2
	output=$(timeout 60 collective-run --netns -n 4 --no-bind -- "$ranks" "$@" 2>&1)
	status=$?
	sed 's/^/# /' <<<"$output"
	((++n))
	if ((status)) || [[ $(grep -cE "^[^ ]+: $pattern" <<<"$output") != 4 ]]; then
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
echo "1..4"
verdict "healthy" "no(t sure:| straggler)" 0.7 8 -1 0
verdict "rank 1 is late" "rank 1 .*is waited for" 0.7 8 1 20000
# A way is known after eight heartbeats.  On a busy machine that of other links takes tens of milliseconds, too.
COLL_HEARTBEAT_MS=250 verdict "the link of rank 3 delays" "the links of rank 3 .*are slow" 3 8 -1 0 3 "delay 200ms"
verdict "the link of rank 3 loses" "the link between rank 3 .* slow.* segments lost" 1 262144 -1 0 3 "loss 5%"
exit $failed
