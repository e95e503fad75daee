# SPDX-License-Identifier: GPL-2.0
# Sourced by selftests/mpi/run: two machines with two ranks on each.  mpirun starts them from machine 0 by
# ssh; machine 1 serves it until it is told that all is done.
keys=$folder/ssh
served=/run/mpi-served

# On the host, before the machines start: both have the keys then.
make_keys()
{
	rm -rf "$keys" && mkdir -p "$keys" && ssh-keygen -q -t ed25519 -N '' -f "$keys/host" &&
		ssh-keygen -q -t ed25519 -N '' -f "$keys/user" && printf '%s\n' "HostKey $keys/host" \
		"AuthorizedKeysFile $keys/user.pub" "PidFile none" "StrictModes no" "PermitRootLogin yes" "UsePAM no" >"$keys/sshd_config" ||
		return
	cat >"$keys/ssh" <<-END
		#!/bin/sh
		exec ssh -F none -i $keys/user -oUserKnownHostsFile=/dev/null -oStrictHostKeyChecking=no -oLogLevel=ERROR "\$@"
	END
	chmod +x "$keys/ssh"
}

serve()
{
	local i
	mkdir -p /run/sshd && /usr/sbin/sshd -f "$keys/sshd_config" || return
	for ((i = 0; i < 1500; i++)); do
		[[ -e $served ]] && return
		sleep 1
	done
	return 1
}

reach()
{
	local i
	for i in {1..60}; do
		"$keys/ssh" -oConnectTimeout=5 10.77.0.2 true >"$work/out" 2>&1 && return
		sleep 1
	done
	return 1
}

machines()
{
	local status=0
	((++n))
	if ((MACHINE)); then
		serve || status=$?
		: >"$work/out"
		report "served machine 0 by ssh" $status ""
		return
	fi
	reach || status=$?
	report "machine 1 is reached by ssh" $status ""
	((status)) || on_machines
	"$keys/ssh" 10.77.0.2 touch $served
}

on_machines()
{
	at_once+=(--host 10.77.0.1:2,10.77.0.2:2 --mca plm_rsh_agent "$keys/ssh" -x LD_LIBRARY_PATH
		--mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24)
	# The files of the others are on machine 1.
	expected=2 emulated=emulated
	collectives 4 1 20
	# This limit is for ranks on one host.
	collectives 4 2 20 --mca coll_collective_ring 0 --mca coll_collective_min_bytes 1000000000
	unset expected emulated
	test "messages go on during collectives" 120 4 "${at_once[@]}" "$folder/progress"
	expect "the barriers were taken" "barrier: taken"
	# With threads, Open MPI wants an instruction (cmpxchg16b) that the emulated CPU has not.
	test "corners" 200 4 "${at_once[@]}" "$folder/corners"
	expect "their broadcasts were taken" "ibcast: taken"
	test "mismatch" 100 4 "${at_once[@]}" "$folder/errors" mismatch
	# All ranks have ended soon, but mpirun does not.
	timeout -k 5 60 mpirun.openmpi --allow-run-as-root -n 4 "${at_once[@]}" --enable-recovery "$folder/errors" death \
		>"$work/out" 2>&1 </dev/null
	told 3
}
