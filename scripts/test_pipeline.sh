#!/usr/bin/env bash
# Runs all steps of chessbrain pipeline on 20 games with a tiny net, holds what they leave against what they should, and
# a sweep of two learning rates on the rows.
#
# usage: scripts/test_pipeline.sh [DIR]
#   DIR  directory to work in, new or empty; it is kept (default: a temporary one, removed at the end)
#
# Exit codes: 0 all is well; 1 something is not, and the last line says what; 2 nothing was started.
#
# Settings come from the environment:
#   CHESSBRAIN  the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done

refuse() {
	echo "test_pipeline: $*" >&2
	exit 2
}
fail() {
	echo "test_pipeline: FAILED: $*" >&2
	exit 1
}

[[ $# -le 1 && ${1:-} != -* ]] || refuse "usage: scripts/test_pipeline.sh [DIR]"
here=$(cd "$(dirname "$0")/.." && pwd)
program=${CHESSBRAIN:-$here/bin/chessbrain}
[ -x "$program" ] || program=$(command -v chessbrain) || refuse "no program: build it (go build -o bin/chessbrain ./cmd/chessbrain) or name it with CHESSBRAIN"
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")

if [ $# -eq 1 ]; then
	mkdir -p "$1"
	[ -z "$(ls -A "$1")" ] || refuse "$1 is not empty: name a new directory"
	cd "$1"
else
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cd "$work"
fi

# there fails unless exactly the number of paths is there.
there() { # number path...
	local want=$1 have=0 path
	shift
	for path in "$@"; do [ ! -e "$path" ] || have=$((have + 1)); done
	[ "$have" -eq "$want" ] || fail "$have of $want are there: $*"
}

cat >tiny.textproto <<'CONFIG'
model { net: "16x1" }
selfplay { max_plies: 12 }
training { batch_size: 16 validation { share: 0.2 } }
CONFIG

run() { "$program" pipeline "$@" --config tiny.textproto; }

echo "dry run: nothing is made"
run --num-games 20 --dry-run >plan.txt
there 0 data logs checkpoints

echo "all steps on 20 games"
run --num-games 20 --num-workers 3 --visits 8 --seed 4 --chunk-size 8 --num-buckets-shuffle 4 --quiet --json >run.json
grep -q '"done":true,"log":' run.json || fail "the run is not done: $(cat run.json)"
there 3 data/selfplay_*/worker_*
there 1 data/selfplay_*/pipeline.json
there 1 data/processed/shuffled_*/pipeline.json
there 1 data/processed/shuffled_*/*/train.json
there 1 logs/pipeline_*.log
there 2 checkpoints/pipeline/run_*/models/*.safetensors
there 0 data/cleaned/run_* data/processed/run_* data/processed/temp_buckets_*
"$program" verify data checkpoints >verified.txt || fail "what was written has faults: $(cat verified.txt)"

echo "the same games again, step by step, with the last position of each"
games=$(echo data/selfplay_*)
run preprocess --selfplay-dir "$games" --chunk-size 8 --no-cleanup --base-data-dir steps --quiet
run process --selfplay-dir "$(echo steps/cleaned/run_*)" --position-selector final --no-cleanup --base-data-dir steps --quiet
run shuffle --selfplay-dir "$(echo steps/processed/run_*)" --num-buckets-shuffle 2 --base-data-dir steps --quiet
run train --existing-shuffled-data-dir "$(echo steps/processed/shuffled_*)" --base-data-dir steps --quiet
there 3 steps/cleaned/run_*/*.games
there 1 steps/processed/run_*/*.games
there 1 "$games"/pipeline.json

echo "a step without input fails"
mkdir empty
code=0
run --selfplay-dir empty --base-data-dir none --quiet 2>refused.txt || code=$?
[ "$code" -eq 2 ] || fail "exit code $code, want 2"
grep -q 'no input: empty' refused.txt || fail "the message does not name the directory: $(cat refused.txt)"
there 0 none

echo "a sweep of two learning rates"
run sweep --grid lr=0.01,0.001 --results-dir sweep --data "$(echo data/processed/shuffled_*)" --quiet
there 4 sweep/best/run.json sweep/sweep.csv sweep/lr-0.01/trial.json sweep/lr-0.001/trial.json
echo "test_pipeline: all is well"
