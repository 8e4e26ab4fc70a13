#!/usr/bin/env bash
# Trains one net twice on the same rows of a recorded run, in fp32 (--no-amp) and in
# bf16 (--amp), and compares the losses: along the way, and the means of the last
# steps. Exits 1 where a final loss differs by more than 1 %.
#
# usage: scripts/precision_curves.sh RUN     RUN is a run directory with finished games
#   STEPS=2000  LAST=200 (steps that the final losses are means of)  SEED=1  NET=64x6
#   BATCH=64  CHESSBRAIN=path of the program (default: built here, with GO=go)
#   OUT=directory that keeps the two runs (default: a temporary one)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
if [[ $# != 1 || $1 = -* || ${OUT:-} = -* || ! -d $1/selfplay ]]; then
	echo "usage: scripts/precision_curves.sh RUN (a run directory with games)" >&2
	exit 2
fi
games=$(cd "$1/selfplay" && pwd)
steps=${STEPS:-2000} last=${LAST:-200} net=${NET:-64x6} batch=${BATCH:-64} seed=${SEED:-1}
count=$(wc -l <"$1/journal")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=${OUT:-$work}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."
program=${CHESSBRAIN:-$work/chessbrain}
[ -n "${CHESSBRAIN:-}" ] || "${GO:-go}" build -o "$program" ./cmd/chessbrain
[[ $("$program" version) == *"bf16 products: yes"* ]] || { echo "precision_curves: this CPU has no bf16 products: nothing to compare" >&2; exit 2; }

# The games enter one after the other, in a fixed order, and a fixed number of
# steps follows each: both runs see the same rows.
echo "training { steps_per_episode: $(((steps + count - 1) / count)) }" >"$work/config.textproto"
for side in fp32:--no-amp bf16:--amp; do
	"$program" train --config "$work/config.textproto" --source dir --source-dir "$games" --run-dir "$out/${side%%:*}" --job-id curve \
		--net "$net" --batch-size "$batch" --steps "$steps" --seed "$seed" --checkpoint-steps "$steps" --quiet "${side#*:}" >"$out/${side%%:*}.txt"
done

# losses prints "name step value" of all training steps, the objective as "loss".
losses() { # fp32|bf16
	sed -n '/"type":"step"/{s/.*"step":\([0-9]*\).*"losses":{\([^}]*\)},"loss":\([^,]*\),.*/\1 "loss":\3,\2/p;}' \
		"$out/$1/metrics/curve/metrics.jsonl" | tr -d '"' | awk '{ n = split($2, part, ","); for (i = 1; i <= n; i++) { split(part[i], kv, ":"); print kv[1], $1, kv[2] } }'
}
losses fp32 >"$work/losses.fp32"
losses bf16 >"$work/losses.bf16"
for side in fp32 bf16; do
	n=$(grep -c '^loss ' "$work/losses.$side")
	[ "$n" = "$steps" ] || { echo "precision_curves: $n of $steps steps of the $side run are in its metrics" >&2; exit 1; }
done
echo "$net, batch $batch, $steps steps on $count games, seed $seed"
awk -v steps="$steps" -v last="$last" '
	FNR == 1 { side++ }
	$1 == "loss" { tenth = int(($2 - 1) * 10 / steps); sum[side, tenth] += $3; if (side == 1) num[tenth]++ }
	$2 > steps - last { final[side, $1] += $3 / last; if (side == 1 && !($1 in seen)) { seen[$1]; name[++names] = $1 } }
	function off(a, b) { return a == b ? 0 : 100 * (b - a) / (a < 0 ? -a : a) }
	END {
		printf "%-24s %10s %10s %10s\n", "mean objective of steps", "fp32", "bf16", "change"
		for (t = 0; t < 10; t++) if (num[t])
			printf "%8d ..%8d      %10.5f %10.5f %+9.3f%%\n", t * steps / 10 + 1, (t + 1) * steps / 10, sum[1, t] / num[t], sum[2, t] / num[t], off(sum[1, t], sum[2, t])
		printf "%-24s %10s %10s %10s\n", "mean of the last " last, "fp32", "bf16", "change"
		for (i = 1; i <= names; i++) {
			d = off(final[1, name[i]], final[2, name[i]])
			worst = d > worst ? d : -d > worst ? -d : worst
			printf "%-24s %10.5f %10.5f %+9.3f%%\n", name[i], final[1, name[i]], final[2, name[i]], d
		}
		printf "largest difference of a final loss: %.3f %% (want 1 %% at most)\n", worst
		exit worst > 1
	}' "$work/losses.fp32" "$work/losses.bf16"
