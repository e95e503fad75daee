#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# collectivectl check HOST... names what is missing on each host: here the device.  A program takes
# the place of ssh.
mark=0
. "${0%/*}/ranks.sh"

printf '#!/bin/sh\nwhile case $1 in -*) ;; *) false ;; esac; do shift; done\n[ "$1" = lost ] && exit 255\nexec sh -c "$2"\n' >"$work/ssh"
chmod +x "$work/ssh"
export PATH=$work:$PATH COLL_DEVICE=$work/none

echo "TAP version 13"
out=$(timeout 60 collectivectl check 127.0.0.1 localhost 2>&1)
is "the exit status" 1 $?
is "each host without the device" "FAIL device   127.0.0.1: $work/none: No such file or directory
FAIL device   localhost: $work/none: No such file or directory" "$(grep '^FAIL device' <<<"$out" | sort)"
is "no host has formed a group" 2 "$(grep -c '^FAIL group    \(127.0.0.1\|localhost\): .*none' <<<"$out")"
out=$(timeout 60 collectivectl check 127.0.0.1 lost 2>/dev/null)
grep -q '^FAIL group    lost: no answer$' <<<"$out"
result $? "a host that is not reached"
timeout 60 collectivectl -j check 127.0.0.1 localhost 2>/dev/null | grep -q '"group"'
result $? "in JSON"
for hosts in a a:2\ b a,b\ c; do
	# shellcheck disable=SC2086
	timeout 60 collectivectl check $hosts >/dev/null 2>&1
	is "no hosts: $hosts" 2 $?
done
echo "1..$n"
exit "$failed"
