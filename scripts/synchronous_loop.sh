#!/usr/bin/env bash
# The closed loop on one machine, one stage after the other, in a circle: gatekeeper, rating, self-play, shuffle,
# training, export, clean-up. KataGo's script of that name; chessbrain run does the same in one process. The list of
# stages is at the end of this file: put commands of your own between them.
#
# usage: scripts/synchronous_loop.sh [NAMEOFRUN [BASEDIR [TRAININGNAME [MODELKIND [USEGATING [flags of chessbrain run...]]]]]]
#   scripts/synchronous_loop.sh                 # chessbrain ./runs/loop main b6c64 1, or variables of these names
#   scripts/synchronous_loop.sh chess runs/chess main b10c128 1 --cycles 100 --mcts-simulations 200 --gate-games 100
#
# NAMEOFRUN     name of the run, first part of its nets' names
# BASEDIR       directory of the run: new, or that of a closed loop of the same name and MODELKIND; not one of chessbrain train
# TRAININGNAME  name of the training, second part of the nets' names
# MODELKIND     such as b6c64 or 64x6, see configs/models.textproto. Another one in a used directory is refused. To grow
#               the net of a run, add --grow b10c128@0 at the end: docs/LOOP.md
# USEGATING     1: a new net must win a match to play (--gate-games, --gate-visits); 0: each one plays at once
#
# Further settings come from the environment:
#   CONFIG      a textproto file under all flags
#   CHESSBRAIN  the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
#   NUM_GAMES_PER_CYCLE=500             games of self-play
#   NUM_TRAIN_SAMPLES_PER_EPOCH=100000  rows trained on between two checkpoints; each makes a net
#   NUM_TRAIN_SAMPLES_PER_CYCLE=500000  rows trained on, at most
#   NUM_TRAIN_SAMPLES_PER_SWA=80000     rows between two averages of the weights; 0 = no average
#   MAX_TRAIN_PER_DATA=8                rows trained on for each new row of self-play, at most
#   BATCHSIZE=128                       rows of a step
#   SHUFFLE_MINROWS=100000              below so many rows self-play goes on
#   SHUFFLE_KEEPROWS=600000             rows of the window that are kept, about
#   TAPER_WINDOW_SCALE=50000            rows from which on the window grows more slowly
#   NUM_THREADS_FOR_SHUFFLING           default: one a core
#   RATING_GAMES=20                     games of each match for the rating list; 0 = none
#
# --dry-run among the flags checks the directory, says what a cycle would do, and ends.
#
# What training would refuse (another net, name or kind of training than the directory's) is refused before anything is
# played or made, with exit code 2.
#
# It ends when a stop condition holds (--cycles, --games, --hours, --elo), or when it is told to: the first Ctrl-C or
# SIGTERM lets the stage under way save, and the exit code is 5. After that, or after a kill of it or of any of its
# processes at any moment, the same command goes on: BASEDIR/cycles.jsonl says where (chessbrain status BASEDIR).
#
# Each start works from a snapshot in BASEDIR/dated/<time>: this script, the program, its version and config.textproto,
# which every stage reads anew. Edit that file to change what comes next; this script and the program may be edited and
# built anew at any time, for the next start.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
{ # read as a whole: the file may be edited while it runs

NUM_GAMES_PER_CYCLE=${NUM_GAMES_PER_CYCLE:-500}
NUM_TRAIN_SAMPLES_PER_EPOCH=${NUM_TRAIN_SAMPLES_PER_EPOCH:-100000}
NUM_TRAIN_SAMPLES_PER_CYCLE=${NUM_TRAIN_SAMPLES_PER_CYCLE:-500000}
NUM_TRAIN_SAMPLES_PER_SWA=${NUM_TRAIN_SAMPLES_PER_SWA:-80000}
MAX_TRAIN_PER_DATA=${MAX_TRAIN_PER_DATA:-8}
BATCHSIZE=${BATCHSIZE:-128}
SHUFFLE_MINROWS=${SHUFFLE_MINROWS:-100000}
SHUFFLE_KEEPROWS=${SHUFFLE_KEEPROWS:-600000}
TAPER_WINDOW_SCALE=${TAPER_WINDOW_SCALE:-50000}
NUM_THREADS_FOR_SHUFFLING=${NUM_THREADS_FOR_SHUFFLING:-$(getconf _NPROCESSORS_ONLN)}
RATING_GAMES=${RATING_GAMES:-20}

refuse() {
	echo "synchronous_loop: $*" >&2
	exit 2
}
say() { echo "synchronous_loop: $*"; }

name=${1:-${NAMEOFRUN:-chessbrain}} base=${2:-${BASEDIR:-./runs/loop}} training=${3:-${TRAININGNAME:-main}}
kind=${4:-${MODELKIND:-b6c64}} gating=${5:-${USEGATING:-1}}
shift $(($# < 5 ? $# : 5))
[[ $name =~ ^[A-Za-z0-9_-]{1,40}$ && $name != -* ]] || refuse "NAMEOFRUN \"$name\": want 1 to 40 letters, digits, _ or -, and no - at the front"
[[ -n $base && $base != -* ]] || refuse "BASEDIR \"$base\" is no directory"
[[ $training =~ ^[A-Za-z0-9_-]{1,40}$ && $training != -* ]] || refuse "TRAININGNAME \"$training\": want 1 to 40 letters, digits, _ or -, and no - at the front"
[[ -n $kind && $kind != -* ]] || refuse "MODELKIND \"$kind\": want a kind or a size, such as b6c64 or 64x6"
[[ ${CONFIG:-} != -* ]] || refuse "CONFIG=$CONFIG is no file"
[[ $gating =~ ^[01]$ ]] || refuse "USEGATING \"$gating\": want 0 or 1"
for number in NUM_GAMES_PER_CYCLE NUM_TRAIN_SAMPLES_PER_EPOCH NUM_TRAIN_SAMPLES_PER_CYCLE NUM_TRAIN_SAMPLES_PER_SWA BATCHSIZE NUM_THREADS_FOR_SHUFFLING RATING_GAMES; do
	[[ ${!number} =~ ^[0-9]{1,15}$ ]] || refuse "$number=${!number}: want a number"
done
[ "$BATCHSIZE" -gt 0 ] || refuse "BATCHSIZE=0: want 1 or more"
# The program would refuse that directory, too, but by the first field that differs.
trained=$(find "$base/train" -path '*/checkpoints/*' \( -name source.section -o -name loader.section \) 2>/dev/null | head -n 1 || true)
[ -z "$trained" ] || [ -e "$base/cycles.jsonl" ] ||
	refuse "BASEDIR \"$base\" belongs to a run of chessbrain train, which a closed loop cannot take over: name another BASEDIR, or go on with: chessbrain train $base"

here=$(cd "$(dirname "$0")" && pwd)
program=${CHESSBRAIN:-$here/../bin/chessbrain}
[ -n "${CHESSBRAIN:-}" ] || [ -x "$program" ] || program=chessbrain
program=$(command -v "$program") || refuse "there is no program ${CHESSBRAIN:-chessbrain}: build it (make build), or name it with CHESSBRAIN="

flags=(--run-dir "$base" --name "$name" --training-name "$training" --net "$kind" "--gating=$([ "$gating" = 1 ] && echo true || echo false)"
	--games-per-cycle "$NUM_GAMES_PER_CYCLE" --samples-per-epoch "$NUM_TRAIN_SAMPLES_PER_EPOCH" --samples-per-cycle "$NUM_TRAIN_SAMPLES_PER_CYCLE"
	--max-train-bucket-per-new-data "$MAX_TRAIN_PER_DATA" --batch-size "$BATCHSIZE" --min-rows "$SHUFFLE_MINROWS"
	--keep-target-rows "$SHUFFLE_KEEPROWS" --taper-window-scale "$TAPER_WINDOW_SCALE" --rating-games "$RATING_GAMES")
[ "$NUM_TRAIN_SAMPLES_PER_SWA" = 0 ] || flags+=(--swa-period $(((NUM_TRAIN_SAMPLES_PER_SWA + BATCHSIZE - 1) / BATCHSIZE)) --export-weights swa)
[ -z "${CONFIG:-}" ] || flags+=(--config "$CONFIG")
config=$("$program" run "${flags[@]}" "$@" --print-config) || exit $?
# What training would refuse must not be found out after hours of play.
for word; do
	case $word in
	-dry-run | --dry-run | --dry-run=[1tT]*) exec "$program" run "${flags[@]}" "$@" ;; # says what it would do
	esac
done
"$program" run "${flags[@]}" "$@" --dry-run >/dev/null || exit $?

# Two scripts of one run, or one and the stage of another that was killed: the second waits.
mkdir -p "$base/locks" "$base/models" "$base/selfplay" "$base/dated"
exec 9>"$base/locks/synchronous_loop"
if command -v flock >/dev/null && ! flock -n 9; then
	say "another start, or a stage that it left behind, still works in $base; waiting for its end (chessbrain status $base)"
	flock 9
	"$program" run "${flags[@]}" "$@" --dry-run >/dev/null || exit $? # the other may have begun the run
fi

# The snapshot. A program that an earlier one has is not stored again.
dated=$base/dated/$(date -u +%Y%m%d-%H%M%S)
mkdir "$dated" 2>/dev/null || { dated=$dated-$$ && mkdir "$dated"; }
printf '%s\n' "$config" >"$dated/config.textproto"
cp "$here/$(basename "$0")" "$dated/"
"$program" version >"$dated/version.txt"
rm -f "$base"/dated/.chessbrain.*
for old in "$base"/dated/*/chessbrain; do
	if cmp -s "$program" "$old"; then
		ln "$old" "$dated/chessbrain" 2>/dev/null || true
		break
	fi
done
if [ ! -e "$dated/chessbrain" ]; then
	cp "$program" "$base/dated/.chessbrain.$$"
	mv "$base/dated/.chessbrain.$$" "$dated/chessbrain"
fi
program=$dated/chessbrain
say "run $name in $base, snapshot $dated"

child='' signals=0

# told passes a stop on to the stage under way.
# shellcheck disable=SC2317 # called by the trap
told() {
	signals=$((signals + 1))
	[ "$signals" -gt 1 ] || say "stopping: the stage under way saves its work (once more to end at once)"
	[ -z "$child" ] || kill -TERM "$child" 2>/dev/null || true
}
trap told INT TERM

# stage does a stage to its end, whatever signals come, unless the journal says that it has ended in this cycle. It is a
# process group of its own: a Ctrl-C reaches this script alone. It fails where the stage wants more games first.
stage() { # name
	[ "$signals" = 0 ] || exit 5
	say "$1"
	set -m
	"$program" run --config "$dated/config.textproto" --stage "$1" </dev/null &
	child=$!
	set +m
	[ "$signals" = 0 ] || kill -TERM "$child" 2>/dev/null || true
	until
		code=0
		wait "$child" || code=$?
		[ "$code" -le 128 ] || ! kill -0 "$child" 2>/dev/null # else a signal ended the wait
	do :; done
	child=''
	[ "$signals" = 0 ] || [ "$code" != 143 ] || code=5 # told before it could listen: it had not begun
	case $code in
	0) return 0 ;;
	6) return 1 ;;
	7) exit 0 ;; # a stop condition holds
	[1-4]) say "$1 ended with $code: mend what it says above, then start again" ;;
	*) say "$1 ended with $code; the same command goes on" ;;
	esac
	exit "$code"
}

while :; do
	stage gatekeeper
	stage rating
	until stage selfplay && GOMAXPROCS=$NUM_THREADS_FOR_SHUFFLING stage shuffle; do :; done # too few rows: play on
	stage train
	stage export
	stage gc
done
}
