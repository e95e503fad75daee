#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A rank leaves and its LEAVE frames are lost at first: the others still learn that it left.
# any-transport: all ranks use TCP.
set -uo pipefail
ranks=$(dirname "$0")/net_lost_leave
n=0 failed=0
export COLL_TRANSPORT=tcp

# lost_leave RANKS VICTIM MUTE_MS
lost_leave()
{
	local status
	timeout 100 collective-run --netns -n "$1" -- "$ranks" "$2" "$3" 2>&1 | sed 's/^/# /'
	status=${PIPESTATUS[0]}
	((++n))
	if ((status)); then failed=1; echo -n "not "; fi
	echo "ok $n rank $2 of $1 leaves, and says nothing for $3 ms"
}

echo "TAP version 13"
modprobe -q sch_netem
if ! collective-run --netns -n 1 tc qdisc add dev eth0 root netem loss 1% >/dev/null 2>&1; then
	echo "1..0 # SKIP no bridge, veth or netem in this kernel"
	exit 4
fi
echo "1..3"
lost_leave 2 1 400
lost_leave 3 0 1500
lost_leave 4 3 800
exit $failed
