#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A firewall between two ranks forgets connections that have had no packets for a while.  If it
# remembers them for longer than the pause between two probes (COLL_KEEPALIVE_S), nothing is lost
# however long nothing is called, also in a group that rests.  If it does not, the next operation
# fails within about eight heartbeats.  Groups run at the same time, for two minutes, because a group
# rests only after one.
# any-transport: all ranks use TCP.
# any-kernel: timers of TCP and heartbeats take most of the time.
set -uo pipefail
program=$(dirname "$0")/net_forgotten
# The default: "collectivectl why" asks for four seconds before it says that a rank does not answer.
beat=1000
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "TAP version 13"
modprobe -q tun
if ! "$program" check 4 "$beat" >/dev/null 2>&1; then
	echo "1..0 # SKIP no TUN device"
	exit 4
fi
modes=("idle 4" "idle 6" "rest 4" "rest 6" "all 4" "all 6" "kept 4" "kept 6")
declare -A jobs
for mode in "${modes[@]}"; do
	# shellcheck disable=SC2086
	timeout 300 "$program" $mode "$beat" >"$work/$mode" 2>&1 &
	jobs[$mode]=$!
done
for mode in "${modes[@]}"; do
	wait "${jobs[$mode]}"
	status=$?
	sed 's/^/# /' "$work/$mode"
	((++n))
	if ((status)); then failed=1; echo -n "not "; fi
	echo "ok $n connections without packets: $mode"
done
echo "1..$n"
exit $failed
