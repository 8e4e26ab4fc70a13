#!/usr/bin/env bash
# Trains the sparse net of configs/speedrun.textproto from random weights, an hour on two cores. Then a fresh net learns
# from the newest games, in RUN_DIR-anew (configs/anew.textproto), where there are enough. It climbs the ladder: scores
# against opponents that never change (docs/SPEEDRUN.md has the board of such runs).
# usage: scripts/speedrun.sh [RUN_DIR] [flags of chessbrain train...]     (default: runs/speedrun)
# A run that was stopped goes on; one that is done is only measured. CHESSBRAIN names another binary than
# bin/chessbrain, which is built with GO=go. Stockfish should be there: without it the ladder has only the lowest rungs.
#   STRETCH=1                how long, in the recipe's length: 0.15 takes ten minutes
#   GENERATIONS=1            of nets that learn anew. Before each but the first, the one before plays on for half an hour,
#                            37 000 games of 200 visits, in RUN_DIR-anew2, -anew3 and so on
#   LIMITS=1,100,400,100ms   how the net plays on the ladder: visits or time of a move
#   ERROR=25                 the rating's 95 % interval that ends a climb, in Elo
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
run=${1:-runs/speedrun}
[ $# = 0 ] || shift
case $run in -*) echo "speedrun: \"$run\" is no run directory; usage: scripts/speedrun.sh [RUN_DIR] [flags...]" >&2; exit 2 ;; esac
[[ ${GENERATIONS:-1} =~ ^[1-9][0-9]{0,3}$ ]] || { echo "speedrun: GENERATIONS=$GENERATIONS is no number from 1 on" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${CHESSBRAIN:-}" ]; then
	CHESSBRAIN=$root/bin/chessbrain
	(cd "$root" && "${GO:-go}" build -o "$CHESSBRAIN" ./cmd/chessbrain)
fi
stretch=${STRETCH:-1}
times() { awk -v s="$stretch" -v n="$1" 'BEGIN { printf "%d", s * n }'; }
# choose RUN MILLIONS DIR...: shuffles the newest rows of the games in the directories, if there are so many.
choose() {
	local to=$1 rows inputs=() code=0
	rows=$(times "${2}000000")
	shift 2
	for dir; do inputs+=(--input-dir "$dir/selfplay"); done
	! chosen "$to" || return 0
	"$CHESSBRAIN" shuffle "${inputs[@]}" --output-dir "$to/shuffled" --min-rows "$rows" --max-rows "$rows" --ahead --st-theta 0.8 || code=$?
	[ $code = 0 ] || [ $code = 6 ] || exit $code
}
chosen() { compgen -G "$1/shuffled/2*" > /dev/null; }
# learn RUN MILLIONS NET: a fresh net learns from the rows that were chosen; configs/anew.textproto is made for 14 million.
learn() {
	"$CHESSBRAIN" train --config "$root/configs/anew.textproto" --stretch "$(awk -v s="$stretch" -v m="$2" 'BEGIN { print s * m / 14 }')" --net "$3" --run-dir "$1"
}
"$CHESSBRAIN" train --config "$root/configs/speedrun.textproto" --stretch "$stretch" --run-dir "$run" "$@"
player=${run%/}-anew
games=("$run")
choose "$player" 14 "$run"
if chosen "$player"; then
	learn "$player" 14 sparse128
	for ((g = 2; g <= ${GENERATIONS:-1}; g++)); do
		to=${run%/}-anew$g
		"$CHESSBRAIN" selfplay --config "$root/configs/speedrun.textproto" --mcts-simulations 200 --max-plies 300 --seed "$g" \
			--models-dir "$player/models" --run-dir "$to" --output-dir "$to/selfplay" --max-games-total "$(times 37000)"
		games+=("$to")
		net=sparse128
		[ "$g" -lt 3 ] || net=sparse256 # with fewer games of 200 visits it is no better
		choose "$to" $((12 + 2 * g)) "${games[@]}"
		learn "$to" $((12 + 2 * g)) $net
		player=$to
	done
else
	echo "speedrun: too few games to learn anew; the ladder takes the run's own net" >&2
	player=$run
fi
"$CHESSBRAIN" exam values "$run" || echo "speedrun: the values were not examined, see above; the ladder goes on" >&2
"$CHESSBRAIN" ladder "$player" --limits "${LIMITS:-1,100,400,100ms}" --error "${ERROR:-25}"
