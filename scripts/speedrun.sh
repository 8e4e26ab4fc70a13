#!/usr/bin/env bash
# Trains the sparse net of configs/speedrun.textproto from random weights, an hour on two cores. Then a fresh net learns
# from the newest games, in RUN_DIR-anew (configs/anew.textproto), where there are enough. It climbs the ladder: scores
# against opponents that never change (docs/SPEEDRUN.md has the board of such runs).
# usage: scripts/speedrun.sh [RUN_DIR] [flags of chessbrain train...]     (default: runs/speedrun)
# A run that was stopped goes on; one that is done is only measured. CHESSBRAIN names another binary than
# bin/chessbrain, which is built with GO=go. Stockfish should be there: without it the ladder has only the lowest rungs.
#   STRETCH=1                how long, in the recipe's length: 0.15 takes ten minutes
#   LIMITS=1,100,400,100ms   how the net plays on the ladder: visits or time of a move
#   ERROR=25                 the rating's 95 % interval that ends a climb, in Elo
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
run=${1:-runs/speedrun}
[ $# = 0 ] || shift
case $run in -*) echo "speedrun: \"$run\" is no run directory; usage: scripts/speedrun.sh [RUN_DIR] [flags...]" >&2; exit 2 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${CHESSBRAIN:-}" ]; then
	CHESSBRAIN=$root/bin/chessbrain
	(cd "$root" && CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$CHESSBRAIN" ./cmd/chessbrain)
fi
stretch=${STRETCH:-1}
"$CHESSBRAIN" train --config "$root/configs/speedrun.textproto" --stretch "$stretch" --run-dir "$run" "$@"
anew=${run%/}-anew
rows=$(awk -v s="$stretch" 'BEGIN { printf "%d", 14000000 * s }') # what configs/anew.textproto is made for
if ! compgen -G "$anew/shuffled/2*" > /dev/null; then
	code=0
	"$CHESSBRAIN" shuffle --input-dir "$run/selfplay" --output-dir "$anew/shuffled" --min-rows $rows --max-rows $rows --ahead --st-theta 0.8 || code=$?
	[ $code = 0 ] || [ $code = 6 ] || exit $code
fi
if compgen -G "$anew/shuffled/2*" > /dev/null; then
	"$CHESSBRAIN" train --config "$root/configs/anew.textproto" --stretch "$stretch" --run-dir "$anew"
	player=$anew
else
	echo "speedrun: too few games to learn anew; the ladder takes the run's own net" >&2
	player=$run
fi
"$CHESSBRAIN" exam values "$run" || echo "speedrun: the values were not examined, see above; the ladder goes on" >&2
"$CHESSBRAIN" ladder "$player" --limits "${LIMITS:-1,100,400,100ms}" --error "${ERROR:-25}"
