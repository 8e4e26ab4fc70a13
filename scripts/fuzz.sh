#!/usr/bin/env bash
# Runs every fuzz target of the module for a short time each.
# usage: scripts/fuzz.sh [TIME]   (default 3s)
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-3s}
go=${GO:-go}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
git ls-files '*_test.go' | while read -r file; do
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | while read -r target; do
		package=./$(dirname "$file")
		echo "fuzz $package $target"
		# Go's minimiser would take the whole time slot without a bound.
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package" >"$out" 2>&1 </dev/null ||
			{ cat "$out"; exit 1; }
	done
done
