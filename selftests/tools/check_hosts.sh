#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "collectivectl check HOST..." finds out whether datagrams pass.  Each host is a network namespace,
# and a program takes ssh's place.
# any-transport, any-kernel: the library's datagrams are checked, not the module.
set -uo pipefail
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hosts="10.89.0.1 10.89.0.2 10.89.0.3"

result()
{
	((++n))
	if (($1 == 0)); then echo "ok $n $2"; else echo "not ok $n $2"; sed 's/^/# /' "$work/out"; failed=1; fi
}

# check HOST...: the output is in $work/out, without what is not about the network.
check()
{
	PATH=$work:$PATH timeout 60 collectivectl "$@" >"$work/out" 2>&1
}

echo "TAP version 13"
cat >"$work/ssh" <<-'END'
	#!/bin/bash
	while [[ $1 == -* ]]; do shift; done
	[[ $1 == 10.89.0.* ]] || exit 255
	exec ip netns exec "host${1##*.}" sh -c "$2"
END
chmod +x "$work/ssh"
if ! ip link add hosts up type bridge; then
	echo "1..0 # SKIP no bridge in this kernel"
	exit 4
fi
for host in $hosts; do
	i=${host##*.}
	ip netns add "host$i" && ip link add "port$i" up master hosts type veth peer eth0 netns "host$i" &&
		ip -n "host$i" addr add "$host/24" dev eth0 && ip -n "host$i" link set eth0 up &&
		ip -n "host$i" link set lo up || exit 1
done

# shellcheck disable=SC2086
check check $hosts
result $? "datagrams pass"
[[ $(grep -c '^OK   datagrams 10.89.0.[123]: those of the other hosts arrive$' "$work/out") == 3 ]]
result $? "a line for each host"
modprobe -qa nf_tables
if ip netns exec host2 nft -f - 2>/dev/null <<-'END'
	table ip t { chain c { type filter hook output priority 0; meta l4proto udp drop; }; }
END
then
	# shellcheck disable=SC2086
	check check $hosts
	result $((! $?)) "a filter is found"
	[[ $(grep -c '^FAIL datagrams 10.89.0.[13]: rank [02] hears no datagram of rank 1,' "$work/out") == 2 ]]
	result $? "by those that do not hear the host"
	grep -q '^OK   datagrams 10.89.0.2: ' "$work/out"
	result $? "which itself hears them"
	grep -qF 'rank 0 is 10.89.0.1, rank 1 is 10.89.0.2, rank 2 is 10.89.0.3' "$work/out"
	result $? "and the hosts are named"
else
	echo "ok $((++n)) a filter is found # SKIP no nft"
fi
check -j check 10.89.0.1 10.89.0.9
result $((! $?)) "a host that is not reached"
grep -q '"10.89.0.9: no answer"' "$work/out"
result $? "is named, in JSON"
echo "1..$n"
exit $failed
