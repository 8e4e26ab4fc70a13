#!/usr/bin/env bash
# Plays with N processes for a trainer that runs with --source dir, and shows what they do.
#
# usage: scripts/producers.sh N RUN_DIR [flags of chessbrain selfplay...]
#        scripts/producers.sh stop RUN_DIR
#   scripts/producers.sh 2 runs/a --net 64x6 & chessbrain train --run-dir runs/a --source dir --steps 10000
#
# Ctrl-C, SIGTERM or "stop" from another shell stops them all and waits: every finished game is on disk then, and the
# same command goes on. A second Ctrl-C or SIGTERM ends them at once. What process i says goes to
# RUN_DIR/logs/producer-i.txt. Exit codes: those of chessbrain (5 = stopped and saved); 2 = nothing was started.
#
# Settings come from the environment:
#   CHESSBRAIN  the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
#   FIRST=1     number of the first process: processes of one run directory need different ones
#   EVERY=60    seconds between two lines of state, 1 at least
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done

refuse() {
	echo "producers: $*" >&2
	exit 2
}
usage="usage: scripts/producers.sh N RUN_DIR [flags of chessbrain selfplay...], or scripts/producers.sh stop RUN_DIR"

# number fails unless its argument is one from 1 to 9999.
number() { [[ $1 =~ ^[1-9][0-9]{0,3}$ ]]; }

# owner reads who wrote a note; it fails where that process is gone or is another program now.
owner() { # note
	read -r pid host 2>/dev/null <"$1" || return 1
	[ "$host" = "$(uname -n)" ] || refuse "$dir: processes of $host play here; stop them there, or remove $1 if that machine is gone"
	[[ $(ps -p "$pid" -o args= 2>/dev/null) == *producers.sh* ]]
}

[ $# -ge 2 ] || refuse "$usage"
what=$1 dir=$2
shift 2
[[ -n $dir && $dir != -* ]] || refuse "\"$dir\" is no run directory; $usage"
note=$dir/locks/producers

if [ "$what" = stop ]; then
	[ $# = 0 ] || refuse "stop takes a run directory and nothing else; $usage"
	[ -d "$dir" ] || refuse "there is no run directory $dir"
	owner "$note" || refuse "nothing that scripts/producers.sh started plays in $dir"
	kill -TERM "$pid"
	while owner "$note"; do sleep 0.2; done
	echo "producers: stopped in $dir"
	exit 0
fi

number "$what" || refuse "\"$what\" is no number of processes, want 1 to 9999; $usage"
count=$what first=${FIRST:-1} every=${EVERY:-60}
number "$first" || refuse "FIRST=$first: want 1 to 9999"
number "$every" || refuse "EVERY=$every: want 1 to 9999 seconds"
for flag; do
	case $flag in
	--process | --process=* | --run-dir | --run-dir=*) refuse "$flag is given by this script: it is FIRST and RUN_DIR" ;;
	--dry-run | --dry-run=*) refuse "$flag: use it with chessbrain selfplay, nothing is started by it" ;;
	esac
done
[ ! -e "$dir" ] || [ -d "$dir" ] || refuse "$dir is a file, want a run directory"

program=${CHESSBRAIN:-}
if [ -z "$program" ]; then
	program=$(cd "$(dirname "$0")/.." && pwd)/bin/chessbrain
	[ -x "$program" ] || program=chessbrain
fi
command -v "$program" >/dev/null || refuse "there is no program $program: build it (make build), or name it with CHESSBRAIN="
code=0
"$program" selfplay --run-dir "$dir" --process "$first" "$@" --dry-run >/dev/null || code=$?
[ "$code" = 0 ] || exit "$code" # it has said what is wrong

mkdir -p "$dir/locks" "$dir/logs"
# Made in one step: of two scripts that start at once only one goes on.
if ! (set -o noclobber && echo "$$ $(uname -n)" >"$note") 2>/dev/null; then
	[ -w "$dir/locks" ] || refuse "cannot write to $dir/locks"
	! owner "$note" || refuse "process $pid plays in $dir already; stop it with scripts/producers.sh stop $dir"
	echo "$$ $(uname -n)" >"$note" # of a script that was killed
fi

pids=() told=() signals=0 worst=0 # pids[i] is empty once process i has ended

# tell passes a stop on to a process.
# shellcheck disable=SC2317 # called by the trap
tell() { # number
	told[$1]=1
	[ -z "${pids[$1]}" ] || kill -TERM "${pids[$1]}" 2>/dev/null || true
}

# pass_on tells all processes to stop.
# shellcheck disable=SC2317 # called by the trap
pass_on() {
	local i
	signals=$((signals + 1))
	[ "$signals" -gt 1 ] || echo "producers: stopping; what is finished is kept (once more to end at once)"
	for i in "${!pids[@]}"; do tell "$i"; done
}

# reap notes processes that have ended; it fails while one plays.
reap() {
	local i code ended=0
	for i in "${!pids[@]}"; do
		[ -n "${pids[i]}" ] || continue
		ended=1
		! kill -0 "${pids[i]}" 2>/dev/null || continue
		code=0
		wait "${pids[i]}" || code=$?
		pids[i]=
		# One that was told before it could listen had not begun, so that nothing is lost.
		[ "$code$signals" != 1431 ] || code=5
		[ "$code" -le "$worst" ] || worst=$code
		tail -n 1 "$dir/logs/producer-$i.txt" | sed "s/^/producers: process $i ended with $code: /"
	done
	[ "$ended" = 0 ]
}

# state reads what a process answers to "status" and prints a line.
state() { # number
	awk -v number="$1" '
		function field(name) {
			if (!match($0, "\"" name "\": *\"?[^,\"}]*")) return "?"
			value = substr($0, RSTART, RLENGTH)
			sub(/^"[^"]*": *"?/, "", value)
			return value
		}
		{
			said = 1
			printf "producers: process %s: %s games, %s positions and %s evaluations since its start, net %s\n",
				number, field("games"), field("positions"), field("evaluations"), field("net")
		}
		END { if (!said) print "producers: process " number ": starting or stopping" }'
}

# show prints what each process has done. It has no command substitution: bash 5.2 may mistake a signal in one for a
# mistake in the trap.
show() {
	local i
	for i in "${!pids[@]}"; do
		[ -z "${pids[i]}" ] || { "$program" ctl "$dir" status --process "$i" 2>/dev/null || true; } | state "$i"
	done
}

trap pass_on INT TERM
trap 'rm -f "$note"' EXIT
# Every process is a group of its own: a Ctrl-C reaches this script alone, once.
set -m
for ((i = first; i < first + count; i++)); do
	[ "$signals" = 0 ] || break
	"$program" selfplay --run-dir "$dir" --process "$i" "$@" </dev/null >"$dir/logs/producer-$i.txt" 2>&1 &
	pids[i]=$!
done
set +m
for i in "${!pids[@]}"; do # a signal may have come between the start of a process and the note of its number
	[ "$signals" = 0 ] || [ -n "${told[i]:-}" ] || tell "$i"
done
echo "producers: ${#pids[@]} processes play in $dir, ${first} to $((first + ${#pids[@]} - 1))"
shown=$SECONDS
until reap; do
	if [ $((SECONDS - shown)) -ge "$every" ]; then
		shown=$SECONDS
		show
	fi
	sleep 0.2 &
	wait $! || true # a signal ends the wait at once
done
exit "$worst"
