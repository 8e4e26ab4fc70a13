#!/usr/bin/env bash
# Builds the GPU program, bin/chessbrain-cuda (or the path given). It needs gcc, and neither a GPU nor anything of CUDA: the
# part of its API that the program calls is declared in nn/cuda/driver/cuda. Where the program runs it needs the driver.
#
# usage: scripts/build_cuda.sh [PROGRAM]              variables: GO=go, CGO_CFLAGS, CGO_LDFLAGS
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

command -v gcc >/dev/null || { echo "make cuda: there is no gcc here; Debian: apt-get install gcc libc6-dev" >&2; exit 1; }
go=${GO:-go} header=nn/cuda/driver/cuda/cuda.h
# A library to link with: the driver's functions, by name. It lies where the next build, of another clone too, finds the
# same flags.
cuda=$("$go" env GOCACHE)/chessbrain-cuda-$(cksum <$header | cut -d' ' -f1)
if [ ! -f "$cuda/libcuda.so" ]; then
	mkdir -p "$cuda"
	cp $header "$cuda"
	printf '%s\n' '#define CUDA_FUNCTION(name, ...) int name(void) { return 999; }' '#include "cuda.h"' |
		gcc -shared -fPIC -I"$cuda" -Wl,-soname,libcuda.so.1 -x c - -o "$cuda/half.$$"
	mv "$cuda/half.$$" "$cuda/libcuda.so"
fi

# Calls of the driver are bound when they are made: gorgonia.org/cu names some that older drivers lack.
CGO_ENABLED=1 CGO_CFLAGS="-O2 -I$cuda ${CGO_CFLAGS:-}" CGO_LDFLAGS="-L$cuda ${CGO_LDFLAGS:-}" \
	"$go" "${what[@]}" -tags chessbrain_cuda -ldflags='-s -w -extldflags=-Wl,-z,lazy' -o "$out" "$package"

# Where it runs there is a driver and a C library, and nothing else of CUDA.
if command -v readelf >/dev/null; then
	foreign=$(readelf -d "$out" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libcuda\.so\.1|lib(c|m|dl|pthread|resolv|rt)\.so\.[0-9]+|ld-linux.*)$' || true)
	if [ -n "$foreign" ]; then
		echo "make cuda: $out needs more than libcuda.so.1 and the C library: $foreign" >&2
		exit 1
	fi
fi
