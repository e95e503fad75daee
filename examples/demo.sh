#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Train on the handwritten digits with 4 ranks, then show what the module counted.
#
#	examples/demo.sh DATA		(digits.csv; the module must be loaded)
#
# BUILD: folder with bin/ and examples/ (default: build/ beside examples/)
# RANKS: number of ranks (default: 4)
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$top/build}
data=${1:?the file digits.csv}

"$build/bin/collectivectl" check
echo
exec "$build/bin/collective-run" -n "${RANKS:-4}" --timeout 500 -- \
	"$build/examples/digits" --show "echo; '$build/bin/collectivectl' show" "$data"
