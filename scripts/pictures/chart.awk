# SPDX-License-Identifier: GPL-2.0
# Times of a collective over the size, both axes logarithmic: a panel for each number of ranks, a line
# for each system.
#
#	-v collective=NAME CELLS		CELLS: of Documentation/performance/results

BEGIN {
	systems = split("collective gloo openmpi-tcp mpich-tcp openmpi-shm mpich-shm openmpi-new-shm mpich-new-shm best-tcp best-shm", order, " ")
	split("collective|Gloo, TCP|Open MPI, TCP|MPICH, TCP|Open MPI, shared memory|MPICH, shared memory|newer Open MPI, shared memory|newer MPICH, shared memory|best peer, TCP|best peer, shared memory", title_of, "|")
	split("#1f6f8b #b0762f #c9a227 #8a8a8a #b5443a #5b7f4a #7a4f93 #3a3a3a #c9a227 #d06a9c", colour, " ")
	LEFT = 58; WIDTH = 220; GAP = 68; TOP = 40; HEIGHT = 200; BOTTOM = 44
}

$5 == "time" && $7 == collective && $12 + 0 && $9 + 0 && $6 != "memory" {
	if (!(($8, $6, $9) in us)) {
		sizes[$8, $6] = sizes[$8, $6] " " $9
		points[$8, $6]++
	}
	us[$8, $6, $9] = $12
	if ($6 !~ /^(best|collective)/)
		named[$8, transport($6)] = 1
}

function transport(who)
{
	return who ~ /shm$/ ? "shm" : "tcp"
}

function log2(x)
{
	return log(x) / log(2)
}

function size_name(bytes)
{
	return bytes >= 2 ^ 20 ? bytes / 2 ^ 20 " MiB" : bytes >= 1024 ? bytes / 1024 " KiB" : bytes " B"
}

function time_name(t)
{
	return t >= 1e6 ? t / 1e6 " s" : t >= 1e3 ? t / 1e3 " ms" : t " us"
}

# The systems that a panel shows: all with a point, but the best peer only where none has a name.
function is_shown(ranks, who)
{
	return points[ranks, who] && !(who ~ /^best/ && named[ranks, transport(who)])
}

# The panels are those numbers of ranks of which two systems have three sizes or more.
function find_panels(		ranks, i, n)
{
	for (ranks = 2; ranks <= 1024; ranks *= 2) {
		n = 0
		for (i = 1; i <= systems; i++)
			n += is_shown(ranks, order[i]) && points[ranks, order[i]] >= 3
		if (n >= 2)
			panel[++panels] = ranks
	}
}

function find_ranges(		p, i, k, n, list, t)
{
	x_low = 1e99
	y_low = 1e99
	for (p = 1; p <= panels; p++)
		for (i = 1; i <= systems; i++) {
			if (!is_shown(panel[p], order[i]))
				continue
			shown[i] = 1
			n = split(sizes[panel[p], order[i]], list, " ")
			for (k = 1; k <= n; k++) {
				t = us[panel[p], order[i], list[k]]
				if (list[k] < x_low) x_low = list[k]
				if (list[k] > x_high) x_high = list[k]
				if (t < y_low) y_low = t
				if (t > y_high) y_high = t
			}
		}
	y_first = int(log(y_low) / log(10) + 1e-9)
	y_last = int(log(y_high) / log(10) - 1e-9) + 1
}

function x_at(left, bytes)
{
	return left + WIDTH * (log2(bytes) - log2(x_low)) / (log2(x_high) - log2(x_low))
}

function y_at(t)
{
	return TOP + HEIGHT * (y_last - log(t) / log(10)) / (y_last - y_first)
}

function draw_axes(left, ranks,		decade, bytes)
{
	title(left + WIDTH / 2, 24, "middle", ranks " ranks")
	for (decade = y_first; decade <= y_last; decade++) {
		printf("<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", left, y_at(10 ^ decade), left + WIDTH)
		note(left - 6, y_at(10 ^ decade) + 4, "end", time_name(10 ^ decade))
	}
	for (bytes = x_low; bytes <= x_high; bytes *= 2)
		if (bytes == x_low || bytes == 1024 || bytes == 32768 || bytes == 2 ^ 20 || bytes == x_high)
			note(x_at(left, bytes), TOP + HEIGHT + 16, "middle", size_name(bytes))
	printf("<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#888\"/>\n", left, TOP, TOP + HEIGHT, left + WIDTH)
}

function draw_line(left, ranks, i,		k, n, list, path)
{
	n = split(sizes[ranks, order[i]], list, " ")
	for (k = 1; k <= n; k++)
		path = path sprintf("%s%.1f %.1f", k > 1 ? "L" : "M", x_at(left, list[k]), y_at(us[ranks, order[i], list[k]]))
	printf("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"/>\n", path, colour[i], i == 1 ? "3" : "1.5")
}

function draw_names(width, rows,		i, n, x, y)
{
	for (i = 1; i <= systems; i++) {
		if (!shown[i])
			continue
		x = LEFT + int(n / rows) * (width - LEFT) / int((names + rows - 1) / rows)
		y = TOP + HEIGHT + BOTTOM + 18 * (n % rows)
		printf("<path d=\"M%.1f %dh18\" stroke=\"%s\" stroke-width=\"%s\"/>\n", x, y - 4, colour[i], i == 1 ? "3" : "1.5")
		text(x + 24, y, "start", title_of[i], " font-size=\"12\"")
		n++
	}
}

END {
	find_panels()
	if (!panels)
		exit 1
	find_ranges()
	for (i = 1; i <= systems; i++)
		names += shown[i]
	rows = panels >= 3 ? int((names + 2) / 3) : int((names + 1) / 2)
	width = LEFT + panels * WIDTH + (panels - 1) * GAP + 30
	svg_begin(width, TOP + HEIGHT + BOTTOM + 18 * rows)
	for (p = 1; p <= panels; p++) {
		left = LEFT + (p - 1) * (WIDTH + GAP)
		draw_axes(left, panel[p])
		for (i = systems; i; i--)
			if (is_shown(panel[p], order[i]))
				draw_line(left, panel[p], i)
	}
	draw_names(width, rows)
	svg_end()
}
