#!/usr/bin/env bash
# Shuffles a run's newest rows over and over, and makes nets of what its trainers leave, until it is stopped: KataGo's
# script of that name, in the foreground (add & for the background; scripts/systemd has a unit).
#
# usage: scripts/shuffle_and_export_loop.sh NAMEOFRUN BASEDIR TMPDIR NTHREADS BATCHSIZE USEGATING [flags of chessbrain shuffle...]
#   scripts/shuffle_and_export_loop.sh chess runs/chess /tmp/shuffle 8 128 1 -min-rows 100000
#
# NAMEOFRUN   name of the run, checked against BASEDIR/run.json where there is one
# TMPDIR      scratch space of the shuffle, of its own; best on a fast local disk
# BATCHSIZE   is taken and not needed
# USEGATING   1: nets go to modelstobetested/, for chessbrain gatekeeper; 0: to models/, and play at once
#
# What the two say goes to BASEDIR/logs/outshuffle.txt and outexport.txt. Ctrl-C or SIGTERM stops both and waits; nothing
# half done is visible, and the same command goes on. Exit codes: 5 = stopped; else that of the part which failed.
#
# Settings come from the environment, with those of scripts/shuffle.sh:
#   CHESSBRAIN  the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
#   EVERY=20    seconds between two shuffles
#   POLL=30s    between two looks for nets to export
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
{ # read as a whole: the file may be edited while it runs
refuse() {
	echo "shuffle_and_export_loop: $*" >&2
	exit 2
}
[ $# -ge 6 ] || refuse "usage: scripts/shuffle_and_export_loop.sh NAMEOFRUN BASEDIR TMPDIR NTHREADS BATCHSIZE USEGATING [flags of chessbrain shuffle...]"
name=$1 basedir=$2 scratch=$3 threads=$4 batch=$5 gating=$6
shift 6
[[ $name =~ ^[A-Za-z0-9_-]{1,40}$ && $name != -* ]] || refuse "NAMEOFRUN \"$name\": want 1 to 40 letters, digits, _ or -, and no - at the front"
for dir in "$basedir" "$scratch"; do
	[[ -n $dir && $dir != -* ]] || refuse "\"$dir\" is no directory"
done
[[ $threads =~ ^[1-9][0-9]*$ ]] || refuse "NTHREADS \"$threads\" is no number"
[[ $batch =~ ^[0-9]+$ ]] || refuse "BATCHSIZE \"$batch\" is no number"
[[ $gating =~ ^[01]$ ]] || refuse "USEGATING \"$gating\": want 0 or 1"
every=${EVERY:-20}
[[ $every =~ ^[0-9]+$ ]] || refuse "EVERY=$every: want seconds"
if [ -f "$basedir/run.json" ]; then
	job=$(sed -n 's/^ *"job": *"\([^"]*\)".*/\1/p' "$basedir/run.json")
	[ "$job" = "$name" ] || refuse "the run in $basedir is called $job, not $name"
fi

scripts=$(cd "$(dirname "$0")" && pwd)
if [ -z "${CHESSBRAIN:-}" ]; then
	CHESSBRAIN=$scripts/../bin/chessbrain
	[ -x "$CHESSBRAIN" ] || CHESSBRAIN=chessbrain
fi
export CHESSBRAIN
command -v "$CHESSBRAIN" >/dev/null || refuse "there is no program $CHESSBRAIN: build it (make build), or name it with CHESSBRAIN="

told=0 pid=

# await waits for process $pid, whatever signals come, and sets code.
await() {
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2 &
		wait $! || true
	done
	code=0
	wait "$pid" || code=$?
}

# shuffles shuffles until it is told to end. Too few rows (6), and scratch files that are damaged, are for the next round
# to mend; a mistake in the command line is not.
shuffles() {
	trap 'told=1; kill -TERM "$pid" 2>/dev/null || true' TERM
	while [ "$told" = 0 ]; do
		echo "shuffle begins at $(date '+%Y-%m-%d %H:%M:%S')"
		"$scripts/shuffle.sh" "$basedir" "$scratch" "$threads" "$@" &
		pid=$!
		[ "$told" = 0 ] || kill -TERM "$pid" 2>/dev/null || true # told between the two lines before
		await
		echo "shuffle ended with $code at $(date '+%Y-%m-%d %H:%M:%S')"
		[ "$code" != 2 ] || exit 2
		[ "$told" = 0 ] || break
		sleep "$every" &
		pid=$!
		await
	done
	exit 5
}

mkdir -p "$basedir/logs"
pids=()
trap 'told=1; [ ${#pids[@]} = 0 ] || kill -TERM "${pids[@]}" 2>/dev/null || true' INT TERM
# Each is a group of its own: a Ctrl-C reaches this script alone, once.
set -m
shuffles "$@" </dev/null >>"$basedir/logs/outshuffle.txt" 2>&1 &
pids=($!)
"$CHESSBRAIN" export --run-dir "$basedir" --gating "$gating" --poll "${POLL:-30s}" </dev/null >>"$basedir/logs/outexport.txt" 2>&1 &
pids+=($!)
set +m
echo "shuffle_and_export_loop: works on $basedir; see $basedir/logs/outshuffle.txt and outexport.txt"
[ "$told" = 0 ] || kill -TERM "${pids[@]}" 2>/dev/null || true # a signal that came between the starts
while kill -0 "${pids[0]}" 2>/dev/null && kill -0 "${pids[1]}" 2>/dev/null; do
	sleep 0.2 &
	wait $! || true # a signal ends the wait at once
done
if [ "$told" = 0 ]; then
	echo "shuffle_and_export_loop: a part has ended; the last lines of both:" >&2
	tail -qn 2 "$basedir/logs/outshuffle.txt" "$basedir/logs/outexport.txt" >&2
fi
worst=0
for pid in "${pids[@]}"; do
	[ "$told" = 1 ] || kill -TERM "$pid" 2>/dev/null || true
	await
	[ "$code$told" != 1431 ] || code=5 # told before it could listen
	[ "$code" = 5 ] || [ "$code" -le "$worst" ] || worst=$code
done
[ "$worst" = 0 ] && exit 5
exit "$worst"
}
