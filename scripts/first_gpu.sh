#!/usr/bin/env bash
# The first ten minutes on a machine with an NVIDIA GPU: whether each part works there, what a failure means, and how
# fast it is. That machine needs a driver alone; PyTorch, ptxas, compute-sanitizer and ncu are used where they are there.
#
# usage: scripts/first_gpu.sh pack DIR     here: what must be carried, into DIR, which must be new; needs what make cuda needs
#        DIR/first_gpu.sh                  there: all steps, one after the other, each with its own limit of time
#
# Everything goes to $OUT (default: out beside the script): page.txt, one line a step; figures.json, a line a figure; and a
# file a step with all that was said. Exit codes: 0; 1 = a step failed; 2 = wrong usage. Variables, there:
#   LIMIT=590   seconds for everything: what does not fit is not run
#   LD_LIBRARY_PATH   of the driver, where the loader does not find it; where containers have it is looked, too
#   QUICK=1     a few tests of each kind alone, for a GPU that is emulated
# scripts/check_cuda.sh lies beside it for a second call, which compares with PyTorch.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = pack ]; then
	[[ $# = 2 && -n $2 && $2 != -* ]] || { echo "usage: scripts/first_gpu.sh pack DIR" >&2; exit 2; }
	mkdir "$2" || exit 2
	to=$(realpath "$2")
	cd "$here/.."
	scripts/build_cuda.sh "$to/chessbrain-cuda"
	for package in driver kernels cuda; do
		path=./nn/cuda
		[ $package = cuda ] || path+=/$package
		scripts/build_cuda.sh "$to/$package.test" $path
	done
	mkdir "$to/ptx" "$to/testdata"
	cp nn/cuda/kernels/ptx/*.gz "$to/ptx"
	cp nn/cuda/kernels/testdata/primitives.half.ptx.gz "$to/testdata"
	cp scripts/first_gpu.sh scripts/check_cuda.sh scripts/bench_torch.py scripts/cudnn_layers.py "$to"
	gzip "$to"/chessbrain-cuda "$to"/*.test
	echo "$to: $(du -sk "$to" | awk '{ printf "%.1f MiB", $1 / 1024 }'); carry it to the machine and start first_gpu.sh there"
	exit
fi
[ $# = 0 ] || { echo "usage: first_gpu.sh, without words; or scripts/first_gpu.sh pack DIR" >&2; exit 2; }
cd "$here"
[ -f ptx/conv.half.ptx.gz ] || { echo "first_gpu: what must be carried is not here: scripts/first_gpu.sh pack DIR makes it" >&2; exit 2; }
limit=${LIMIT:-590}
[[ $limit =~ ^[1-9][0-9]{0,5}$ ]] || { echo "first_gpu: LIMIT=$limit is no number of seconds" >&2; exit 2; }
export OUT=${OUT:-$here/out} PYTHONUNBUFFERED=1 CHESSBRAIN_TEST_GPU=0 CUDA_CACHE_MAXSIZE=1073741824
export CUDA_CACHE_PATH=$OUT/compiled # $HOME may not be writable
mkdir -p "$OUT"
gunzip -kf ./*.gz ptx/*.gz
chmod +x chessbrain-cuda ./*.test
: >"$OUT/page.txt"
: >"$OUT/figures.json"
PATH=$PATH:/usr/local/cuda/bin
# Containers have the driver's library where the loader does not look.
ldconfig -p | grep -q libcuda.so.1 || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64:/usr/local/nvidia/lib
bad=0

# step NAME SECONDS PROVES FAILS COMMAND...: PROVES is what success shows, FAILS what a failure means.
step() {
	local name=$1 most=$2 proves=$3 fails=$4 began=$SECONDS code=0 result=ok
	shift 4
	((most < limit - SECONDS)) || most=$((limit - SECONDS))
	if ((most < 3)); then
		row "$name" 0 "not run" "no time is left (LIMIT=$limit)"
		return
	fi
	timeout -k 5 "$most" "$@" >"$OUT/$name.txt" 2>&1 </dev/null || code=$?
	case $code in
	0) fails=$proves ;;
	124 | 137) result=FAILED fails="not done after $most s" bad=1 ;;
	*)
		if grep -q 'find injection library' "$OUT/$name.txt"; then
			result="not run" fails="this compute-sanitizer lacks its injection library"
		else
			result=FAILED bad=1
		fi
		;;
	esac
	row "$name" $((SECONDS - began)) "$result" "$fails"
	{ grep -h '^{.*}$' "$OUT/$name.txt" || true; } >>"$OUT/figures.json"
}
row() { printf '%-10s %4d s  %-8s %s\n' "$@" | tee -a "$OUT/page.txt"; }
# with PROGRAM NAME...: a step, where the machine has the program.
with() {
	if command -v "$1" >/dev/null; then step "${@:2}"; else row "$2" 0 "not run" "there is no $1 here"; fi
}
some=() driver=GPU host='Nets|BatchIndependence|Forms|Steps|Window' nets=(bench --device cuda --check) speed=(bench --device cuda --net 128x10 --duration 200ms --json)
if [ -n "${QUICK:-}" ]; then
	some=(-test.run '^(TestJoin|TestAttend)$') driver=TestGPUInfo host=TestNewNetRefuses
	echo "a dry run: no line says anything of a GPU" | tee "$OUT/page.txt"
	nets=(probe --device cuda --net random-weights:1:16x1x2h) speed=(bench search --duration 50ms --json)
fi
sources='Modules|Mirror|Structs|KernelArguments|EveryKernel|PTX|Launches' # tests that read the sources

# shellcheck disable=SC2016 # bash -c has it
with nvidia-smi machine 20 "there is a GPU and a driver" "no GPU can be seen: look at /dev/nvidia* and LD_LIBRARY_PATH" \
	bash -c 'nvidia-smi && nvidia-smi -q -d CLOCK && ls /dev/nvidia* && { ldconfig -p | grep libcuda.so.1 || echo "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"; }'
# shellcheck disable=SC2016 # bash -c has them
with ptxas assembler 60 "its assembler takes the PTX, and no kernel spills registers" "a kernel spills with this ptxas: it is slower than counted, not wrong" \
	bash -c 'set -o pipefail; at=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .) || at=90
		for file in ptx/*.ptx; do ! grep -q "\.entry" "$file" || ptxas -v "-arch=sm_$at" -o /dev/null "$file" || exit; done 2>&1 |
		awk "/Compiling entry/ { k = \$7 } /spill stores/ && \$5 > 0 { bad = 1; print k, \$5, \"bytes spilled\" } /Used/ { print k, \$5, \"registers\" } END { exit bad }"'
step doctor 20 "program, driver and device meet" "the program does not find the driver: see what doctor says" ./chessbrain-cuda doctor
step driver 40 "memory, streams, events, graphs and faults are as the program takes them" "the seam to the driver is wrong: nothing below counts" \
	./driver.test -test.run "$driver" -test.v
step kernels 150 "every kernel is right against float64, and the emulator's tensor cores are the GPU's" "the kernel that is named is wrong on a GPU, or the emulator is" \
	./kernels.test -test.short -test.v -test.skip "$sources" "${some[@]}"
with compute-sanitizer memory 40 "no kernel leaves its memory" "a bad access: the kernel that is named" \
	compute-sanitizer --tool memcheck --error-exitcode 9 ./kernels.test -test.short -test.run 'ConvWrites|WgradNeighbours|HeadFC1|Gather|Join|Attend'
with compute-sanitizer barriers 20 "no barrier is misplaced" "a barrier that not all threads reach: the kernel that is named" \
	compute-sanitizer --tool synccheck --error-exitcode 9 ./kernels.test -test.short -test.run 'ConvWrites|HeadFC1|SEAlone|Attend'
step nets 110 "whole nets, gradients and steps agree with the CPU" "kernels are right and what launches them is not: host logic or graphs" \
	./chessbrain-cuda "${nets[@]}"
step host 60 "evaluators and windows of rows work on the device" "host logic: the test that is named" ./cuda.test -test.short -test.v -test.run "$host"
step speed 45 "inference, training and self-play of 128x10 have figures" "a batch that the checks do not have, or its memory" \
	./chessbrain-cuda "${speed[@]}"
if (($(nvidia-smi -L 2>/dev/null | wc -l) > 1)); then
	step several 40 "two GPUs train and play together" "each alone works: copies between them, or how they share a step" \
		./chessbrain-cuda train "$OUT/several" --net 32x4 --devices cuda:0+1,cuda:0+1 --batch-size 32 --grad-accum-steps 2 --mcts-simulations 8
else
	row several 0 "not run" "fewer than two GPUs are listed"
fi
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
	step cudnn 45 "what PyTorch can reach at most, layer by layer" "PyTorch cannot run cuDNN here" python3 cudnn_layers.py
else
	row cudnn 0 "not run" "python3 has no PyTorch with CUDA"
fi
with ncu profile 60 "where the time goes: share of the tensor cores, stalls, caches" "ncu may not read the counters: ask who owns the machine" \
	ncu --clock-control none -k 'regex:tower|conv_9_wide|wgrad_9' -c 4 --section SpeedOfLight --section WarpStateStats --section Occupancy \
	--section MemoryWorkloadAnalysis ./chessbrain-cuda bench --device cuda --net 128x10 --duration 20ms --json
echo "first_gpu: $([ $bad = 0 ] && echo "nothing failed" || echo FAILED), $SECONDS s: $OUT/page.txt, $OUT/figures.json" | tee -a "$OUT/page.txt"
exit $bad
