#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A link is cut in both directions without notice: every rank names one of its ends.
# any-transport: all ranks use TCP.
set -uo pipefail
ranks=$(dirname "$0")/net_link_cut
n=0 failed=0
export COLL_TRANSPORT=tcp

# cut RANKS VICTIM AFTER_MS
cut()
{
	local status
	COLL_HEARTBEAT_MS=100 timeout 100 collective-run --netns -n "$1" -- "$ranks" "$2" "$3" 10000 2>&1 |
		sed 's/^/# /'
	status=${PIPESTATUS[0]}
	((++n))
	if ((status)); then failed=1; echo -n "not "; fi
	echo "ok $n the link of rank $2 of $1 is cut after $3 ms"
}

echo "TAP version 13"
if ! collective-run --netns -n 1 true >/dev/null 2>&1; then
	echo "1..0 # SKIP no bridge or veth in this kernel"
	exit 4
fi
# On an emulated machine a group takes seconds to start.
cuts=('2 1 0' '3 0 50' '4 1 77' '2 0 30' '3 2 200' '5 3 120' '6 0 10')
[[ ${VM_KERNEL:-} == distro || ${VM_KERNEL:-} == rt ]] && cuts=("${cuts[@]:0:3}")
echo "1..${#cuts[@]}"
# shellcheck disable=SC2086
for each in "${cuts[@]}"; do cut $each; done
exit $failed
