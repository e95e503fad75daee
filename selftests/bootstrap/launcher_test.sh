#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# collective-run leaves no process behind, and loses no output.
set -uo pipefail
# The unit ends the number, so that it is no prefix of another number.
mark=71.$$s
. "${0%/*}/ranks.sh"

# A rank behind a shell, and one that has left its session.
program="setsid sleep $mark & sleep $mark; true"

# started PID: wait until two ranks run.
started()
{
	local i
	for i in {1..200}; do
		(($(pgrep -fc "^sleep $mark") >= 4)) && return
		sleep 0.05
	done
}

echo "TAP version 13"
command -v pgrep >/dev/null || { echo "1..0 # SKIP no pgrep"; exit 4; }

timeout 20 collective-run -n 2 -t 1 -- sh -c "$program" 2>"$work/err"
is "a time limit gives 124" 124 $?
left_in_time "a time limit ends what is behind a shell"

timeout 20 collective-run -n 2 -- sh -c "[ \$RANK = 0 ] && sleep 0.5 && exit 3; $program" 2>"$work/err"
is "a failed rank decides the status" 3 $?
left_in_time "a failed rank ends what is behind the others' shells"

for signal in TERM INT HUP KILL; do
	collective-run -n 2 -- sh -c "$program" 2>"$work/err" &
	pid=$!
	started
	kill -$signal $pid
	wait $pid 2>/dev/null
	status=$?
	[[ $signal == KILL ]] || is "SIG$signal gives its status" $((128 + $(kill -l $signal))) $status
	# The launcher's child is signalled when its parent dies, and ends the ranks in steps.
	left_in_time "SIG$signal leaves nothing"
done

collective-run -n 2 -- sh -c "$program" 2>"$work/err" &
pid=$!
started
kill -KILL "$(pgrep -P $pid)"
wait $pid
is "the death of its child gives that status" 137 $?
left_in_time "the death of its child leaves nothing"

# Ranks that ignore signals.
for signal in INT TERM; do
	start=$SECONDS
	collective-run -n 2 -k 1 -- sh -c "trap '' INT TERM; $program" 2>"$work/err" &
	pid=$!
	started
	kill -$signal $pid
	wait $pid
	status=$?
	is "SIG$signal to ranks that ignore it" $((128 + $(kill -l $signal))) $status
	((SECONDS - start < 12))
	result $? "is followed by SIGKILL"
	left_in_time "and leaves nothing"
done

# A signal to the process group reaches the launcher's processes directly and through the launcher.
cat >"$work/tidy" <<-'END'
	#!/usr/bin/perl
	$SIG{TERM} = sub { select undef, undef, undef, 0.5; open my $f, '>', "$ARGV[0].done.$ENV{RANK}"; exit 0 };
	open my $f, '>', "$ARGV[0].$ENV{RANK}"; close $f;
	select undef, undef, undef, 0.1 while 1;
END
chmod +x "$work/tidy"
setsid collective-run -n 2 -k 10 -- "$work/tidy" "$work/tidied" 2>"$work/err" &
pid=$!
for i in {1..100}; do [[ -e $work/tidied.0 && -e $work/tidied.1 ]] && break; sleep 0.05; done
kill -TERM -$pid
wait $pid
is "SIGTERM to the process group" 0 $?
is "leaves the ranks their time" "tidied.done.0 tidied.done.1" "$(cd "$work" && echo tidied.done.*)"

# Background jobs of a script ignore SIGINT; this one must not.
cat >"$work/polite" <<-'END'
	#!/usr/bin/perl
	$SIG{INT} = sub { exit 0 };
	open my $f, '>', "$ARGV[0].$ENV{RANK}"; close $f;
	select undef, undef, undef, 0.1 while 1;
END
chmod +x "$work/polite"
collective-run -n 2 -- "$work/polite" "$work/ready" 2>"$work/err" &
pid=$!
for i in {1..100}; do [[ -e $work/ready.0 && -e $work/ready.1 ]] && break; sleep 0.05; done
kill -INT $pid
wait $pid
is "ranks that end with 0 on SIGINT" 0 $?

start=$SECONDS
out=$(timeout 20 collective-run -n 1 -l -- sh -c "setsid sleep $mark & echo hello" 2>&1)
is "the last words of a rank that leaves a daemon" "[0] hello" "$out"
((SECONDS - start < 15))
result $? "the daemon is not waited for"
left_in_time "and is ended"

out=$(timeout 20 collective-run -n 1 -l -- printf 'a\0b\nc' | od -An -c | tr -s ' ')
is "NUL bytes, and a line without an end" "$(printf '[0] a\0b\n[0] c\n' | od -An -c | tr -s ' ')" "$out"
timeout 20 collective-run -n 2 -l -- perl -e 'print "x" x 200000, "\n" for 1 .. 5' >"$work/out"
is "long lines are whole" 10 "$(awk '/^\[[01]\] x+$/ && length($0) == 200004' "$work/out" | wc -l)"
timeout 20 collective-run -n 1 -l -- perl -e 'print "x" x 3000000' >"$work/out"
is "nothing of a line without an end is lost" 3000000 "$(tr -dc x <"$work/out" | wc -c)"
for i in {1..5}; do timeout 20 collective-run -n 4 -l -- seq 5000; done >"$work/out"
is "nothing of many lines is lost" 100000 "$(grep -cE '^\[[0-3]\] [0-9]+$' "$work/out")"

timeout 20 collective-run -n 1 -l -- echo hello >/dev/full 2>"$work/err"
is "a full device gives 125" 125 $?
grep -q 'No space left' "$work/err"
result $? "and is said"
timeout 20 collective-run --help >/dev/full 2>"$work/err"
is "the same of --help" 125 $?
timeout 20 collective-bench --help >/dev/full 2>"$work/err"
is "of collective-bench" 1 $?
timeout 20 collectivectl --help >/dev/full 2>"$work/err"
is "of collectivectl" 2 $?
grep -q 'No space left' "$work/err"
result $? "which says it"
timeout 20 collectivectl --help >&- 2>"$work/err"
is "and of an output that is closed" 2 $?

timeout 20 collective-run -n 1 -- /nonexistent 2>/dev/null
is "a program that is not there" 127 $?
timeout 20 collective-run -n 1 -- /etc/passwd 2>/dev/null
is "a program that cannot be run" 126 $?
timeout 20 collective-run -n 0 true 2>/dev/null
is "wrong usage" 125 $?

secret=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
out=$(timeout 20 collective-run -n 1 -- env | grep -c '^COLL_SECRET=')
is "no secret in the environment" 0 "$out"
out=$(timeout 20 collective-run -n 2 -- sh -c 'echo $(cat $COLL_SECRET_FILE); echo $(cat /proc/self/fd/$COLL_SECRET_FD)' | sort -u | grep -cE '^[0-9a-f]{64}$')
is "all ranks have the same one by file and descriptor" 1 "$out"
out=$(COLL_SECRET=$secret timeout 20 collective-run -n 1 -- sh -c 'cat $COLL_SECRET_FILE; env | grep -c ^COLL_SECRET=; grep -c "$(cat $COLL_SECRET_FILE)" /proc/$PPID/environ')
is "one that is given moves out of the environment" "${secret}0"$'\n'0 "$out"
out=$(printf %s $secret | COLL_SECRET_FD=0 timeout 20 collective-run -n 2 -- sh -c 'echo $(cat $COLL_SECRET_FILE)' | sort -u)
is "one that comes by a pipe is for all ranks" "$secret" "$out"

out=$(ulimit -n 110; timeout 60 collective-run -n 200 --no-bind -- true 2>&1)
is "more ranks than files" 0 $?
out=$(ulimit -n 110; timeout 60 collective-run -n 200 -l -- true 2>&1)
is "but their labels need as many" 125 $?
grep -q '232 open files' <<<"$out"
result $? "which is said"
out=$(ulimit -Sn 110; timeout 60 collective-run -n 200 -l -- sh -c 'ulimit -n' 2>&1 | sort | uniq -c | awk '{ print $3 }' | sort -u)
is "and is allowed to the launcher alone" 110 "$out"

if unshare -n true 2>/dev/null && command -v ip >/dev/null; then
	out=$(unshare -n sh -c 'ip link set lo up; ip addr del 127.0.0.1/8 dev lo; collective-run -n 1 -- sh -c "echo \$COLL_RENDEZVOUS"')
	[[ $out =~ ^\[::1\]:[0-9]+$ ]]
	result $? "a host without 127.0.0.1 ($out)"
	out=$(unshare -n sh -c 'ip link set lo up; ip addr flush dev lo; ip addr add 10.9.8.7/32 dev lo; collective-run -n 1 -- sh -c "echo \$COLL_RENDEZVOUS"')
	[[ $out =~ ^10\.9\.8\.7:[0-9]+$ ]]
	result $? "a host without a loopback address ($out)"
else
	((++n)); echo "ok $n - a host without 127.0.0.1 # SKIP no network namespace"
fi
echo "1..$n"
exit $failed
