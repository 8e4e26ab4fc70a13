#!/usr/bin/env bash
# One training cycle, configured by environment variables:
#   EPISODES BATCH_SIZE CHECKPOINT_INTERVAL EXPLORATION_RATE SEED GRAD_ACCUM_STEPS MCTS_SIMULATIONS MCTS_CPUCT
#   PRODUCER_WORKERS PRODUCER_QUEUE_SIZE PRODUCER_DEVICE NO_AMP MODEL_CHECKPOINT_DIR TENSORBOARD_LOG_DIR
# chessbrain reads them itself; arguments are passed on and win over them.
#   EPISODES=200 GRAD_ACCUM_STEPS=4 scripts/demo/run_training_cycle.sh --run-dir runs/demo
# CHESSBRAIN names another binary.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${CHESSBRAIN:-}" ]; then
	CHESSBRAIN=$root/bin/chessbrain
	(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$CHESSBRAIN" ./cmd/chessbrain)
fi
exec "$CHESSBRAIN" train "$@"
