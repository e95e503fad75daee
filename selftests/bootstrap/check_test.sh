#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# collectivectl check lists the addresses that ranks tell other hosts, and why others are left out.
# Without the module it says that too.

[[ ${1-} == inside ]] || { unshare -n "$0" inside; exit; }

tests=0 failed=0
result() {
	tests=$((tests + 1))
	if [[ $1 == 0 ]]; then echo "ok $tests - $2"; else echo "not ok $tests - $2"; failed=1; fi
}

echo TAP version 13
if ! { ip link add eth9 up type veth peer name far && ip link set far up &&
	ip link add cut up type veth peer name down && ip addr add 10.1.0.5/24 dev eth9 &&
	ip addr add 169.254.3.1/16 dev eth9 && ip addr add 10.8.0.1/24 dev cut; }; then
	echo "1..0 # SKIP no network namespace"
	exit 4
fi
for i in {1..90}; do ip addr add "10.250.0.$i/32" dev eth9; done
lines=$(collectivectl check)
for line in "OK   address  told: 10.1.0.5 (eth9)" \
	"OK   address  left out, link-local: 169.254.3.1 (eth9)" \
	"OK   address  left out, no carrier: 10.8.0.1 (cut)"; do
	grep -qFx "$line" <<<"$lines"
	result $? "${line#*address  }"
done
grep -q "left out, host route: 10.250.0.1 (eth9), .* and [0-9]* more$" <<<"$lines"
result $? "many of one kind take one line"
COLL_LOCAL_ADDR=10.1.0.0/16 collectivectl check | grep -qF "COLL_LOCAL_ADDR is 10.1.0.0/16: only that is told"
result $? "the address that was asked for"
ip addr flush eth9 && ip addr flush cut
collectivectl check | grep -q "^WARN address  none to tell other hosts$"
result $? "no address at all"
collectivectl -j check | grep -q '"none to tell other hosts"'
result $? "in JSON"
echo "1..$tests"
exit "$failed"
