#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Ranks of the launchers that are installed form groups with nothing set by hand; without the module.
set -uo pipefail
cd "$(dirname "$0")" || exit 1
launched=${OUT:-../../build/bootstrap}/plain/launched
# With sanitizers; the launchers' libraries leak.
sanitized=${OUT:-../../build/bootstrap}/asan/launched
export ASAN_OPTIONS=detect_leaks=0
n=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# is WHAT WANTED-STATUS WANTED-LINES PATTERN: of the last run
is()
{
	local lines
	lines=$(grep -cE "$4" "$work/out")
	((++n))
	if [[ $status == "$2" && $lines == "$3" ]]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "# status $status, $lines lines of '$4':"
		sed 's/^/# /' "$work/out"
		failed=1
	fi
}

run()
{
	timeout 60 "$@" >"$work/out" 2>&1
	status=$?
}

skip()
{
	((++n)); echo "ok $n - $1 # SKIP not installed"
}

echo "TAP version 13"
[[ -x $launched ]] || { echo "1..0 # SKIP $launched is not built"; exit 4; }

if command -v mpiexec.hydra >/dev/null; then
	run mpiexec.hydra -n 3 "$launched"
	is "mpiexec of MPICH" 0 6 '^rank [0-2] of 3 secured$'
	run mpiexec.hydra -n 3 "$sanitized"
	is "with sanitizers" 0 6 '^rank [0-2] of 3 secured$'
	run mpiexec.hydra -n 3 "$launched" -e 1
	is "a rank without a device" 1 4 '^failed -2: rank 1: the device: No such file'
	run mpiexec.hydra -n 3 "$launched" -g 1 -n 0
	is "a rank without memory" 1 3 '^failed -12: '
	run mpiexec.hydra -n 3 "$launched" -g 1 -t 1500 -a 1
	is "a rank that never comes" 1 2 'failed -110: .*PMI cannot tell which are missing'
	run env COLL_BOOTSTRAP=tcp mpiexec.hydra -n 2 "$launched" -g 1
	is "a bootstrap that is forced" 1 2 'failed -22: .* no way to the other ranks: tcp:'
	run env COLL_BOOTSTRAP=pmix mpiexec.hydra -n 2 "$launched" -g 1
	is "and cannot be" 1 2 'failed -22: COLL_BOOTSTRAP=pmix cannot be used: pmix: PMIX_NAMESPACE is not set'
	if [[ -e $(ldconfig -p | awk '/libmpich.so.12 / { print $NF }') ]]; then
		export MPI_LIBRARY=libmpich.so.12
		run mpiexec.hydra -n 3 "$launched" -m first
		is "through MPICH after MPI_Init()" 0 6 '^rank [0-2] of 3 secured$'
		run mpiexec.hydra -n 3 "$launched" -m first -g 1 -n 1
		is "and a rank without memory" 1 3 '^failed -12: '
		run mpiexec.hydra -n 3 "$launched" -m last
		is "before MPICH is loaded and initialized" 0 6 '^rank [0-2] of 3 secured$'
	else
		skip "MPICH's library"
	fi
else
	skip "mpiexec of MPICH"
fi

if command -v mpirun.openmpi >/dev/null; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	mpirun=(mpirun.openmpi --oversubscribe)
	run "${mpirun[@]}" -n 3 "$launched"
	is "mpirun of Open MPI" 0 6 '^rank [0-2] of 3 secured$'
	run "${mpirun[@]}" -n 3 "$sanitized"
	is "with sanitizers" 0 6 '^rank [0-2] of 3 secured$'
	run "${mpirun[@]}" -n 3 "$launched" -e 1
	is "a rank without a device" 1 4 '^failed -2: rank 1: the device: No such file'
	run "${mpirun[@]}" -n 3 "$launched" -g 1 -n 1
	is "a rank without memory" 1 3 '^failed -12: '
	run "${mpirun[@]}" -n 4 "$launched" -g 1 -t 1500 -a 1
	is "a rank that never comes is named" 1 3 'failed -110: .*of the 4 ranks, rank 1 gave nothing'
	if [[ -e $(ldconfig -p | awk '/libmpi.so.40 / { print $NF }') ]]; then
		export MPI_LIBRARY=libmpi.so.40
		run "${mpirun[@]}" -n 3 "$launched" -m first
		is "through Open MPI after MPI_Init()" 0 6 '^rank [0-2] of 3 secured$'
		run "${mpirun[@]}" -n 3 "$launched" -m first -g 1 -n 0
		is "and a rank without memory" 1 3 '^failed -12: '
		run "${mpirun[@]}" -n 3 "$launched" -m last
		is "before Open MPI is loaded and initialized" 0 6 '^rank [0-2] of 3 secured$'
	else
		skip "Open MPI's library"
	fi
else
	skip "mpirun of Open MPI"
fi

# torchrun has no exchange: two ranks with its variables, on one host.
port=$((20000 + RANDOM % 10000))
torchrun()
{
	local rank pids=() status=0
	for rank in 0 1; do
		env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE="$1" MASTER_ADDR="$2" \
			MASTER_PORT=$port TORCHELASTIC_RUN_ID=r "$launched" &
		pids+=($!)
	done
	for rank in 0 1; do wait "${pids[$rank]}" || status=$?; done
	return $status
}
torchrun 2 "$(hostname)" >"$work/out" 2>&1
status=$?
is "torchrun on one host" 0 4 '^rank [01] of 2 open$'
torchrun 1 10.1.2.3 >"$work/out" 2>&1
status=$?
is "torchrun on several hosts says that a secret is needed" 1 4 \
	'^failed -13: torchrun started 1 of 2 ranks on this host.*COLL_SECRET_FILE'
echo "1..$n"
exit $failed
