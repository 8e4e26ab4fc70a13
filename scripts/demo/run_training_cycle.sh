#!/usr/bin/env bash
# One training cycle, configured by environment variables:
#   EPISODES BATCH_SIZE CHECKPOINT_INTERVAL EXPLORATION_RATE SEED GRAD_ACCUM_STEPS MCTS_SIMULATIONS MCTS_CPUCT
#   PRODUCER_WORKERS PRODUCER_QUEUE_SIZE PRODUCER_DEVICE NO_AMP MODEL_CHECKPOINT_DIR TENSORBOARD_LOG_DIR
# chessbrain reads them itself; arguments are those of chessbrain train (its --help has them) and win over them.
#
# usage: scripts/demo/run_training_cycle.sh [flags of chessbrain train...]
#   EPISODES=200 GRAD_ACCUM_STEPS=4 scripts/demo/run_training_cycle.sh --run-dir runs/demo
# CHESSBRAIN names another binary.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
[[ $# = 0 || $1 = --* ]] || { echo "run_training_cycle: \"$1\" is no flag of chessbrain train" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${CHESSBRAIN:-}" ]; then
	CHESSBRAIN=$root/bin/chessbrain
	(cd "$root" && go build -o "$CHESSBRAIN" ./cmd/chessbrain)
fi
exec "$CHESSBRAIN" train "$@"
