# SPDX-License-Identifier: GPL-2.0
# What the tests of collective-run share.  They set $mark, the time that their ranks sleep: no other
# process sleeps as long.
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

result()
{
	((++n))
	if (($1 == 0)); then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; fi
}

# is WHAT WANTED GOT
is()
{
	[[ $2 == "$3" ]]
	local status=$?
	((status)) && printf '# wanted %q, got %q\n' "$2" "$3"
	result $status "$1"
}

# left_in_time NAME: check that soon no process that sleeps for $mark is left, which takes 71 s by itself.
left_in_time()
{
	local i
	for ((i = 0; i < 200; i++)); do
		pgrep -f "sleep $mark" >/dev/null || break
		sleep 0.05
	done
	! pgrep -af "sleep $mark"
	result $? "$1"
	pkill -9 -f "sleep $mark"
}
