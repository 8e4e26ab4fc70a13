#!/usr/bin/env bash
# Trains on the shuffles of a run, epoch after epoch, as the train bucket allows, and hands nets to the exporter:
# KataGo's script of that name. Once for each TRAININGNAME; the same command goes on after any end.
#
# usage: scripts/train.sh BASEDIR TRAININGNAME MODELKIND BATCHSIZE EXPORTMODE [flags of chessbrain train...]
#   scripts/train.sh runs/chess main b6c64 128 main --lr-scale 1.0 --max-train-bucket-per-new-data 4 --no-repeat-files
#
# BASEDIR       the run's directory, with selfplay/ and shuffled/
# TRAININGNAME  name of this training: part of the nets' names, and of BASEDIR/train/TRAININGNAME
# MODELKIND     such as b6c64 or 64x6, see configs/models.textproto
# BATCHSIZE     samples of a step
# EXPORTMODE    main: nets go to toexport/, play and are gated; extra: to toexport_extra/, and do not; trainonly: none
# Flags may be written as KataGo writes them, with one dash. Later ones win.
#
# Settings come from the environment:
#   CHESSBRAIN   the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
#   NAMEOFRUN    first part of the nets' names (default: the run's, or the last part of BASEDIR)
#   SAMPLES_PER_EPOCH=100000
# Its log lies in BASEDIR/logs, the settings of each start in BASEDIR/config-history.
# Exit codes: those of chessbrain (5 = stopped and saved).
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
{ # read as a whole: the file may be edited while it runs
refuse() {
	echo "train: $*" >&2
	exit 2
}
[ $# -ge 5 ] || refuse "usage: scripts/train.sh BASEDIR TRAININGNAME MODELKIND BATCHSIZE main|extra|trainonly [flags of chessbrain train...]"
basedir=$1 training=$2 kind=$3 batch=$4 mode=$5
shift 5
[[ -n $basedir && $basedir != -* ]] || refuse "\"$basedir\" is no directory"
[[ $training =~ ^[A-Za-z0-9_-]{1,40}$ && $training != -* ]] || refuse "TRAININGNAME \"$training\": want 1 to 40 letters, digits, _ or -, and no - at the front"
[[ -n $kind && $kind != -* ]] || refuse "MODELKIND \"$kind\": want a kind or a size, such as b6c64 or 64x6"
[[ ${NAMEOFRUN:-} != -* ]] || refuse "NAMEOFRUN=$NAMEOFRUN begins with -"
[[ $batch =~ ^[1-9][0-9]*$ ]] || refuse "BATCHSIZE \"$batch\" is no number"
case $mode in main | extra | trainonly) ;; *) refuse "EXPORTMODE \"$mode\": want main, extra or trainonly" ;; esac

program=${CHESSBRAIN:-}
if [ -z "$program" ]; then
	program=$(cd "$(dirname "$0")/.." && pwd)/bin/chessbrain
	[ -x "$program" ] || program=chessbrain
fi
command -v "$program" >/dev/null || refuse "there is no program $program: build it (make build), or name it with CHESSBRAIN="

flags=()
[ -z "${NAMEOFRUN:-}" ] || flags+=(--job-id "$NAMEOFRUN")
for flag; do
	[[ $flag =~ ^--?use-fp16$ ]] && flag=--amp # KataGo's mixed precision
	[[ $flag =~ ^-[a-z][a-z0-9-]+(=.*)?$ ]] && flag=-$flag # -lr-scale
	flags+=("$flag")
done
exec "$program" train --run-dir "$basedir" --training-name "$training" --net "$kind" --batch-size "$batch" --source shuffled \
	--export-mode "$mode" --samples-per-epoch "${SAMPLES_PER_EPOCH:-100000}" ${flags[@]+"${flags[@]}"}
}
