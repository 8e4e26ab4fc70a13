#!/usr/bin/env bash
# Builds the GPU program, bin/chessbrain-cuda (or the path given): CUDA's headers and the stub of its driver library are
# needed, a GPU is not. Looked for in $CUDA_HOME, /usr/local/cuda, /opt/cuda and where Debian has them.
#
# usage: scripts/build_cuda.sh [PROGRAM]              variables: CUDA_HOME, GO=go, CGO_CFLAGS, CGO_LDFLAGS
#        scripts/build_cuda.sh PROGRAM PACKAGE      the tests of a package, which run on a GPU with CHESSBRAIN_TEST_GPU=0
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
[[ $# -le 2 && ${1:-} != -* ]] || { echo "build_cuda: \"$*\": want the path of the program; --help says more" >&2; exit 2; }
cd "$(dirname "$0")/.."
out=${1:-bin/chessbrain-cuda}
what=(build) package=${2:-./cmd/chessbrain}
[ -z "${2:-}" ] || what=(test -c)

include='' lib=''
for home in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /opt/cuda /usr; do
	for dir in "$home/include" "$home/targets/x86_64-linux/include"; do
		[ -n "$include" ] || [ ! -f "$dir/cuda.h" ] || include=$dir
	done
	for dir in "$home/lib64/stubs" "$home/targets/x86_64-linux/lib/stubs" "$home/lib/x86_64-linux-gnu/stubs" "$home/lib/aarch64-linux-gnu/stubs"; do
		[ -n "$lib" ] || [ ! -f "$dir/libcuda.so" ] || lib=$dir
	done
done
if [ -z "$include" ] || [ -z "$lib" ]; then
	cat >&2 <<-END
		make cuda: ${include:-cuda.h is not found}${include:+/cuda.h is there, but not the stub libcuda.so}.
		Install CUDA's headers and stubs, 11.8 to 12.x, and a C compiler:
		  Debian 12 (contrib and non-free): apt-get install --no-install-recommends nvidia-cuda-dev gcc libc6-dev
		  others: the packages cuda-cudart-dev and cuda-driver-dev of CUDA 12, or the whole toolkit
		and set CUDA_HOME if it is at an unusual place. Programs that only run need neither: they need the driver.
	END
	exit 1
fi
version=$(awk '$1 == "#define" && $2 == "CUDA_VERSION" { print $3 }' "$include/cuda.h")
if [ "$version" -lt 11040 ] || [ "$version" -ge 13000 ]; then
	echo "make cuda: $include/cuda.h is of CUDA $((version / 1000)).$((version % 1000 / 10)): gorgonia.org/cu compiles against 11.4 to 12.x; set CUDA_HOME to one of those" >&2
	exit 1
fi

# Calls of the driver are bound when they are made: gorgonia.org/cu names some that older drivers lack.
CGO_ENABLED=1 CGO_CFLAGS="-O2 -I$include ${CGO_CFLAGS:-}" CGO_LDFLAGS="-L$lib ${CGO_LDFLAGS:-}" \
	"${GO:-go}" "${what[@]}" -trimpath -tags chessbrain_cuda -ldflags='-s -w -extldflags=-Wl,-z,lazy' -o "$out" "$package"

# Where it runs there is a driver and a C library, and nothing else of CUDA.
if command -v readelf >/dev/null; then
	foreign=$(readelf -d "$out" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libcuda\.so\.1|lib(c|m|dl|pthread|resolv|rt)\.so\.[0-9]+|ld-linux.*)$' || true)
	if [ -n "$foreign" ]; then
		echo "make cuda: $out needs more than libcuda.so.1 and the C library: $foreign" >&2
		exit 1
	fi
fi
echo "$out: CUDA $((version / 1000)).$((version % 1000 / 10)) headers of $include"
