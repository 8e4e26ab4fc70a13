#!/usr/bin/env bash
# Makes nets of what the trainers left in toexport/ and toexport_extra/, once: for modelstobetested/ with gating, for
# models/ without; extra ones for models_extra/. KataGo's script of that name.
#
# usage: scripts/export_model_for_selfplay.sh NAMEOFRUN BASEDIR USEGATING [flags of chessbrain export...]
#   scripts/export_model_for_selfplay.sh chess runs/chess 1
#
# NAMEOFRUN is checked: nets have their names from the training (NAMEOFRUN= of scripts/train.sh).
# CHESSBRAIN names another program than bin/chessbrain beside scripts/, or chessbrain of the PATH.
# Exit codes: those of chessbrain export.
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
{ # read as a whole: the file may be edited while it runs
refuse() {
	echo "export_model_for_selfplay: $*" >&2
	exit 2
}
[ $# -ge 3 ] || refuse "usage: scripts/export_model_for_selfplay.sh NAMEOFRUN BASEDIR USEGATING [flags of chessbrain export...]"
name=$1 basedir=$2 gating=$3
shift 3
[[ $name =~ ^[A-Za-z0-9_-]{1,40}$ && $name != -* ]] || refuse "NAMEOFRUN \"$name\": want 1 to 40 letters, digits, _ or -, and no - at the front"
[[ -n $basedir && $basedir != -* ]] || refuse "\"$basedir\" is no directory"
[[ $gating =~ ^[01]$ ]] || refuse "USEGATING \"$gating\": want 0 or 1"
if [ -f "$basedir/run.json" ]; then
	job=$(sed -n 's/^ *"job": *"\([^"]*\)".*/\1/p' "$basedir/run.json")
	[ "$job" = "$name" ] || refuse "the run in $basedir is called $job, not $name"
fi

program=${CHESSBRAIN:-}
if [ -z "$program" ]; then
	program=$(cd "$(dirname "$0")/.." && pwd)/bin/chessbrain
	[ -x "$program" ] || program=chessbrain
fi
command -v "$program" >/dev/null || refuse "there is no program $program: build it (make build), or name it with CHESSBRAIN="
exec "$program" export --run-dir "$basedir" --gating "$gating" --once "$@"
}
