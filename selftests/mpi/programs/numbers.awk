#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0
# Compares the numbers of two files: numbers.awk -v tolerance=T FILE FILE.  Two numbers are the same
# if they differ by at most the part T of the larger one, or of 1.  Status: 1 if any are not.
FNR == NR { first[FNR] = $0; lines = FNR; next }
{
	n = split(first[FNR], a)
	if (n != NF)
		wrong("other words")
	for (i = 1; i <= NF && i <= n; i++) {
		size = abs(a[i]) > abs($i) ? abs(a[i]) : abs($i)
		if (a[i] "" != $i "" && !(abs(a[i] - $i) <= tolerance * (size > 1 ? size : 1)))
			wrong("word " i)
	}
	others = FNR
}
END {
	if (!lines || others != lines)
		wrong("other lines")
	exit failed
}
function abs(x) { return x < 0 ? -x : x + 0 }
function wrong(what)
{
	printf("line %d: %s:\n%s\n%s\n", FNR, what, first[FNR], $0)
	failed = 1
}
