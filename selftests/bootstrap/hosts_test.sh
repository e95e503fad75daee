#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# collective-run --hosts, with a program that takes ssh's place and runs the agent on this host.
set -uo pipefail
# The unit ends the number, so that it is no prefix of another number.
mark=72.$$s
. "${0%/*}/ranks.sh"

# Writes its host and process, and runs the command where ssh would, by the login shell.
cat >"$work/rsh" <<-'END'
	#!/bin/bash
	while [[ $1 == -* ]]; do shift; done
	echo $$ >"${0%/*}/pid.$1"
	[[ $1 == lost ]] && exit 255
	${LOGIN_SHELL:-sh} -c "$2" &
	exec 0</dev/null
	wait $!
END
# The job comes by standard input, which a job in the background does not get.
sed -i 's/^\(.* -c "$2"\) &/exec 3<\&0; \1 <\&3 \&/; s/^exec 0<.*/exec 3<\&-/' "$work/rsh"
chmod +x "$work/rsh"
run=(timeout 30 collective-run --rsh "$work/rsh")

# started N: wait until N ranks run.
started()
{
	local i
	for i in {1..200}; do
		(($(pgrep -fc "^sleep $mark") >= $1)) && return
		sleep 0.05
	done
}

echo "TAP version 13"
command -v pgrep >/dev/null || { echo "1..0 # SKIP no pgrep"; exit 4; }

out=$("${run[@]}" -H a,b:3 -r h:77 -- sh -c 'echo $RANK $COLL_RANK $COLL_SIZE $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $COLL_RENDEZVOUS $MASTER_ADDR $MASTER_PORT' | sort)
is "the ranks of two hosts" "0 0 4 4 0 1 h:77 h 78
1 1 4 4 0 3 h:77 h 78
2 2 4 4 1 3 h:77 h 78
3 3 4 4 2 3 h:77 h 78" "$out"
out=$("${run[@]}" -H a,b,c -n 5 -l -- true 2>&1; "${run[@]}" -H a,b,c -n 5 -l -- echo x | sort | tr '\n' ' ')
is "labels, and ranks divided among hosts" "[0] x [1] x [2] x [3] x [4] x " "$out"
out=$("${run[@]}" -H 'u@a,[fd00::7]:2' -- sh -c 'echo ${COLL_RENDEZVOUS%:*}' | sort -u)
is "the rendezvous is on the first host" a "$out"
out=$("${run[@]}" -H a,b -- sh -c 'echo $(cat $COLL_SECRET_FILE)' | sort -u | grep -cE '^[0-9a-f]{64}$')
is "all have one secret" 1 "$out"
secret=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff
out=$(COLL_SECRET=$secret "${run[@]}" -H a,b -- sh -c 'echo $(cat $COLL_SECRET_FILE); env | grep -c ^COLL_SECRET=' | sort -u | tr '\n' ' ')
is "or the one that is given" "0 $secret " "$out"
out=$(pgrep -af "$secret"; COLL_SECRET=$secret "${run[@]}" -H a -- sh -c 'ps -eo args | grep -c "[0]0112233445566778899aabbccddeeff0011"')
is "which no command line shows" 0 "$out"
out=$(COLL_LANES=2 MINE=5 OTHER=6 "${run[@]}" -H a -x MINE -- sh -c 'echo $COLL_LANES $MINE')
is "variables that ranks get" "2 5" "$out"
out=$(cd / && "${run[@]}" -H a -- sh -c 'pwd; cat; echo "$1"' x "$(printf 'a b\nc')")
is "folder, input and arguments" "/
a b
c" "$out"

for shell in bash dash zsh ksh csh tcsh fish; do
	if ! command -v $shell >/dev/null; then
		((++n)); echo "ok $n - where $shell is the login shell # SKIP it is not installed"
		continue
	fi
	out=$(LOGIN_SHELL=$shell "${run[@]}" -H a -- printf '%s,' 'a b' "it's" '!$x\' "$(printf 'c\nd')" 2>&1)
	is "where $shell is the login shell" "a b,it's,!\$x\\,"$'c\nd,' "$out"
	odd="$work/it's \$HOME"'\ !"`$('
	mkdir -p "$odd" && cp "$(command -v collective-run)" "$odd/run"
	out=$(PATH=/usr/bin:/bin LOGIN_SHELL=$shell timeout 30 "$odd/run" --rsh "$work/rsh" -H a -- echo x 2>&1)
	is "and the path of collective-run has special characters" x "$out"
done

# 1000 variables, of which each rank gets those of COLL_ and -x.
out=$(for i in {1..1000}; do export COLL_V$i=$i; done; export MINE=5
      "${run[@]}" -H a,b -x MINE -- sh -c 'env | grep -cE "^(COLL_V|MINE=)"' 2>&1 | sort -u)
is "ranks get every variable" 1001 "$out"
out=$("${run[@]}" -H a -x MINE -x NOTSET -- echo x 2>&1 >/dev/null)
is "a variable that is not set is named" 2 "$(grep -cE -- '-x (MINE|NOTSET): .*not set' <<<"$out")"
out=$(MINE='' "${run[@]}" -H a -x MINE -- sh -c 'echo ${MINE-none}' 2>&1)
is "an empty one is passed on" "" "$out"

for command in false true "$work/nothing"; do
	out=$(timeout 30 collective-run --rsh $command -H a,b -- echo x 2>&1)
	status=$?
	[[ $command == false ]] && wanted=1 || wanted=125
	is "a remote shell that is ${command##*/}" $wanted $status
	# The end of one host may end the other before it reports.
	[[ $out == *"host "[ab]": $command exited with status "*" and has not started collective-run there"* ]]
	result $? "is named, and its host"
done
printf '#!/bin/sh\nkill -KILL $$\n' >"$work/killed"
chmod +x "$work/killed"
out=$(timeout 30 collective-run --rsh "$work/killed" -H a -- echo x 2>&1)
is "a remote shell that is killed" 137 $?
[[ $out == *"host a: $work/killed was killed by signal 9"* ]]
result $? "is named"

"${run[@]}" -H a,b -- sh -c "[ \$RANK = 1 ] && sleep 0.5 && exit 3; sleep $mark" 2>"$work/err"
is "a rank that fails decides the status" 3 $?
grep -q 'rank 1 (pid' "$work/err"
result $? "and is reported once by its host"
is "which is named" 1 "$(grep -c 'host b: .* exited with status 3; its ranks 1 to 1 end' "$work/err")"
is "the others are not, which are ended" 0 "$(grep -c 'host a:' "$work/err")"
left_in_time "the ranks of the other host end"

for host in a b; do
	start=$SECONDS
	"${run[@]}" -H a:2,b:2 -- sh -c "sleep $mark" 2>"$work/err" &
	pid=$!
	started 4
	kill -KILL "$(cat "$work/pid.$host")"
	pkill -KILL -P "$(cat "$work/pid.$host")" 2>/dev/null
	wait $pid
	status=$?
	((status > 0 && SECONDS - start < 25))
	result $? "a connection to $host that is cut ends the job (status $status)"
	left_in_time "everywhere"
done

"${run[@]}" -H a,lost -- sh -c "sleep $mark" 2>"$work/err"
is "a host that cannot be reached" 255 $?
grep -q 'host lost: there is no connection' "$work/err"
result $? "is named"
left_in_time "and the others end"

timeout 30 collective-run --rsh "$work/rsh" -H a,b -- sh -c "sleep $mark" 2>"$work/err" &
pid=$!
started 2
kill -KILL "$(pgrep -P $pid collective-run)"
wait $pid
left_in_time "if collective-run is killed, so are the ranks"

"${run[@]}" -t 1 -H a,b -- sleep $mark 2>"$work/err"
is "a time limit" 124 $?
left_in_time "ends all"

mkdir "$work/bin"
cat >"$work/bin/ssh" <<-END
	#!/bin/bash
	[[ " \$* " == *" -T "* ]] || echo "Pseudo-terminal will not be allocated because stdin is not a terminal." >&2
	[[ " \$* " == *" -G "* ]] && { echo "hostname a"; exit; }
	exec "$work/rsh" "\$@"
END
chmod +x "$work/bin/ssh"
out=$(PATH="$work/bin:$PATH" timeout 30 collective-run -H a -- echo x 2>&1 </dev/null)
is "ssh, which has no terminal, says nothing" x "$out"

for wrong in 'a:x' 'a:0' ':2' '-oProxyCommand=x' ''; do
	"${run[@]}" --hosts="$wrong" -- true 2>"$work/err"
	is "--hosts '$wrong' is refused" 125 $?
done
"${run[@]}" -H a:2,b:2 -n 3 -- true 2>"$work/err"
is "two numbers of ranks are refused" 125 $?
for wrong in '-r h:77' '-x MINE' '--rsh cat' '-H a -6' '-H a --netns' '-H a -x MINE=5' '-H a --export='; do
	# shellcheck disable=SC2086
	out=$(timeout 30 collective-run $wrong -- true 2>&1)
	is "$wrong is refused" 125 $?
	[[ $(wc -l <<<"$out") == 1 && $out == *collective-run:* ]]
	result $? "in one line"
done
"${run[@]}" -H a -- /nonexistent 2>"$work/err"
is "a program that is not there" 127 $?
echo garbage | timeout 10 collective-run --agent 2>"$work/err"
is "an agent without a job" 125 $?
echo "1..$n"
exit $failed
