#!/usr/bin/env bash
# Runs every fuzz target of the module for a short time each.
# usage: scripts/fuzz.sh [TIME]   (default 3s)
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-3s}
go=${GO:-go}
"$go" list -f '{{$d := .Dir}}{{$p := .ImportPath}}{{range .TestGoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$p}} {{$d}}/{{.}}{{"\n"}}{{end}}' ./... |
	while read -r package file; do
		[ -n "$file" ] || continue
		for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
			echo "fuzz $package $target"
			"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package" >/tmp/fuzz.$$ 2>&1 || { cat /tmp/fuzz.$$; rm -f /tmp/fuzz.$$; exit 1; }
		done
	done
rm -f /tmp/fuzz.$$
