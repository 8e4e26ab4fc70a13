#!/usr/bin/env bash
# Trains again and again from one seed, in turns: with a rescorer and a sampler that are built in, and with the same two
# as plugins. Prints the positions/s of each, and per CPU-second of all processes, and how the plugins' compare: the
# median ratio of all pairs with the lowest and the highest. Exits 1 where that of positions/s is below 0.95. Positions/s
# mean something on a machine that has nothing else to do; those per CPU-second do on a busy one, too.
#
# usage: scripts/bench_plugins.sh     settings come from the environment:
#   PAIRS=5  EPISODES=120  NET=32x4  SIMULATIONS=32  MAX_PLIES=120  SEED=1
#   WORKERS=0 (producers; with 0 both sides play the very same games, with more their lengths differ by chance)
#   RESCORER=deblunder  SAMPLER=uniform
#   CHESSBRAIN=path of the program, PLUGINS=directory of the plugins (default: both are built here, with GO=go)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
[ $# = 0 ] || { echo "bench_plugins: \"$*\": there are no arguments; --help says which variables there are" >&2; exit 2; }
cd "$(dirname "$0")/.."
pairs=${PAIRS:-5} episodes=${EPISODES:-120} net=${NET:-32x4} simulations=${SIMULATIONS:-32} plies=${MAX_PLIES:-120}
seed=${SEED:-1} workers=${WORKERS:-0} rescorer=${RESCORER:-deblunder} sampler=${SAMPLER:-uniform}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=${CHESSBRAIN:-$work/chessbrain} plugins=${PLUGINS:-$work/plugins}
[ -n "${CHESSBRAIN:-}" ] || "${GO:-go}" build -o "$program" ./cmd/chessbrain
if [ -z "${PLUGINS:-}" ]; then
	umask go-w # chessbrain refuses plugins that others can write
	mkdir "$plugins"
	for name in "$rescorer" "$sampler"; do "${GO:-go}" build -o "$plugins/$name" "./plugins/$name"; done
fi
plugins=$(cd "$plugins" && pwd)
unset CHESSBRAIN_PLUGIN_DIR # else the built-in side would find plugins, too

# rate trains a fresh run and prints its positions/s and its positions per CPU-second.
rate() { # side [flags...]
	local side=$1 TIMEFORMAT='%U %S'
	shift
	rm -rf "$work/run"
	{
		time "$program" train --run-dir "$work/run" --job-id bench --net "$net" --mcts-simulations "$simulations" --max-plies "$plies" \
			--episodes "$episodes" --checkpoint-interval "$episodes" --producer-workers "$workers" --seed "$seed" \
			--rescorer "$rescorer" --sampler "$sampler" --quiet "$@" >"$work/$side.txt" 2>&3
	} 3>&2 2>"$work/cpu"
	local positions speed
	positions=$(sed -n 's/^Done: .* episodes, \([0-9]*\) positions,.*/\1/p' "$work/$side.txt")
	speed=$(sed -n 's/^Speed: \([0-9]*\) positions.*/\1/p' "$work/$side.txt")
	[[ $positions -gt 0 && $speed -gt 0 ]] || { echo "bench_plugins: a run ($side) says no speed" >&2; return 1; }
	awk -v positions="$positions" -v speed="$speed" '{ printf "%d %d\n", speed, positions / ($1 + $2) }' "$work/cpu"
}

# external trains with the plugins, and fails unless both were started as such.
external() {
	rate plugins --plugin-dir "$plugins" || return 1
	local name
	for name in "$rescorer" "$sampler"; do
		grep -hqF "$plugins/$name, SHA-256 " "$work"/run/logs/*.log || { echo "bench_plugins: the run's log does not say that $plugins/$name was used" >&2; return 1; }
	done
}

echo "$("$program" version | head -n 1): $net, $simulations simulations, $episodes episodes, rescorer $rescorer, sampler $sampler, seed $seed"
rate built-in >/dev/null # not counted: the file system and the CPU warm up
printf '%4s %10s %10s %8s %14s %10s %8s\n' pair built-in plugins ratio "built-in, CPU" plugins ratio
for ((i = 1; i <= pairs; i++)); do
	if ((i % 2)); then
		own=$(rate built-in)
		other=$(external)
	else
		other=$(external)
		own=$(rate built-in)
	fi
	awk -v i="$i" '{ printf "%4d %10d %10d %8.3f %14d %10d %8.3f\n", i, $1, $3, $3 / $1, $2, $4, $4 / $2 }' <<<"$own $other" | tee -a "$work/pairs"
done

# median prints the middle, the least and the greatest of a column, and the number of lines.
median() { # column
	sort -g -k "$1,$1" "$work/pairs" | awk -v column="$1" '
		{ ratio[NR] = $column }
		END {
			middle = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
			printf "%.3f %.3f %.3f %d\n", middle, ratio[1], ratio[NR], NR
		}'
}
median 7 | awk '{ printf "positions per CPU-second: median ratio %.3f (%.3f .. %.3f) of %d pairs\n", $1, $2, $3, $4 }'
median 4 | awk '{ printf "positions/s: median ratio %.3f (%.3f .. %.3f) of %d pairs; want 0.95 at least\n", $1, $2, $3, $4; exit $1 < 0.95 }'
