#!/usr/bin/env bash
# Measures chessbrain and PyTorch (Debian's python3-torch) on the same nets in the
# same run, alternating, and prints how many times faster chessbrain is: the median
# ratio of all pairs with the lowest and the highest. Above 1 chessbrain is ahead.
# A row compares the same precision on both sides; "best" is the faster precision of
# each side. Then chessbrain's own scaling: two workers against one.
#
# usage: scripts/bench_peers.sh     settings come from the environment:
#   PAIRS=7  NETS="64x6 128x10"  BATCHES="1 8 64" (inference)  TRAIN_BATCHES="64 256"
#   PRECISIONS="fp32 bf16"  THREADS=1  SECONDS_EACH=1  TIER=auto  SCALING=1 (0 = without)
#   AVX2=1  holds both sides to AVX2, in fp32
#   PYTHON=python3  CHESSBRAIN=path of the program (default: built here, with GO=go)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
[ $# = 0 ] || { echo "bench_peers: \"$*\": there are no arguments; --help says which variables there are" >&2; exit 2; }
cd "$(dirname "$0")/.."
held=
if [ "${AVX2:-0}" = 1 ]; then
	held="; both held to AVX2"
	export ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2
	TIER=avx2 PRECISIONS=${PRECISIONS:-fp32}
elif grep -qsw avx512f /proc/cpuinfo; then # PyTorch itself stops at AVX2 in what is not oneDNN
	export ATEN_CPU_CAPABILITY=avx512
fi
pairs=${PAIRS:-7} nets=${NETS:-64x6 128x10} batches=${BATCHES-1 8 64} train_batches=${TRAIN_BATCHES-64 256}
precisions=${PRECISIONS:-fp32 bf16} threads=${THREADS:-1} seconds=${SECONDS_EACH:-1} tier=${TIER:-auto}
scaling=${SCALING:-1} python=${PYTHON:-python3}

if ! reason=$("$python" -c 'import torch' 2>&1); then
	{
		echo "*** bench_peers: NOTHING WAS COMPARED: $python has no PyTorch ***"
		echo "***   $(tail -n 1 <<<"$reason")"
		echo "***   install Debian's python3-torch, or name another interpreter with PYTHON= ***"
	} >&2
	exit 0
fi

# Debian's PyTorch takes the machine's BLAS, and the reference one is ten times slower: no peer.
if maps=$("$python" -c 'import torch; print(open("/proc/self/maps").read())' 2>/dev/null) && ! grep -qE 'openblas|mkl|blis|atlas' <<<"$maps"; then
	echo "*** bench_peers: PyTorch has no fast BLAS here, so that ratios in fp32 flatter chessbrain: install libopenblas0 ***" >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program=${CHESSBRAIN:-}
if [ -z "$program" ]; then
	program=$work/chessbrain
	"${GO:-go}" build -o "$program" ./cmd/chessbrain
fi
about=$("$program" version --cpu-tier "$tier")
if [[ " $precisions " == *" bf16 "* && $about != *"bf16 products: yes"* ]]; then
	echo "*** bench_peers: this tier has no bf16 products: only fp32 is compared ***" >&2
	precisions=fp32
fi

# boards reads a JSON line and prints its boards_per_s.
boards() { sed -n 's/.*"boards_per_s": *\([0-9.eE+-]*\).*/\1/p'; }

ours() { # kind net batch precision threads
	"$program" bench "$1" --net "$2" --batch "$3" --precision "$4" --threads "$5" --cpu-tier "$tier" --duration "${seconds}s" --json | boards
}

coproc TORCH { exec "$python" scripts/bench_torch.py "$threads"; }
in=${TORCH[1]} out=${TORCH[0]}

theirs() { # kind net batch precision
	local line
	echo "$1 $2 $3 $4 $seconds" >&"$in"
	read -r line <&"$out" || { echo "bench_peers: PyTorch ended early" >&2; return 1; }
	boards <<<"$line"
}

# row reads "A B" lines of all pairs and prints "name  best A  best B  median A/B (lowest .. highest)".
row() { # name of 30 characters
	awk -v n="$pairs" '$1 > 0 && $2 > 0 { good++; print $1 / $2, $1, $2 } END { exit good != n }' >"$work/ratios" || {
		echo "bench_peers: a measurement of $1 is missing" >&2
		return 1
	}
	sort -g "$work/ratios" | awk -v name="$1" '
		{ ratio[NR] = $1; a = $2 > a ? $2 : a; b = $3 > b ? $3 : b }
		END {
			middle = NR % 2 ? ratio[(NR + 1) / 2] : (ratio[NR / 2] + ratio[NR / 2 + 1]) / 2
			printf "%-30s %10.0f %10.0f   %6.2fx  (%.2f .. %.2f)\n", name, a, b, middle, ratio[1], ratio[NR]
		}'
}

# compare prints a line for each precision and one for the best of each side.
compare() { # kind net batch
	local i p us them
	: >"$work/pairs"
	for p in $precisions; do theirs "$@" "$p" >/dev/null; done # builds the models
	for ((i = 0; i < pairs; i++)); do
		for p in $precisions; do
			us=$(ours "$@" "$p" "$threads")
			them=$(theirs "$@" "$p")
			echo "$i $p $us $them" >>"$work/pairs"
		done
	done
	for p in $precisions; do
		awk -v p="$p" '$2 == p { print $3, $4 }' "$work/pairs" | row "$(printf '%-6s %-8s %5d  %s' "$@" "$p")"
	done
	[[ $precisions == *" "* ]] || return 0
	awk '{ us[$1] = $3 > us[$1] ? $3 : us[$1]; them[$1] = $4 > them[$1] ? $4 : them[$1] } END { for (i in us) print us[i], them[i] }' \
		"$work/pairs" | row "$(printf '%-6s %-8s %5d  best' "$@")"
}

# scale compares two workers of chessbrain with one.
scale() { # kind net batch precision
	local i one two
	for ((i = 0; i < pairs; i++)); do
		one=$(ours "$@" 1)
		two=$(ours "$@" 2)
		echo "$two $one"
	done | row "$(printf '%-6s %-8s %5d  %s' "$@")"
}

# each calls a function for every kind, net and batch.
each() { # function
	local net batch
	for net in $nets; do
		for batch in $batches; do "$1" infer "$net" "$batch"; done
		for batch in $train_batches; do "$1" train "$net" "$batch"; done
	done
}
scale_all() { for p in $precisions; do scale "$@" "$p"; done; }

read -r hello <&"$out"
echo "chessbrain ($(sed -n 's/^CPU kernels: //p' <<<"$about")) against PyTorch $hello; $pairs pairs of $seconds s each$held"
echo "kind   net      batch          ours, b/s  PyTorch, b/s  median ratio (lowest .. highest)"
each compare
exec {in}>&-
wait "$TORCH_PID"
if [ "$scaling" = 1 ]; then
	echo
	echo "kind   net      batch          two workers  one worker  median ratio (lowest .. highest), on $(nproc) cores"
	each scale_all
fi
