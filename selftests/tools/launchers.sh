#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Real launchers start groups with nothing set by hand: on this host, and on two hosts that are network
# namespaces.  A program in place of ssh enters the namespace.  Both hosts also have a bridge of containers
# with one address, and an interface that leads nowhere.
# any-transport, any-kernel: the ranks meet by sockets of the library or of the launcher.
set -uo pipefail
n=0 failed=0
work=$(mktemp -d)
program=${PROGRAM:-"$(dirname "$0")/net_ranks 2 65536"}
for variable in ${!COLL_*} RANK WORLD_SIZE MASTER_ADDR MASTER_PORT; do
	[[ $variable == COLL_TRANSPORT ]] || unset "$variable"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

cleanup()
{
	local host pid
	for host in one two; do
		for pid in $(ip netns pids "launch-$host" 2>/dev/null); do kill -9 "$pid"; done
		ip netns del "launch-$host" 2>/dev/null
		ip link del "hub-$host" 2>/dev/null
	done
	ip link del launch-hub 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
trap "exit 1" TERM INT

# result STATUS NAME: of a failure, what was said, and the processes that are left.
result()
{
	((++n))
	if (($1 == 0)); then
		echo "ok $n - $2"
		return
	fi
	echo "not ok $n - $2"
	{
		cat "$work/out"
		echo "status $1 after $((SECONDS - since)) s"
		ps -eo pid,ppid,stat,wchan:20,args --sort=start_time | tail -n 15
	} | sed 's/^/# /'
	failed=1
}

# group NAME COMMAND...: the command succeeds.
group()
{
	local name=$1
	shift
	since=$SECONDS
	timeout 90 "$@" </dev/null >"$work/out" 2>&1
	result $? "$name"
}

skip()
{
	((++n)); echo "ok $n - $1 # SKIP $2"
}

# Two hosts, 10.89.0.1 and 10.89.0.2, that this namespace reaches as 10.89.0.254.
make_hosts()
{
	local i=0 host space
	ip link add launch-hub type bridge && ip addr add 10.89.0.254/24 dev launch-hub &&
		ip link set launch-hub up || return
	for host in one two; do
		((++i))
		space=launch-$host
		ip netns add "$space" &&
			ip link add "hub-$host" type veth peer name eth0 netns "$space" &&
			ip link set "hub-$host" master launch-hub up &&
			ip -n "$space" link set lo up &&
			ip -n "$space" link add docker0 type bridge &&
			ip -n "$space" addr add 172.17.0.1/16 dev docker0 &&
			ip -n "$space" link set docker0 up &&
			ip -n "$space" link add away type bridge &&
			ip -n "$space" addr add "10.90.$i.1/24" dev away &&
			ip -n "$space" link set away up &&
			ip -n "$space" addr add "10.89.0.$i/24" dev eth0 &&
			ip -n "$space" link set eth0 up || return
	done
}

# Run a command on a host: in its namespace, and with a name of its own.  Before Open MPI's daemon makes the folder of
# its job, /tmp/ompi.NAME.UID/jf.JOB, it deletes an old one of that name.  If the daemons of two hosts share it, one may
# so delete what the other is about to use: that daemon then ends, and mpirun waits for it without end or message.
cat >"$work/on" <<-'END'
	#!/bin/bash
	exec ip netns exec "$1" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$@"
END
# What takes the place of ssh: options, the host, and a command for its shell.
cat >"$work/rsh" <<-'END'
	#!/bin/bash
	while [[ $1 == -* ]]; do
		[[ $1 == -x ]] || { shift; continue; }
		shift
	done
	case $1 in
	*10.89.0.1) space=launch-one ;;
	*10.89.0.2) space=launch-two ;;
	*) exit 255 ;;
	esac
	shift
	exec "$(dirname "$0")/on" $space sh -c "$*"
END
chmod +x "$work/on" "$work/rsh"

# Each host has a name, and it is not that of this one.
named()
{
	local one two here
	here=$(uname -n) one=$("$work/rsh" 10.89.0.1 uname -n) two=$("$work/rsh" 10.89.0.2 uname -n)
	echo "here $here, there $one and $two"
	[[ $one && $two && $one != "$two" && $here != "$one" && $here != "$two" ]]
}

# Real ssh, with a key and servers of its own; one in each namespace.
start_sshd()
{
	local host i
	ssh-keygen -q -t ed25519 -N '' -f "$work/host-key" && ssh-keygen -q -t ed25519 -N '' -f "$work/key" || return
	cp "$work/key.pub" "$work/authorized" && chmod 600 "$work/authorized" && mkdir -p /run/sshd || return
	printf '%s\n' "HostKey $work/host-key" "AuthorizedKeysFile $work/authorized" "PidFile none" "StrictModes no" \
		"PermitRootLogin yes" "UsePAM no" >"$work/sshd_config"
	cat >"$work/ssh" <<-END
		#!/bin/sh
		exec ssh -F none -i $work/key -oUserKnownHostsFile=/dev/null -oStrictHostKeyChecking=no -oLogLevel=ERROR "\$@"
	END
	chmod +x "$work/ssh"
	for host in one two; do "$work/on" launch-$host "$sshd" -f "$work/sshd_config" || return; done
	for i in {1..50}; do
		"$work/ssh" -oConnectTimeout=2 10.89.0.1 true 2>/dev/null && "$work/ssh" -oConnectTimeout=2 10.89.0.2 true &&
			return
		sleep 0.2
	done
	return 1
}

# left MARK: wait until no process sleeps for so long.
left()
{
	local i
	for i in {1..300}; do
		pgrep -f "sleep $1" >/dev/null || return 0
		sleep 0.1
	done
	pgrep -af "sleep $1"
	return 1
}

# The network of the second host goes away: the job ends here and there.
cut()
{
	local mark=73.$$5 pid status i
	collective-run --rsh "$work/ssh" -H $hosts -- sleep $mark &
	pid=$!
	for i in {1..100}; do (($(pgrep -fc "^sleep $mark") >= 4)) && break; sleep 0.1; done
	ip -n launch-two link set eth0 down
	wait $pid
	status=$?
	ip -n launch-two link set eth0 up
	((status == 255)) && left $mark
}

echo "TAP version 13"
hydra=$(command -v mpiexec.hydra) orte=$(command -v mpirun.openmpi)
if [[ $hydra ]]; then
	group "mpiexec of MPICH" $hydra -n 3 $program
else
	skip "mpiexec of MPICH" "not installed"
fi
if [[ $orte ]]; then
	group "mpirun of Open MPI" $orte --oversubscribe -n 3 $program
else
	skip "mpirun of Open MPI" "not installed"
fi
# A batch script of Slurm, and a shell in an allocation.
group "a single process of a Slurm job" env SLURM_JOB_ID=5 SLURM_NTASKS=4 SLURM_PROCID=0 $program
hosts=10.89.0.1:2,10.89.0.2:2
if make_hosts 2>"$work/err"; then
	since=$SECONDS
	named >"$work/out" 2>&1
	result $? "each host has a name of its own"
	group "collective-run --hosts" collective-run --rsh "$work/rsh" -H $hosts $program
	if [[ $hydra ]]; then
		group "mpiexec of MPICH on two hosts" $hydra -launcher ssh -launcher-exec "$work/rsh" \
			-localhost 10.89.0.254 -hosts $hosts -n 4 $program
	else
		skip "mpiexec of MPICH on two hosts" "not installed"
	fi
	if [[ $orte ]]; then
		group "mpirun of Open MPI on two hosts" $orte --mca plm_rsh_agent "$work/rsh" \
			--mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include 10.89.0.0/24 \
			--host $hosts -n 4 $program
	else
		skip "mpirun of Open MPI on two hosts" "not installed"
	fi
	: >"$work/out"
	sshd=$(PATH=$PATH:/usr/sbin command -v sshd)
	if [[ $sshd ]] && start_sshd >"$work/out" 2>&1; then
		group "collective-run --hosts by ssh" collective-run --rsh "$work/ssh" -H $hosts $program
		since=$SECONDS
		cut >"$work/out" 2>&1
		result $? "a network that is cut ends the job on both sides"
	else
		sed 's/^/# /' "$work/out"
		skip "collective-run --hosts by ssh" "no sshd"
		skip "a network that is cut" "no sshd"
	fi
	group "a network that is asked for" env COLL_LOCAL_ADDR=10.89.0.0/16 collective-run \
		--rsh "$work/rsh" -H $hosts $program
else
	sed 's/^/# /' "$work/err"
	for i in {1..7}; do skip "two hosts" "no network namespaces, bridge or veth"; done
fi
echo "1..$n"
exit $failed
