#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0-only
# Names the slowest rank of each operation in a trace of this host: the one that called it last.
#
#	trace-cmd record -e collective:collective_begin -e collective:collective_end COMMAND
#	trace-cmd report | awk -f slowest-rank.awk
#
# At the end: how often each rank was the last, and by how much at most.

# The value of a field of the event.
function value(name,	i)
{
	for (i = 1; i <= NF; i++)
		if (index($i, name "=") == 1)
			return substr($i, length(name) + 2)
	return ""
}

# The time is the field before the name of the event.
function seconds(	i)
{
	for (i = 2; i <= NF; i++)
		if ($i ~ /^collective_(begin|end):$/)
			return $(i - 1) + 0
	return 0
}

BEGIN {
	printf "%-24s %12s %5s %10s\n", "GROUP", "OPERATION", "RANK", "LATE-US"
}

/ collective_begin: / {
	key = value("group") " " value("instance")
	if (!begun[key]++)
		first[key] = seconds()
	rank[key] = value("rank")
	late[key] = (seconds() - first[key]) * 1e6
}

/ collective_end: / {
	key = value("group") " " value("instance")
	if (!(key in first) || --begun[key])
		next
	printf "%-24s %12s %5s %10.0f\n", value("group"), value("instance"), rank[key], late[key]
	who = value("group") " rank " rank[key]
	slowest[who]++
	if (late[key] > most[who])
		most[who] = late[key]
	delete begun[key]
	delete first[key]
}

END {
	for (who in slowest)
		printf "%s was the last %d times, by %.0f us at most\n", who, slowest[who], most[who]
}
