#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The path between two ranks fails for some time, up to the six heartbeats that are documented, in one
# direction or both, or for the packets of data connections only: nothing fails, and no operation waits
# much longer than the outage.  After a longer one, and if large packets do not come through for
# good, all ranks get the same error in time.  Groups run at the same time.
# OUTAGE_HEARTBEAT_MS: heartbeat of the groups whose outage has many lengths; on a debug kernel, which
# is several times slower, the default one.
# any-transport: all ranks use TCP.
set -uo pipefail
ranks=$(dirname "$0")/net_outage
beat=${OUTAGE_HEARTBEAT_MS:-$([[ -e /proc/lockdep ]] && echo 1000 || echo 400)}
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export COLL_TRANSPORT=tcp

# begin NAME HEARTBEAT_MS MODE BYTES MS...; MODE6 is MODE by IPv6
begin()
{
	local mode=${3%6} v6=()
	names+=("$1")
	[[ $mode == "$3" ]] || v6=(-6)
	COLL_HEARTBEAT_MS=$2 timeout 120 collective-run --netns "${v6[@]}" -n 2 -- \
		"$ranks" "$mode" "${@:4}" >"$work/${#names[@]}" 2>&1 &
	jobs+=($!)
}

# Wait for all that have begun.
end()
{
	local i status
	for i in "${!jobs[@]}"; do
		wait "${jobs[i]}"
		status=$?
		sed 's/^/# /' "$work/$((i + 1))"
		((++n))
		if ((status)); then failed=1; echo -n "not "; fi
		echo "ok $n ${names[i]}"
	done
	names=() jobs=()
}
names=() jobs=()

# sweep MODE BYTES: from one heartbeat to six, in steps of half a one
sweep()
{
	local halves lengths=()
	for ((halves = 2; halves <= 12; halves++)); do lengths+=($((halves * beat / 2))); done
	begin "outages of 1 to 6 heartbeats: $1, $2 bytes" "$beat" "$1" "$2" "${lengths[@]}"
}

# once MODE BYTES MS: at the default heartbeat
once()
{
	begin "outage of $3 ms: $1, $2 bytes" 1000 "$1" "$2" "$3"
}

echo "TAP version 13"
modprobe -q -a sch_netem sch_tbf
if ! collective-run --netns -n 1 tc qdisc add dev eth0 root netem loss 1% >/dev/null 2>&1; then
	echo "1..0 # SKIP no bridge, veth or netem in this kernel"
	exit 4
fi
if [[ ${VM_KERNEL:-} == distro || ${VM_KERNEL:-} == rt ]]; then
	# An emulated machine is too slow for so many groups at a time.
	long=1000
	once both 8 5500
	once out 65536 3900
else
	long=500
	for each in "out 8" "in6 8" "both 8" "out 4194304" "both 4194304" "data 4194304" "late 8" "idle 8"; do
		# shellcheck disable=SC2086
		sweep $each
	done
	once both 8 5900
	once out 4194304 5500
	once data 4194304 4500
	once idle 8 3900
fi
begin "outage that does not end" $long cut 65536 $((12 * long))
begin "large packets do not pass" $long large 4194304 $((12 * long))
end
echo "1..$n"
exit $failed
