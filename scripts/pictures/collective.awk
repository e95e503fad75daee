# SPDX-License-Identifier: GPL-2.0
# README's picture: what the module does, and the times of one operation.
#
#	-v ranks=N -v bytes=N CELLS		CELLS: of Documentation/performance/results

# The last cell of each system counts.
$5 == "time" && $7 == "allreduce" && $8 == ranks && $9 == bytes && $12 + 0 { ms[$6] = $12 / 1000; commit = $3 }

function draw_ranks(		r, x)
{
	for (r = 0; r < 4; r++) {
		x = 20 + 90 * r
		box(x, 20, 76, 46, "#eef3f6", "#9db4c0")
		text(x + 38, 40, "middle", "rank " r, "")
		note(x + 38, 57, "middle", "x = " substr("3142", r + 1, 1))
		arrow(sprintf("%d 68V107", x + 26), "")
		arrow(sprintf("%d 107V68", x + 50), "")
	}
	box(20, 110, 346, 56, "#d5e6ec", "#1f6f8b")
	title(193, 134, "middle", "the kernel: allreduce, sum = 10")
	name(193, 154, "middle", "/dev/collective")
	arrow("150 200V169", "")
	arrow("236 169V200", "")
	text(193, 216, "middle", "other hosts, by RDMA or TCP", " fill=\"#444\"")
	note(193, 238, "middle", "The kernel sends and reduces the pages as they are.")
}

function draw_times(		count, order, title_of, i, most, y, width)
{
	count = split("collective openmpi-new-shm openmpi-shm openmpi-tcp gloo", order, " ")
	split("collective|Open MPI 5.0, shared memory|Open MPI 4.1, shared memory|Open MPI 4.1, TCP|Gloo, TCP", title_of, "|")
	for (i = 1; i <= count; i++) {
		if (!(order[i] in ms))
			exit 1
		if (ms[order[i]] > most)
			most = ms[order[i]]
	}
	title(430, 30, "start", "Allreduce, " bytes / 2 ^ 20 " MiB, " ranks " ranks on one host: milliseconds")
	for (i = 1; i <= count; i++) {
		y = 48 + 32 * (i - 1)
		width = 210 * ms[order[i]] / most
		text(608, y + 15, "end", title_of[i], "")
		bar(616, y, width, 20, i == 1 ? "#1f6f8b" : "#c9d6df")
		text(622 + width, y + 15, "start", sprintf("%.1f", ms[order[i]]), "")
	}
	note(430, 222, "start", "Two CPUs, User-Mode Linux 7.2, commit " commit ";")
	note(430, 238, "start", "Documentation/performance has all figures, and how they were measured.")
}

END {
	svg_begin(900, 250)
	draw_ranks()
	draw_times()
	svg_end()
}
