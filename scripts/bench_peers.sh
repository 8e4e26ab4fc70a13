#!/usr/bin/env bash
# Measures chessbrain and PyTorch (Debian's python3-torch) on the same nets in the
# same run, alternating, and prints how many times faster chessbrain is: the median
# ratio of all pairs with the lowest and the highest. Above 1 chessbrain is ahead.
#
# usage: scripts/bench_peers.sh     settings come from the environment:
#   PAIRS=7  NETS="64x6 128x10"  BATCHES="1 8 64" (inference)  TRAIN_BATCHES="64 256"
#   PRECISIONS="fp32 bf16" (PyTorch's)  THREADS=1  SECONDS_EACH=1  TIER=auto
#   PYTHON=python3  CHESSBRAIN=path of the program (default: built here)
#
# For PyTorch held to AVX2 set TIER=avx2 ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2.
set -euo pipefail
cd "$(dirname "$0")/.."
pairs=${PAIRS:-7} nets=${NETS:-64x6 128x10} batches=${BATCHES-1 8 64} train_batches=${TRAIN_BATCHES-64 256}
precisions=${PRECISIONS:-fp32 bf16} threads=${THREADS:-1} seconds=${SECONDS_EACH:-1} tier=${TIER:-auto}
python=${PYTHON:-python3}

if ! reason=$("$python" -c 'import torch' 2>&1); then
	{
		echo "*** bench_peers: NOTHING WAS COMPARED: $python has no PyTorch ***"
		echo "***   $(tail -n 1 <<<"$reason")"
		echo "***   install Debian's python3-torch, or name another interpreter with PYTHON= ***"
	} >&2
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=${CHESSBRAIN:-}
if [ -z "$program" ]; then
	program=$work/chessbrain
	CGO_ENABLED=0 "${GO:-go}" build -o "$program" ./cmd/chessbrain
fi

# boards reads a JSON line and prints its boards_per_s.
boards() { sed -n 's/.*"boards_per_s": *\([0-9.eE+-]*\).*/\1/p'; }

ours() { # kind net batch
	"$program" bench "$1" --net "$2" --batch "$3" --threads "$threads" --tier "$tier" --duration "${seconds}s" --json | boards
}

coproc TORCH { exec "$python" scripts/bench_torch.py "$threads"; }
in=${TORCH[1]} out=${TORCH[0]}

theirs() { # kind net batch precision
	local line
	echo "$1 $2 $3 $4 $seconds" >&"$in"
	read -r line <&"$out" || { echo "bench_peers: PyTorch ended early" >&2; return 1; }
	boards <<<"$line"
}

# compare prints one line: kind net batch precision.
compare() {
	local i us them
	theirs "$@" >/dev/null # builds the model
	: >"$work/pairs"
	for ((i = 0; i < pairs; i++)); do
		us=$(ours "$1" "$2" "$3")
		them=$(theirs "$@")
		echo "$us $them" >>"$work/pairs"
	done
	awk -v n="$pairs" '$1 > 0 && $2 > 0 { good++ } END { exit good != n }' "$work/pairs" || {
		echo "bench_peers: a measurement of $* is missing" >&2
		return 1
	}
	awk '{ print $1 / $2, $1, $2 }' "$work/pairs" | sort -g | awk -v what="$1" -v net="$2" -v batch="$3" -v precision="$4" '
		{ ratio[NR] = $1; us = $2 > us ? $2 : us; them = $3 > them ? $3 : them }
		END {
			middle = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
			printf "%-6s %-8s %5d   fp32 %9.0f   %s %9.0f   %6.2fx  (%.2f .. %.2f)\n",
				what, net, batch, us, precision, them, middle, ratio[1], ratio[NR]
		}'
}

read -r hello <&"$out"
echo "chessbrain against PyTorch $hello; tier $tier, $pairs pairs of $seconds s each"
echo "kind   net      batch   ours, boards/s    PyTorch, boards/s  median ratio (lowest .. highest)"
for net in $nets; do
	for precision in $precisions; do
		for batch in $batches; do compare infer "$net" "$batch" "$precision"; done
		for batch in $train_batches; do compare train "$net" "$batch" "$precision"; done
	done
done
exec {in}>&-
wait "$TORCH_PID"
