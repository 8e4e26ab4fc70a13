#!/usr/bin/env bash
# Checks against Leela's own programs that nets and games go both ways:
#  1. lc0 loads our net in each encoding, and evaluates positions as we do the exported file (V within 2e-4, M 0.1,
#     P 0.02 points and 0.3 % of it);
#  2. Leela's rescorer reads the games that we record as V6 chunks, all positions of them;
#  3. the games that lc0 plays and records are read with its moves.
#
# usage: scripts/check_lc0.sh LC0 [RESCORER SYZYGY_DIR]     both built from Leela's sources (-Drescorer=true for the second)
#   NET=file, run, or random-weights:SEED:ARCH (default random-weights:1:32x4; attention nets, too)   BACKEND=eigen (or blas)
#   GAMES=20   ENCODINGS="linear16 float16 bfloat16 float32" (lc0 before 0.33 has the first alone)
#   CHESSBRAIN=path of the program (default: built here, with GO=go)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
cd "$(dirname "$0")/.."
[[ ($# = 1 || $# = 3) && $1 != -* && ${2:-} != -* && ${3:-} != -* ]] || { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2; }
lc0=$1 rescorer=${2:-} syzygy=${3:-}
net=${NET:-random-weights:1:32x4} backend=${BACKEND:-eigen} games=${GAMES:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=${CHESSBRAIN:-$work/chessbrain}
[ -n "${CHESSBRAIN:-}" ] || "${GO:-go}" build -o "$program" ./cmd/chessbrain
positions=("startpos" "startpos moves e2e4 e7e5 g1f3 b8c6" "startpos moves g1f3 g8f6 f3g1 f6g8"
	"fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1" "fen 8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 40 60")

# ours prints "move P" lines, and V and M, of a net file in a position.
ours() { # file position
	"$program" probe --net "$1" --position "$2" | awk '
		$1 == "V" || $1 == "M" { print $1, $2 + 0 }
		NF == 4 && $4 == "%" { print $1, $3 }'
}

# theirs prints the same of lc0. The net that needs one evaluation has answered long before the end of input.
theirs() { # file position
	{
		printf 'position %s\ngo nodes 1\n' "$2"
		while ! grep -q bestmove "$work/theirs" 2>/dev/null; do sleep 0.1; done
		echo quit
	} | "$lc0" --weights="$1" --backend="$backend" --policy-softmax-temp=1 --verbose-move-stats --history-fill=no --threads=1 2>/dev/null |
		tee "$work/theirs" | sed -nE 's/^info string node .*\(M: *([0-9.]+)\).*\(V: *([-0-9.]+)\).*/M \1\nV \2/p; s/^info string ([a-h][1-8][a-h][1-8][qrbn]?) .*\(P: *([0-9.]+)%\).*/\1 \2/p'
	rm "$work/theirs"
}

for encoding in ${ENCODINGS:-linear16 float16 bfloat16 float32}; do
	file=$work/$encoding.pb.gz
	"$program" export-net "$net" --out "$file" --encoding "$encoding" >/dev/null
	for position in "${positions[@]}"; do
		join <(ours "$file" "$position" | sort) <(theirs "$file" "$position" | sort) | awk -v what="$encoding, $position" '
			{
				# What is printed is rounded; the softmax of lc0 has an exponential that is exact to some 0.2 %.
				limit = $1 == "V" ? 2.01e-4 : $1 == "M" ? 0.101 : 0.0201 + 0.003 * $3
				d = $2 - $3
				if (d < 0) d = -d
				if (d > limit) { print "check_lc0: " what ": " $1 " is " $2 ", lc0 says " $3; bad = 1 }
				if ($1 == "V" || $1 == "M") heads++; else moves++
			}
			END {
				if (heads != 2 || moves < 10) { print "check_lc0: " what ": " moves + 0 " moves and " heads + 0 " of V and M in common"; bad = 1 }
				exit bad
			}'
	done
	echo "check_lc0: lc0 loads $encoding and evaluates ${#positions[@]} positions as we do"
done

if [ -n "$rescorer" ]; then
	mkdir "$work/models" "$work/chunks" "$work/rescored"
	"$program" export-net "$net" --out "$work/models/net.safetensors" >/dev/null
	"$program" selfplay --models-dir "$work/models" --output-dir "$work/own" --max-games-total "$games" --mcts-simulations 16 --max-plies 200 --lc0-chunks --quiet >/dev/null
	find "$work/own" -name 'game_*.gz' -exec mv {} "$work/chunks" \;
	want=$("$program" result-distribution --json "$work/chunks" | tr -d '\n' | sed -E 's/.*"rows": *([0-9]+).*/\1/')
	"$rescorer" rescore --input="$work/chunks" --output="$work/rescored" --no-delete-files --syzygy-paths="$syzygy" >"$work/log" 2>&1
	got=$(sed -n 's/^Positions processed: //p' "$work/log")
	[[ $want -gt 0 && $got = "$want" ]] || { echo "check_lc0: the rescorer read $got of $want positions"; exit 1; }
	echo "check_lc0: Leela's rescorer reads $games games of ours, $got positions"
fi

# Older engines write their games to where they stand, and say so from there.
lc0=$(realpath "$(command -v "$lc0")") program=$(realpath "$(command -v "$program")")
cd "$work"
HOME=$work XDG_CACHE_HOME=$work/cache "$lc0" selfplay --weights="$work/linear16.pb.gz" --backend="$backend" --games="$games" --training=true --visits=10 --parallelism=4 \
	--noise-epsilon=0.25 --temperature=1 2>/dev/null | sed -nE 's/^gameready trainingfile ([^ ]+) .* moves (.*)/\1\t\2/p' >"$work/played"
read=0
while IFS=$'\t' read -r file moves; do
	# What a record holds is the move that was played from it: the moves of the game, in order.
	mapfile -t own < <("$program" dump-chunk --json "$file" | sed -nE 's/^\{"record":[0-9]+,"fen":"[^"]*","move":"([^"]+)".*/\1/p')
	read -ra played <<<"$moves"
	for i in "${!played[@]}"; do # we castle by taking the rook, lc0 may go two squares
		case ${own[i]:-}/${played[i]} in e1h1/e1g1 | e1a1/e1c1 | e8h8/e8g8 | e8a8/e8c8) played[i]=${own[i]} ;; esac
	done
	[ "${own[*]}" = "${played[*]}" ] || { echo "check_lc0: $file: lc0 played $moves, we read ${own[*]}"; exit 1; }
	read=$((read + 1))
done <"$work/played"
[ "$read" -ge $((games / 2)) ] || { echo "check_lc0: lc0 recorded $read games"; exit 1; }
echo "check_lc0: $read games of lc0's are read with its moves"
