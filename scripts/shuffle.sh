#!/usr/bin/env bash
# Shuffles the newest self-play rows of a run into BASEDIR/shuffled/<time>, once, and removes shuffles that no trainer
# reads any more: KataGo's script of that name.
#
# usage: scripts/shuffle.sh BASEDIR TMPDIR NTHREADS [BATCHSIZE] [flags of chessbrain shuffle...]
#   scripts/shuffle.sh runs/chess /tmp/shuffle 8 -min-rows 100000 -keep-target-rows 600000
#
# TMPDIR    scratch space as large as the result, best on a fast local disk
# BATCHSIZE of older scripts is taken and not needed. Flags may be written with one dash.
#
# Settings come from the environment:
#   CHESSBRAIN        the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
#   KEEP=2            shuffles that stay in any case, the newest
#   KEEP_MINUTES=120  and those that are younger than this: a trainer may still read them
# Exit codes: those of chessbrain shuffle; 6 = fewer rows than --min-rows, play more games.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
{ # read as a whole: the file may be edited while it runs
refuse() {
	echo "shuffle: $*" >&2
	exit 2
}
[ $# -ge 3 ] || refuse "usage: scripts/shuffle.sh BASEDIR TMPDIR NTHREADS [BATCHSIZE] [flags of chessbrain shuffle...]"
basedir=$1 scratch=$2 threads=$3
shift 3
for dir in "$basedir" "$scratch"; do
	[[ -n $dir && $dir != -* ]] || refuse "\"$dir\" is no directory"
done
[[ $threads =~ ^[1-9][0-9]*$ ]] || refuse "NTHREADS \"$threads\" is no number"
[[ ! ${1:-} =~ ^[0-9]+$ ]] || shift # BATCHSIZE
keep=${KEEP:-2} minutes=${KEEP_MINUTES:-120}
[[ $keep =~ ^[1-9][0-9]*$ && $minutes =~ ^[0-9]+$ ]] || refuse "KEEP=$keep, KEEP_MINUTES=$minutes: want 1 or more, and 0 or more"

program=${CHESSBRAIN:-}
if [ -z "$program" ]; then
	program=$(cd "$(dirname "$0")/.." && pwd)/bin/chessbrain
	[ -x "$program" ] || program=chessbrain
fi
command -v "$program" >/dev/null || refuse "there is no program $program: build it (make build), or name it with CHESSBRAIN="

flags=()
for flag; do
	[[ $flag =~ ^-[a-z][a-z0-9-]+(=.*)?$ ]] && flag=-$flag # -min-rows
	flags+=("$flag")
done
mkdir -p "$basedir/selfplay" "$basedir/shuffled" "$scratch"
"$program" shuffle --input-dir "$basedir/selfplay" --output-dir "$basedir/shuffled" --scratch-dir "$scratch" \
	--num-threads "$threads" ${flags[@]+"${flags[@]}"} &
pid=$!
trap 'kill -TERM "$pid" 2>/dev/null || true' INT TERM
while kill -0 "$pid" 2>/dev/null; do
	sleep 0.2 &
	wait $! || true # a signal ends the wait at once
done
trap - INT TERM
code=0
wait "$pid" || code=$?
[ "$code" = 0 ] || exit "$code"

# One step makes a shuffle invisible, so that nobody meets half of one.
rm -rf "$basedir"/shuffled/.old-*
shuffles=()
for dir in "$basedir"/shuffled/[0-9]*; do # oldest first
	[[ -d $dir && ! -L $dir && $dir != *.tmp ]] && shuffles=("$(basename "$dir")" ${shuffles[@]+"${shuffles[@]}"})
done
[ "${#shuffles[@]}" -gt "$keep" ] || exit 0
for name in "${shuffles[@]:keep}"; do
	dir=$basedir/shuffled/$name
	[ -f "$dir/train.json" ] || continue # chessbrain did not make it
	[ -n "$(find "$dir" -maxdepth 0 -mmin "+$minutes")" ] || continue
	mv "$dir" "$basedir/shuffled/.old-$name"
	rm -rf "$basedir/shuffled/.old-$name"
done
exit 0
}
