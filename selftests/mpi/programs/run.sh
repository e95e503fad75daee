# SPDX-License-Identifier: GPL-2.0
# Sourced by selftests/mpi/run: the distribution's own programs.  What they say of their results is
# the same with the component and without.
inputs=$(dirname "$(realpath "${BASH_SOURCE[0]}")")

programs()
{
	local ranks
	for ranks in 2 3 4 8; do
		lammps "$ranks"
		gromacs "$ranks"
		python "$ranks"
	done
	hpcc 1 2
	hpcc 1 3
	hpcc 2 2
	hpcc 2 4
	scalapack
}

scalapack()
{
	local tests=/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests program ranks
	cd "$tests" || return
	for program in xsllt xdlu xcqr xzls xdinv xztrd xshrd xdbrd; do
		for ranks in 2 3; do
			verdicts "$program" "$ranks" '.*(tests completed|tests skipped).*' "./$program"
		done
	done
	# These want a grid of four, and make hundreds of communicators: fewer groups, as each takes a
	# while to leave in User-Mode Linux.  xdsep misses its own bounds now and then, with the
	# component and without.
	verdicts xdsep 4 '.*tests (completed without|skipped).*' --mca coll_collective_calls 20 ./xdsep
	((++n))
	if grep -qE '10[78] tests completed and passed' "$work/out"; then
		echo "ok $n xdsep: at most one of its tests failed"
	else
		echo "not ok $n xdsep: at most one of its tests failed"
		failed=1
	fi
	verdicts xdsvd 4 '^(Passed|Failed|FAILED)' ./xdsvd
}

# A grid of $1 times $2 ranks.
hpcc()
{
	cd "$work" || return
	sed -e "11s/^[0-9]*/$1/" -e "12s/^[0-9]*/$2/" -e '6s/^[0-9]*/200/' /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
	cat >hpcc.sh <<'END'
((OMPI_COMM_WORLD_RANK)) || rm -f hpccoutf.txt
hpcc || exit
((OMPI_COMM_WORLD_RANK)) || grep -oE 'PASSED|FAILED|errors in [0-9]* locations .*|[0-9]+ tests completed.*|^Success=.*' hpccoutf.txt
END
	verdicts hpcc $(($1 * $2)) 'PASSED|FAILED|.*errors in.*|.*tests completed.*|^Success.*' bash hpcc.sh
	expect "hpcc: allreduce were taken" "allreduce: .*taken"
}

# The lines of all steps, and the radial distribution.
lammps()
{
	cd "$work" || return
	cat >lammps.sh <<'END'
lmp -in "$1" -log none || exit
((OMPI_COMM_WORLD_RANK)) || sed 's/^/rdf /' rdf.out
END
	numbers LAMMPS "$1" 1e-6 '^ +[0-9]+ +[-0-9.e]+ .*|^rdf [^#].*' bash lammps.sh "$inputs/melt.lammps"
	expect "LAMMPS: allreduce were taken" "allreduce: .*taken"
	expect "LAMMPS: bcast were taken" "bcast: .*taken"
}

# The energies of all steps; the mixed precision of the program has seven digits.
gromacs()
{
	cd "$work" || return
	if [[ ! -e water.tpr ]]; then
		gmx -quiet genconf -f /usr/share/gromacs/top/spc216.gro -nbox 2 2 2 -o water.gro >grompp.log 2>&1 &&
			gmx -quiet grompp -f "$inputs/water.mdp" -c water.gro -p "$inputs/water.top" -o water.tpr >>grompp.log 2>&1 ||
			{ tail -n 5 grompp.log | sed 's/^/# /'; }
	fi
	cat >gromacs.sh <<'END'
rm -f water.log
gmx_mpi -quiet mdrun -s water.tpr -g water.log -ntomp 1 -pin off -reprod -noconfout || exit
((OMPI_COMM_WORLD_RANK)) || awk '/^ *Energies/ { n = 5 } n-- > 0 && /e[-+]/ { print "energies", $0 }' water.log
END
	numbers GROMACS "$1" 1e-4 '^energies.*' bash gromacs.sh
	expect "GROMACS: bcast were taken" "bcast: .*taken"
}

python()
{
	test "mpi4py, $1 ranks" 100 "$1" --mca coll ^monitoring /usr/bin/python3 "$folder/language.py"
	expect "mpi4py was taken by $1 ranks" "allreduce: .*taken"
}

# twice NAME RANKS PATTERN COMMAND...: run it without the component, then with it.  What
# PATTERN matches is in $work/without and $work/with.
twice()
{
	local name=$1 ranks=$2 pattern=$3
	shift 3
	test "$name, $ranks ranks, without the component" 200 "$ranks" --mca coll ^collective "$@"
	grep -oE "$pattern" "$work/out" >"$work/without"
	test "$name, $ranks ranks" 200 "$ranks" --mca coll ^monitoring "$@"
	grep -oE "$pattern" "$work/out" >"$work/with"
	((++n))
}

# verdicts NAME RANKS PATTERN COMMAND...: the lines are the same.
verdicts()
{
	twice "$@"
	if [[ -s $work/with ]] && cmp -s "$work/without" "$work/with"; then
		echo "ok $n $1, $2 ranks: the same verdicts"
	else
		diff "$work/without" "$work/with" | sed 's/^/# /' | head -n 20
		echo "not ok $n $1, $2 ranks: the same verdicts"
		failed=1
	fi
	expect "$1 was taken" "[a-z]*: .*taken"
}

# numbers NAME RANKS TOLERANCE PATTERN COMMAND...: their numbers are the same.
numbers()
{
	local name=$1 ranks=$2 tolerance=$3
	shift 3
	twice "$name" "$ranks" "$@"
	if "$inputs/numbers.awk" -v "tolerance=$tolerance" "$work/without" "$work/with" >"$work/differences"; then
		echo "ok $n $name, $ranks ranks: the same numbers in $(wc -l <"$work/with") lines"
	else
		sed 's/^/# /' "$work/differences" | head -n 20
		echo "not ok $n $name, $ranks ranks: the same numbers"
		failed=1
	fi
}
