#!/usr/bin/env bash
# Trains a small net on three-men endings from nothing and examines it against exact values, once for each seed.
# usage: scripts/endgames.sh [SEED...]     (default: 1 2 3; some ten minutes each on two cores)
# Runs lie in runs/endgames-SEED (RUNS names another parent); a run that was stopped goes on. CHESSBRAIN names another binary.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
for seed; do
	[[ $seed =~ ^[0-9]{1,18}$ ]] || { echo "endgames: \"$seed\" is no seed; usage: scripts/endgames.sh [SEED...]" >&2; exit 2; }
done
[[ ${RUNS:-} != -* ]] || { echo "endgames: RUNS=$RUNS is no directory" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${CHESSBRAIN:-}" ]; then
	CHESSBRAIN=$root/bin/chessbrain
	(cd "$root" && go build -o "$CHESSBRAIN" ./cmd/chessbrain)
fi
runs=${RUNS:-runs}
mkdir -p "$runs"
[ $# -gt 0 ] || set -- 1 2 3
for seed in "$@"; do
	starts=$runs/endgames-$seed.txt
	[ -f "$starts" ] || "$CHESSBRAIN" exam starts --staged --count 40000 --seed "$seed" -o "$starts"
	"$CHESSBRAIN" train --config "$root/configs/endgames.textproto" --openings "$starts" --seed "$seed" --run-dir "$runs/endgames-$seed"
	"$CHESSBRAIN" exam measure "$runs/endgames-$seed" --seed "$seed"
done
