#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Train on the handwritten digits with 4 ranks, then show what the module counted.
#
#	examples/demo.sh DATA		(digits.csv; the module must be loaded)
#
# BUILD: folder with examples/, and bin/ unless the tools are installed (default: build/ of the tree)
# RANKS: number of ranks (default: 4)
# PLOT: file for the plot, which gnuplot draws (default: none)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../build}
data=${1:?the file digits.csv}
PATH=$build/bin:$PATH

collectivectl check
echo
log=$(mktemp)
trap 'rm -f "$log"' EXIT
collective-run -n "${RANKS:-4}" --timeout 500 -- \
	"$build/examples/digits" --show "echo; collectivectl show" "$data" | tee "$log"
[[ -z ${PLOT-} ]] || "$here/plot" "$log" >"$PLOT"
