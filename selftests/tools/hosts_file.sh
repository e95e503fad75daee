#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Hosts that resolve the name of rank 0's host differently: each rank has its own hosts file.
# any-transport, any-kernel: the ranks meet by sockets of the library.
set -uo pipefail
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# group NAME RANK0'S-LINES RANK1'S RANK2'S
group()
{
	local name=$1 rank status
	shift
	for rank in 0 1 2; do printf '%b\n' "127.0.0.1 localhost\n$1" >hosts.$rank; shift; done
	timeout 60 collective-run --netns -n 3 -- unshare -m sh -c "mount --bind $work/hosts.\$RANK /etc/hosts &&
		COLL_RENDEZVOUS=home:29411 COLL_INIT_TIMEOUT_MS=20000 exec collective-bench allreduce \
			--sizes 64K --iters 3 --csv" 2>&1 | sed 's/^/# /'
	status=${PIPESTATUS[0]}
	((++n))
	if ((status)); then failed=1; echo -n "not "; fi
	echo "ok $n $name"
}

echo "TAP version 13"
if ! collective-run --netns -n 1 true >/dev/null 2>&1; then
	echo "1..0 # SKIP no bridge or veth in this kernel"
	exit 4
fi
echo "1..4"
group "the same everywhere" '10.88.0.1 home' '10.88.0.1 home' '10.88.0.1 home'
group "rank 0's name is loopback at home" '127.0.1.1 home' '10.88.0.1 home' '10.88.0.1 home'
group "rank 0 is known by IPv6 to one, by IPv4 to another" \
	'10.88.0.1 home\nfd88::1 home' 'fd88::1 home' '10.88.0.1 home'
group "one address of several leads nowhere" '10.88.0.1 home' '10.88.7.7 home\n10.88.0.1 home' \
	'fd88::77 home\n10.88.0.1 home'
exit $failed
