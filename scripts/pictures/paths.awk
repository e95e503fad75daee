# SPDX-License-Identifier: GPL-2.0
# How large payloads come from the memory of one rank into that of another, by each transport.

# Both ranks' memory in the upper part, user space, of a column that begins at x.
function memories(x, words)
{
	title(x + 135, 24, "middle", words)
	box(x, 40, 120, 44, "#eef3f6", "#9db4c0")
	text(x + 60, 59, "middle", "rank 0", "")
	note(x + 60, 75, "middle", "pages of its input")
	box(x + 150, 40, 120, 44, "#eef3f6", "#9db4c0")
	text(x + 210, 59, "middle", "rank 1", "")
	note(x + 210, 75, "middle", "pages of its result")
}

function step(x, y, height, words, first, second)
{
	box(x, y, 120, height, "#d5e6ec", "#1f6f8b")
	text(x + 60, y + 17, "middle", words, "")
	note(x + 60, y + 32, "middle", first)
	if (second)
		note(x + 60, y + 45, "middle", second)
}

function wire(x)
{
	box(x, 280, 270, 26, "#f4efe4", "#c9b98f")
	text(x + 135, 297, "middle", "network", "")
}

# The control frames that the transfer needs, back from rank 1.
function control(x, words)
{
	arrow(sprintf("%d 330H%d", x + 270, x + 6), " stroke-dasharray=\"3 3\"")
	name(x + 135, 346, "middle", words)
}

function draw_local(x)
{
	memories(x, "local: one kernel")
	step(x + 150, 150, 52, "coll_fuse()", "reads all inputs,", "stores once")
	arrow(sprintf("%d 86V176H%d", x + 60, x + 148), "")
	note(x + 66, 128, "start", "read in place")
	arrow(sprintf("%d 148V86", x + 210), "")
	box(x, 254, 270, 52, "#f4efe4", "#c9b98f")
	text(x + 135, 274, "middle", "pipe", "")
	note(x + 135, 292, "middle", "signals, and payloads that are small")
	control(x, "signals and positions, in the pipe")
}

function draw_tcp(x)
{
	memories(x, "TCP: two kernels, or one")
	step(x, 150, 52, "packets", "refer to the pages", "")
	arrow(sprintf("%d 86V148", x + 60), "")
	arrow(sprintf("%d 204V278", x + 60), "")
	wire(x)
	step(x + 150, 216, 40, "socket buffers", "of the kernel", "")
	arrow(sprintf("%d 278V258", x + 210), "")
	step(x + 150, 130, 52, "coll_sink()", "copies or reduces", "each fragment once")
	arrow(sprintf("%d 214V184", x + 210), "")
	arrow(sprintf("%d 128V86", x + 210), "")
	control(x, "GRANT, CONSUMED")
}

function draw_rdma(x)
{
	memories(x, "RDMA: two kernels")
	step(x, 150, 52, "registered", "address and key go", "in a REFERENCE")
	arrow(sprintf("%d 86V148", x + 60), "")
	arrow(sprintf("%d 204V278", x + 60), "")
	wire(x)
	step(x + 150, 216, 40, "staging memory", "of the kernel", "")
	arrow(sprintf("%d 278V258", x + 200), "")
	step(x + 150, 130, 52, "coll_sink()", "reduces", "")
	arrow(sprintf("%d 214V184", x + 200), "")
	arrow(sprintf("%d 128V86", x + 200), "")
	arrow(sprintf("%d 278H%dV62H%d", x + 240, x + 280, x + 272), "")
	control(x, "GRANT, RETURN")
}

BEGIN {
	svg_begin(940, 400)
	draw_local(20)
	draw_tcp(335)
	draw_rdma(640)
	print "<path d=\"M10 106H930\" stroke=\"#888\" stroke-dasharray=\"6 4\"/>"
	note(306, 101, "start", "user space")
	note(306, 119, "start", "kernel")
	note(20, 372, "start", "Each payload crosses memory once.  By RDMA the device of rank 1 reads what is copied straight into its pages (line on the right).")
	note(20, 388, "start", "Dotted: what tells rank 0 that it may send, and that its pages are its own again.")
	svg_end()
}
