#!/usr/bin/env bash
# Runs every fuzz target of the module on a number of fresh inputs each.
# usage: scripts/fuzz.sh [COUNT]   (default 20000; GO names another go)
# A count, not a time: Go reports an input that is being run when the time ends as "context deadline exceeded".
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
count=${1:-20000}
[[ $# -le 1 && $count =~ ^[1-9][0-9]{0,11}$ ]] || { echo "fuzz: \"$*\" is no number of inputs; usage: scripts/fuzz.sh [COUNT]" >&2; exit 2; }
cd "$(dirname "$0")/.."
go=${GO:-go}
module=$("$go" list -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git grep -l '^func Fuzz' -- '*_test.go' | xargs -n1 dirname | sort -u | while read -r package; do
	# One program a package: building costs more than most targets take. Coverage of this module alone guides:
	# for that of all that it uses, go test -fuzz would compile that once more.
	"$go" test -c -gcflags="$module/...=-d=libfuzzer" -ldflags='-s -w' -o "$work/fuzz.test" "./$package" </dev/null
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$package"/*_test.go | while read -r target; do
		echo "fuzz ./$package $target"
		# Go's minimiser would take a minute for each new input without a bound.
		(cd "$package" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${count}x" \
			-test.fuzzminimizetime 10x -test.fuzzcachedir "$work/inputs/$package") >"$work/out" 2>&1 </dev/null ||
			{ cat "$work/out"; exit 1; }
	done
done
