#!/usr/bin/env bash
# Makes DIR/libcuda.so.1, a GPU of host memory on which the kernels' sources run as the emulator of the tests runs them. The
# GPU program then runs from its flags to its kernels without a GPU, thousands of times slower than on one:
#   scripts/emulated_gpu.sh DIR
#   LD_LIBRARY_PATH=DIR CHESSBRAIN_EMULATED_KERNELS=DIR bin/chessbrain-cuda train --device cuda ...
# Needs g++ (another: CXX) and gcc. A second call compiles only what is older than its sources.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
[[ $# = 1 && -n $1 && $1 != -* ]] || { echo "usage: scripts/emulated_gpu.sh DIR" >&2; exit 2; }
cd "$(dirname "$0")/.."
dir=$1
mkdir -p "$dir"
kernels=nn/cuda/kernels runtime=internal/testing/emulated/runtime

# Flags as in internal/testing/emulated/build.go.
compile() { # source object optimisation libraries...
	local source=$1 object=$2
	[ "$(find "$source" $kernels/*.cuh $kernels/emulated.h $runtime -newer "$object" 2>/dev/null | head -1)" ] || [ ! -f "$object" ] || return 0
	"${CXX:-g++}" -std=c++17 -fPIC -shared -fno-strict-aliasing -ffp-contract=off -U_FORTIFY_SOURCE -fsanitize=alignment \
		-fsanitize-undefined-trap-on-error -g1 -Wno-unknown-pragmas -DF32 -DHALF "$3" -I $kernels -I $runtime -x c++ "$source" -x none "${@:4}" -o "$object"
}
gcc -Wall -shared -fPIC -I nn/cuda/driver/cuda -Wl,-soname,libcuda.so.1 -o "$dir/libcuda.so.1" nn/cuda/driver/testdata/fakecuda.c
compile $runtime/runtime.cc "$dir/runtime.so" -O3
for cu in "$kernels"/*.cu; do
	name=$(basename "$cu" .cu)
	compile "$cu" "$dir/$name.so" -O2 "$(realpath "$dir")/runtime.so"
done
