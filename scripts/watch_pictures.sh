#!/usr/bin/env bash
# Draws the pages of a run that is served (chessbrain watch RUN --web ADDRESS, or train --web) as PNG files, for docs.
# It needs chromium, and looks at the pages as a person would: it waits until they are painted.
#
# usage: scripts/watch_pictures.sh ADDRESS DIRECTORY      such as http://127.0.0.1:8080 docs/recorded
#
# Settings come from the environment: GO (default: go).
#
# Exit codes: 0 all pages are drawn; 1 one is not; 2 nothing was started.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
refuse() {
	echo "watch_pictures: $*" >&2
	exit 2
}
[ $# -eq 2 ] || refuse "usage: scripts/watch_pictures.sh ADDRESS DIRECTORY"
[[ $1 =~ ^https?:// ]] || refuse "\"$1\" is no address, want http://HOST:PORT"
[ -d "$2" ] || refuse "$2 is no directory"
command -v chromium >/dev/null || refuse "there is no chromium here: apt-get install chromium"
directory=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
WATCH_ADDRESS=$1 WATCH_PICTURES=$directory "${GO:-go}" test -count=1 -run TestPictures ./run/watch
