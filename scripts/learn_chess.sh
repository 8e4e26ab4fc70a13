#!/usr/bin/env bash
# Learns chess from the normal start and from random weights, about an hour on two cores, and then measures what was
# learnt in matches of 100 visits a move from varied openings.
# usage: scripts/learn_chess.sh [RUN_DIR] [flags of chessbrain train...]     (default: runs/chess)
# A run that was stopped goes on; one that is done is only measured. CHESSBRAIN names another binary than
# bin/chessbrain, which is built with GO=go.
#   GAMES=200   games of a match, in pairs of one opening; 100 against random moves
#   CURVE=40    games of each match of an earlier checkpoint against the first net and the greedy player; 0 = none
#   SEARCH="--gumbel --gumbel-value-scale 2"   flags of all matches: the search that the net was trained with
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
run=${1:-runs/chess}
[ $# = 0 ] || shift
case $run in -*) echo "learn_chess: \"$run\" is no run directory; usage: scripts/learn_chess.sh [RUN_DIR] [flags...]" >&2; exit 2 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${CHESSBRAIN:-}" ]; then
	CHESSBRAIN=$root/bin/chessbrain
	(cd "$root" && "${GO:-go}" build -o "$CHESSBRAIN" ./cmd/chessbrain)
fi
games=${GAMES:-200} curve=${CURVE:-40}
read -ra search <<<"${SEARCH---gumbel --gumbel-value-scale 2}"
"$CHESSBRAIN" train --config "$root/configs/chess.textproto" --run-dir "$run" "$@"

mapfile -t checkpoints < <(cd "$run/train/main/checkpoints" && printf '%s\n' *_step[0-9]* | sort)
first=${checkpoints[0]} last=${checkpoints[-1]} dir=$run/train/main/checkpoints
step() { echo $((10#${1##*_step})); }
[ "$(step "$first")" = 0 ] || { echo "learn_chess: the first checkpoint is gone ($first is the oldest)" >&2; exit 1; }
# at prints the newest checkpoint that has at most a share of the steps, in thousandths.
at() {
	local found=$first c
	for c in "${checkpoints[@]}"; do
		(($(step "$c") * 1000 > $(step "$last") * $1)) || found=$c
	done
	echo "$found"
}
match() { # file, player 1, player 2, games
	"$CHESSBRAIN" match --player1 "$2" --player2 "$3" --games "$4" --visits 100 "${search[@]}" --log none --pgn "$run/$1.pgn" >"$run/$1.txt" 2>>"$run/matches.log"
	printf '%-34s %s\n' "${2##*/} - ${3##*/}" "$(sed -n 's/^result *//p; s/^Elo *\(.*\)/  Elo \1/p' "$run/$1.txt" | tr -d '\n')"
}
echo "matches of $last (100 visits a move${search[*]:+, ${search[*]}}):"
match match-random "$dir/$last" random 100
match match-first "$dir/$last" "$dir/$first" "$games"
match match-third "$dir/$last" "$dir/$(at 333)" "$games"
match match-greedy "$dir/$last" greedy "$games"
if [ "$curve" -gt 0 ]; then
	echo "earlier checkpoints against the first net and the greedy player:"
	shown=$first # a short run has few
	for share in 50 100 200 333 500 667 833 1000; do
		c=$(at $share)
		if [ "$c" != "$shown" ]; then
			match "curve-$share" "$dir/$c" "$dir/$first" "$curve"
			match "curve-$share-greedy" "$dir/$c" greedy "$curve"
		fi
		shown=$c
	done
fi
