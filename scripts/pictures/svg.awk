# SPDX-License-Identifier: GPL-2.0
# Shapes of the pictures that scripts/picture draws.  Positions are in pixels, from the upper left corner.

function svg_begin(width, height)
{
	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n",
		width, height)
	print "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\"" \
		" orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"#1f6f8b\"/></marker></defs>"
	printf("<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height)
}

function svg_end()
{
	print "</svg>"
}

function text(x, y, anchor, words, style)
{
	printf("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, style, words)
}

function title(x, y, anchor, words)
{
	text(x, y, anchor, words, " font-weight=\"bold\"")
}

function note(x, y, anchor, words)
{
	text(x, y, anchor, words, " fill=\"#666\" font-size=\"11\"")
}

function name(x, y, anchor, words)
{
	text(x, y, anchor, words, " fill=\"#444\" font-family=\"monospace\" font-size=\"11\"")
}

function box(x, y, width, height, fill, line)
{
	printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"%s\" stroke=\"%s\"/>\n",
		x, y, width, height, fill, line)
}

function bar(x, y, width, height, fill)
{
	printf("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, width, height, fill)
}

# A line with an arrow at its end, through points as in "10 20 L 10 40"; style: of the line.
function arrow(points, style)
{
	printf("<path d=\"M%s\" fill=\"none\" stroke=\"#1f6f8b\" stroke-width=\"1.5\"%s marker-end=\"url(#a)\"/>\n",
		points, style)
}
