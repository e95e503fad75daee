# SPDX-License-Identifier: GPL-2.0
# The rooms of kmod/, highest first, and the tables by which a room reports to a higher one.
#
#	-v rooms="lowest ... highest"		as in scripts/layering

function describe()
{
	does["dev"] = "what user space calls"
	does["netlink"] = "what administrators see, change and hear"
	does["member"] = "a rank: join, connect, leave, exit; control"
	does["op"] = "operations, from call to completion"
	does["lane"] = "engines and their data connections"
	does["net"] = "connections, handshake, links, control frames"
	does["fail"] = "state, reason, fence, failed operations"
	does["trace"] = "trace events, flight recorder, notices"
	does["transport"] = "bytes between endpoints: local, TCP, RDMA"
	does["mem"] = "pinned pages, registered buffers, accounting"
	does["exec"] = "runners, placement on CPUs, floating-point unit"
	does["core"] = "schedules and the engine, without environment"
	does["compat"] = "differences between kernels"
}

# A dotted line from a lower room to the higher one to which it reports, x pixels from the left.
function report(lower, higher, x)
{
	arrow(sprintf("%d %dH%dV%dH%d", 492, row[lower], x, row[higher] + 8, 496), " stroke-dasharray=\"3 3\"")
}

# The table of a report: behind its corner, or above its line where other lines are behind it.
function behind(lower, x, table)
{
	name(x + 6, row[lower] + 4, "start", table)
}

function over(lower, x, table)
{
	name(x - 6, row[lower] - 5, "end", table)
}

BEGIN {
	describe()
	count = split(rooms, order, " ")
	svg_begin(950, 96 + 44 * count)
	box(20, 14, 470, 30, "#eef3f6", "#9db4c0")
	text(34, 34, "start", "libcollective, or any program", "")
	text(476, 34, "end", "user space", " fill=\"#666\"")
	arrow("200 46V64", "")
	name(208, 59, "start", "ioctl, SQE, mmap")
	arrow("360 64V46", "")
	name(368, 59, "start", "errno, CQE")
	for (i = 1; i <= count; i++) {
		room = order[count + 1 - i]
		if (!(room in does))
			exit 1
		y = 24 + 44 * i
		row[room] = y + 16
		box(20, y, 470, 34, "#d5e6ec", "#1f6f8b")
		title(34, y + 22, "start", room "/")
		text(130, y + 22, "start", does[room], "")
	}
	report("trace", "netlink", 930)
	over("trace", 930, "coll_notice_setup()")
	report("fail", "member", 850)
	over("fail", 850, "coll_member_state")
	report("net", "member", 750)
	over("net", 750, "coll_net_ops")
	report("lane", "op", 560)
	over("lane", 660, "coll_lane_ops")
	report("transport", "lane", 640)
	report("transport", "net", 640)
	behind("transport", 640, "coll_endpoint_ops")
	report("core", "lane", 530)
	behind("core", 530, "coll_engine_ops")
	note(20, 82 + 44 * count, "start", "A room calls the rooms below it.  Dotted: it reports to a higher one, by a table of functions that the higher one registers.")
	svg_end()
}
