# SPDX-License-Identifier: GPL-2.0
# The lines of selftests/bench/run as Markdown: verdicts on the targets, then a table for
# each collective.  selftests/bench/report runs it.
#
# A figure is the median over the rounds of each round's median; +- is half of the distance
# between the lowest and the highest round, in per cent of the figure.  A ratio is the figure of
# another system over that of the project: above 1 the project is quicker.

BEGIN {
	FS = ","
	MIB = 1024 * 1024
	npeers = split("gloo openmpi-tcp openmpi-shm mpich-tcp mpich-shm openmpi-new-shm mpich-new-shm", peers, " ")
	ntcp = split("gloo openmpi-tcp mpich-tcp", tcp, " ")
	nshm = split("openmpi-shm mpich-shm openmpi-new-shm mpich-new-shm", shm, " ")
	nmpi = split("openmpi-tcp mpich-tcp", mpi, " ")
}

/^#/ { print substr($0, 3) "\n"; next }

$1 == "library" && note($3, systems, nsystems) {
	++nsystems
	libraries = libraries "| " $3 " | " $4 " |\n"
}

$1 == "time" {
	note($2, wheres, nwheres) && ++nwheres
	if ($8 == 0) {
		missing++
		next
	}
	note($4, collectives, ncollectives) && ++ncollectives
	note($5, ranks, nranks) && ++nranks
	note($6, sizes, nsizes) && ++nsizes
	k = $2 SUBSEP $3 SUBSEP $4 SUBSEP $5 SUBSEP $6
	time[k] = time[k] " " $10
	if ($13 > 0)
		cpu[k] = cpu[k] " " $13
	if ($14 > batch[$6])
		batch[$6] = $14
	lines++
	wrong[$3] += $12
}

$1 == "footprint" {
	footprint[$3] = $6 / ($5 ? $5 : 1)
	feet = feet sprintf("| %d | %d | %d | %.0f |\n", $3, $5, $6, footprint[$3])
}

$1 == "crowd" {
	crowd = crowd sprintf("| %d | %d | %d | %d | %d | %d | %d | %d | %d | %.1f | %.1f | %.2f | %.2f | %d |\n", $3, $4, $5, $6, $7,
		$8, $9, $10, $11, $11 / ($5 ? $5 : 1), $11 / ($3 * $4), $12, $13, $14)
}

$1 == "instructions" {
	counted = counted sprintf("| %s | %d | %d | %d | %d |\n", $3, $4, $5, $6, $7)
}

$1 == "link" {
	k = $4 " Mbit/s, " $5 " ms"
	note(k, links, nlinks) && ++nlinks
	if ($3 ~ /^iperf3/) {
		iperf[k, $3] = iperf[k, $3] " " $8
	} else {
		note($6, link_sizes, nlink_sizes) && ++nlink_sizes
		link[k, $6] = link[k, $6] " " $8
		wrong["collective"] += $9
	}
}

$1 == "overlap" {
	note($5, hidden_sizes, nhidden) && ++nhidden
	hidden[$3, $4, $5] = hidden[$3, $4, $5] " " $10
	hidden_pure[$3, $4, $5] = hidden_pure[$3, $4, $5] " " $7
}

# Adds x to the set of n members.  Returns 1 if it was new.
function note(x, set, n,   i)
{
	for (i = 1; i <= n; i++)
		if (set[i] == x)
			return 0
	set[n + 1] = x
	return 1
}

function ascending(set, n,   i, j, t)
{
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && set[j] + 0 < set[j - 1] + 0; j--) {
			t = set[j]; set[j] = set[j - 1]; set[j - 1] = t
		}
}

# Median of a list separated by blanks; 0: it is empty.
function median(list,   n, a)
{
	n = split(list, a, " ")
	if (!n)
		return 0
	ascending(a, n)
	return (a[int((n + 1) / 2)] + a[int(n / 2) + 1]) / 2
}

function spread(list,   n, a)
{
	n = split(list, a, " ")
	ascending(a, n)
	return n ? 50 * (a[n] - a[1]) / median(list) : 0
}

function at(where, name, c, n, s) { return median(time[where, name, c, n, s]) }

function best(where, set, nset, c, n, s,   i, t, least)
{
	for (i = 1; i <= nset; i++) {
		t = at(where, set[i], c, n, s)
		if (t && (!least || t < least))
			least = t
	}
	return least
}

function size_name(s)
{
	if (s >= MIB)
		return s / MIB " MiB"
	return s >= 1024 ? s / 1024 " KiB" : s " B"
}

# ---- verdicts: judge() the cells of a target, then tell() ---------------------

function target(name, bound, above)
{
	t_name = name; t_bound = bound; t_above = above
	t_cells = t_met = 0
	t_worst = t_where = ""
}

function judge(value, where)
{
	t_cells++
	t_met += t_above ? value >= t_bound : value <= t_bound
	if (t_worst == "" || (t_above ? value < t_worst : value > t_worst)) {
		t_worst = value
		t_where = where
	}
}

function tell(   verdict)
{
	verdict = !t_cells ? "not measured" : t_met == t_cells ? "met" : "NOT MET"
	printf "| %s | %s %s | %s | %d of %d | %s | %s |\n", t_name, t_above ? "at least" : "at most",
		t_bound, verdict, t_met, t_cells, t_cells ? sprintf("%.2f", t_worst) : "-", t_where
}

# All cells of a collective (all others than allreduce, when @c is "") within the sizes.
function against(set, nset, c, low, high,   i, j, k, ours, theirs)
{
	for (i = 1; i <= ncollectives; i++) {
		if (c == "" ? collectives[i] == "allreduce" : collectives[i] != c)
			continue
		for (j = 1; j <= nranks; j++)
			for (k = 1; k <= nsizes; k++) {
				if (sizes[k] < low || sizes[k] > high)
					continue
				ours = at(main, "collective", collectives[i], ranks[j], sizes[k])
				theirs = best(main, set, nset, collectives[i], ranks[j], sizes[k])
				if (ours && theirs)
					judge(theirs / ours, collectives[i] ", " ranks[j] " ranks, " size_name(sizes[k]))
			}
	}
}

function verdicts(   i, j, k, n, s, set, ours, theirs)
{
	print "## Targets\n"
	print "Ratios are of this run. The worst of a target's places decides.\n"
	print "| target | bound | verdict | places met | worst | where |"
	print "| --- | --- | --- | --- | --- | --- |"
	set[1] = "gloo"
	target("allreduce, 1 to 64 MiB, Gloo over ours", 3, 1); against(set, 1, "allreduce", MIB, 64 * MIB); tell()
	set[1] = "openmpi-tcp"
	target("allreduce, 1 to 64 MiB, Open MPI TCP over ours", 3, 1); against(set, 1, "allreduce", MIB, 64 * MIB); tell()
	target("allreduce, 1 to 64 MiB, best shared memory over ours", 1.3, 1)
	against(shm, nshm, "allreduce", MIB, 64 * MIB); tell()
	ours = at(main, "collective", "allreduce", 4, 16 * MIB)
	target("allreduce, 4 ranks, 16 MiB, ms", 9, 0)
	if (ours)
		judge(ours / 1e3, "")
	tell()
	theirs = at(main, "memory", "allreduce", 4, 16 * MIB)
	target("... or over moving 240 MiB through memory", 1.5, 0)
	if (ours && theirs)
		judge(ours / theirs, sprintf("memory: %.1f ms", theirs / 1e3))
	tell()
	target("allreduce, 8 B to 8 KiB, best MPI TCP over ours", 1, 1); against(mpi, nmpi, "allreduce", 8, 8192); tell()
	for (i = 1; i <= nlinks; i++) {
		target("link of " links[i] ", bus bandwidth over one iperf3 stream", 0.98, 1)
		# The largest size: what a connection needs to begin is not the link's.
		s = link_sizes[nlink_sizes]
		theirs = median(iperf[links[i], "iperf3"])
		if (theirs && (links[i], s) in link)
			judge(median(link[links[i], s]) / theirs, size_name(s))
		tell()
	}
	target("CPU time, allreduce, from 1 MiB, ours over Open MPI TCP", 0.4, 0)
	for (j = 1; j <= nranks; j++)
		for (k = 1; k <= nsizes; k++) {
			n = ranks[j]; s = sizes[k]
			ours = median(cpu[main, "collective", "allreduce", n, s])
			theirs = median(cpu[main, "openmpi-tcp", "allreduce", n, s])
			if (s >= MIB && ours && theirs)
				judge(ours / theirs, n " ranks, " size_name(s))
		}
	tell()
	target("memory of the module a connection's end, KiB, bounded from above", 1024, 0)
	for (n in footprint)
		judge(footprint[n], n " ranks")
	tell()
	target("other collectives, from 1 MiB, best TCP over ours", 2, 1); against(tcp, ntcp, "", MIB, 1e15); tell()
	target("hidden behind a device's computation, %", 90, 1)
	for (k = 1; k <= nhidden; k++)
		if (("collective", "device", hidden_sizes[k]) in hidden)
			judge(median(hidden["collective", "device", hidden_sizes[k]]), size_name(hidden_sizes[k]))
	tell()
	split("cpu device", set, " ")
	for (i = 1; i <= 2; i++) {
		target("... by a " set[i] ", ours less the best MPI over TCP, %", 0, 1)
		for (k = 1; k <= nhidden; k++) {
			s = hidden_sizes[k]
			theirs = -1
			for (j = 1; j <= nmpi; j++)
				if ((mpi[j], set[i], s) in hidden && median(hidden[mpi[j], set[i], s]) > theirs)
					theirs = median(hidden[mpi[j], set[i], s])
			if (theirs >= 0 && ("collective", set[i], s) in hidden)
				judge(median(hidden["collective", set[i], s]) - theirs, size_name(s))
		}
		tell()
	}
	printf "\n%d lines, %d missing; wrong elements: %d%s", lines, missing, wrong["collective"],
		wrong["collective"] ? " (WRONG RESULTS)" : ""
	for (i = 1; i <= npeers; i++)
		if (wrong[peers[i]])
			printf ", %s %d", peers[i], wrong[peers[i]]
	print ".\n"
}

# ---- tables ---------------------------------------------------------------------

function cell(list)
{
	if (list == "")
		return " - |"
	return sprintf(" %.*f ±%.0f%% |", median(list) < 1 ? 2 : median(list) < 100, median(list), spread(list))
}

function ratio(theirs, ours)
{
	return theirs && ours ? sprintf(" %.2f |", theirs / ours) : " - |"
}

function table(where, c, n,   i, k, s, row, ours, some)
{
	row = "| size | collective |"
	for (i = 1; i <= npeers; i++)
		row = row " " peers[i] " |"
	row = row " memory | best TCP / ours | best shm / ours |"
	for (k = 1; k <= nsizes; k++) {
		s = sizes[k]
		some = time[where, "collective", c, n, s]
		for (i = 1; i <= npeers; i++)
			some = some time[where, peers[i], c, n, s]
		if (some == "")
			continue
		if (row != "") {
			printf "### %s, %d ranks, %s (us)\n\n%s\n|", c, n, where, row
			for (i = 1; i <= npeers + 5; i++)
				printf " ---: |"
			print ""
			row = ""
		}
		ours = at(where, "collective", c, n, s)
		printf "| %s |%s", s ? size_name(s) : "-", cell(time[where, "collective", c, n, s])
		for (i = 1; i <= npeers; i++)
			printf "%s", cell(time[where, peers[i], c, n, s])
		printf "%s%s%s\n", cell(time[where, "memory", c, n, s]),
			ratio(best(where, tcp, ntcp, c, n, s), ours), ratio(best(where, shm, nshm, c, n, s), ours)
	}
	if (row == "")
		print ""
}

# Which times are means of several operations.
function batch_note(   k, most)
{
	for (k = 1; k <= nsizes; k++)
		if (batch[sizes[k]] > 1)
			most = most sprintf("%s%s: %d", most ? "; " : "", sizes[k] ? size_name(sizes[k]) : "barrier",
				batch[sizes[k]])
	if (most)
		printf "Most operations between two readings of the clock, of which a time is the mean: %s.\n\n", most
}

function link_table(   i, k)
{
	if (!nlinks)
		return
	print "## Links (Mbit/s each way)\n"
	printf "| link | iperf3 | iperf3, both at a time |"
	for (k = 1; k <= nlink_sizes; k++)
		printf " %s |", size_name(link_sizes[k])
	printf "\n| --- | ---: | ---: |"
	for (k = 1; k <= nlink_sizes; k++)
		printf " ---: |"
	print ""
	for (i = 1; i <= nlinks; i++) {
		printf "| %s |%s%s", links[i], cell(iperf[links[i], "iperf3"]),
			cell(iperf[links[i], "iperf3-both"])
		for (k = 1; k <= nlink_sizes; k++)
			printf "%s", cell(link[links[i], link_sizes[k]])
		print ""
	}
	print ""
}

function overlap_table(   by, i, k, nnames, w, names)
{
	if (!nhidden)
		return
	print "## Hidden behind computation, % (pure, us)\n"
	nnames = split("collective openmpi-tcp mpich-tcp", names, " ")
	split("cpu device", by, " ")
	print "| size | by | collective | openmpi-tcp | mpich-tcp |"
	print "| ---: | --- | ---: | ---: | ---: |"
	for (k = 1; k <= nhidden; k++)
		for (w = 1; w <= 2; w++) {
			printf "| %s | %s |", size_name(hidden_sizes[k]), by[w]
			for (i = 1; i <= nnames; i++)
				if ((names[i], by[w], hidden_sizes[k]) in hidden)
					printf " %.0f (%.0f) |", median(hidden[names[i], by[w], hidden_sizes[k]]),
						median(hidden_pure[names[i], by[w], hidden_sizes[k]])
				else
					printf " - |"
			print ""
		}
	print ""
}

function cpu_table(   i, j, k, key, row)
{
	print "## CPU seconds of the whole machine a GiB reduced\n"
	printf "| ranks | size | collective |"
	for (i = 1; i <= npeers; i++)
		printf " %s |", peers[i]
	printf "\n| ---: | ---: | ---: |"
	for (i = 1; i <= npeers; i++)
		printf " ---: |"
	print ""
	for (j = 1; j <= nranks; j++)
		for (k = 1; k <= nsizes; k++) {
			if (sizes[k] < MIB)
				continue
			row = ""
			for (i = 0; i <= npeers; i++) {
				key = median(cpu[main, i ? peers[i] : "collective", "allreduce", ranks[j], sizes[k]])
				row = row (key ? sprintf(" %.2f |", key / 1e6 * 1024 * MIB / sizes[k]) : " - |")
			}
			if (row ~ /[0-9]/)
				printf "| %d | %s |%s\n", ranks[j], size_name(sizes[k]), row
		}
	print ""
}

END {
	ascending(ranks, nranks); ascending(sizes, nsizes); ascending(link_sizes, nlink_sizes)
	ascending(hidden_sizes, nhidden)
	main = wheres[1]
	verdicts()
	if (libraries != "")
		printf "## Systems\n\n| system | version |\n| --- | --- |\n%s\n", libraries
	batch_note()
	for (w = 1; w <= nwheres; w++) {
		printf "## %s\n\n", wheres[w]
		for (i = 1; i <= ncollectives; i++)
			for (j = 1; j <= nranks; j++)
				table(wheres[w], collectives[i], ranks[j])
	}
	cpu_table()
	link_table()
	overlap_table()
	if (counted != "")
		printf "## Instructions of an operation, a rank\n\n| collective | ranks | bytes | operations | instructions |\n" \
			"| --- | ---: | ---: | ---: | ---: |\n%s\n", counted
	if (crowd != "")
		printf "## Idle communicators\n\n| communicators | ranks | ends | listening | slab, KiB | vmalloc, KiB | percpu, KiB " \
			"| sockets, KiB | available memory, KiB | ... an end | ... a member | munmap before, us | munmap, us | CPU in 10 s, ms |\n" \
			"| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n%s\n", crowd
	if (feet != "")
		printf "## Memory\n\n| ranks | ends of connections | KiB | KiB an end |\n| ---: | ---: | ---: | ---: |\n%s\n", feet
	exit wrong["collective"] > 0
}
