#!/usr/bin/env bash
# Checks the closed loop as a person would use it, with small nets and short games, some ten minutes on two cores:
#   1. from an empty directory, cycles with gating, killed by SIGKILL at random moments and started again with the same
#      command each time: it ends as asked, chessbrain verify finds nothing, the rating list has all nets with errors,
#      and the directory never grows beyond a limit;
#   2. undisturbed: what is not playing, training or matching takes less than a share of a cycle's time.
#
# usage: scripts/check_loop.sh [run|script|both [DIRECTORY]]     (default: both, in a new temporary directory)
#   run: chessbrain run; script: scripts/synchronous_loop.sh
# A directory that is named stays; a temporary one stays only where a check fails. Exit codes: 0; 1 = a check failed.
#
# Settings come from the environment:
#   CHESSBRAIN  the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
#   SEED=1 NET=16x2 CYCLES=5 GAMES=48   of the killed run
#   KILLS=10                            kills, each some lines of the journal after a start, in the middle of a stage
#   LIMIT_MIB=400                       largest size of the directory
#   LONG_GAMES=2000 LONG_CYCLES=2       of the undisturbed run; LONG_CYCLES=0 = none
#   OVERHEAD=5                          percent of a cycle that may be neither playing, training nor matching
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
{ # read as a whole: the file may be edited while it runs
refuse() {
	echo "check_loop: $*" >&2
	exit 2
}
what=${1:-both} dir=${2:-}
[[ $# -le 2 && $what =~ ^(run|script|both)$ && $dir != -* ]] || refuse "usage: scripts/check_loop.sh [run|script|both [DIRECTORY]]"
seed=${SEED:-1} net=${NET:-16x2} cycles=${CYCLES:-5} games=${GAMES:-48} kills=${KILLS:-10} limit=${LIMIT_MIB:-400}
long_games=${LONG_GAMES:-2000} long_cycles=${LONG_CYCLES:-2} overhead=${OVERHEAD:-5}
for number in "$seed" "$cycles" "$games" "$kills" "$limit" "$long_games" "$long_cycles" "$overhead"; do
	[[ $number =~ ^[0-9]{1,9}$ ]] || refuse "\"$number\" is no number"
done
here=$(cd "$(dirname "$0")" && pwd)
program=${CHESSBRAIN:-$here/../bin/chessbrain}
[ -n "${CHESSBRAIN:-}" ] || [ -x "$program" ] || program=chessbrain
program=$(command -v "$program") || refuse "there is no program ${CHESSBRAIN:-chessbrain}: build it (make build), or name it with CHESSBRAIN="
for tool in setsid pkill; do
	command -v $tool >/dev/null || refuse "there is no $tool here"
done
kept=1
if [ -z "$dir" ]; then
	kept=0
	dir=$(mktemp -d)
elif [ -e "$dir" ]; then
	refuse "$dir is there already: name a new directory"
fi
export CHESSBRAIN=$program
RANDOM=$seed
bad=0
say() { echo "check_loop: $*"; }
fail() {
	say "FAILED: $*"
	bad=1
}

# flags of both: chessbrain run's.
flags=(--seed "$seed" --mcts-simulations 16 --max-plies 80 --games-per-worker 16 --batch-size 32 --swa-period 0 --export-weights raw
	--gate-games 12 --gate-visits 8 --required-candidate-win-prop 0.35 --rating-games 6 --rating-visits 4 --keep-checkpoints 2
	--override-config loop.gatekeeper.max_plies=80)
small=(--cycles "$cycles" --games-per-cycle "$games" --min-rows 2500 --keep-target-rows 5000 --taper-window-scale 2500
	--samples-per-epoch 1024 --samples-per-cycle 4096 --keep-game-rows 6000 --max-gib 1)
long=(--cycles "$long_cycles" --games-per-cycle "$long_games" --min-rows 2500 --keep-target-rows 20000 --taper-window-scale 2500
	--samples-per-epoch 16384 --samples-per-cycle 65536 --mcts-simulations 32)

# command_of sets cmd to the command line of a mode.
command_of() { # mode, directory, flags
	local mode=$1 run=$2
	shift 2
	case $mode in
	run) cmd=("$program" run --run-dir "$run" --name check --net "$net" "${flags[@]}" "$@") ;;
	script) cmd=("$here/synchronous_loop.sh" check "$run" main "$net" 1 "${flags[@]}" "$@") ;;
	esac
}

largest=0
measure() { # directory
	local mib
	mib=$(du -sm "$1" 2>/dev/null | cut -f1) || true # files go away meanwhile
	[ "${mib:-0}" -le "$largest" ] || largest=$mib
}

# field prints a number or text of a JSON object with indents.
field() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\).*/\1/p" | head -n 1; }

lines() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }

# await waits until a journal has so many lines, and then for a moment; or until the process has ended.
await() { # process, journal, lines
	while [ "$(lines "$2")" -lt "$3" ] && kill -0 "$1" 2>/dev/null; do sleep 0.02; done
	sleep "0.0$((RANDOM % 10))"
}

# killed runs until it has been killed often enough, and then to its end.
killed() { # mode
	local mode=$1 run=$dir/$1 done=0 starts=0 code pid
	mkdir -p "$dir"
	command_of "$mode" "$run" "${small[@]}"
	largest=0
	while [ "$done" -lt "$kills" ]; do
		starts=$((starts + 1))
		setsid "${cmd[@]}" >>"$dir/$mode.txt" 2>&1 &
		pid=$!
		await "$pid" "$run/cycles.jsonl" $(($(lines "$run/cycles.jsonl") + 3 + RANDOM % 7))
		code=0
		{
			if [ $((done % 2)) = 0 ]; then
				pkill -KILL -s "$pid" || true # all of it
			else
				kill -KILL "$pid" || true # itself; what it started goes on
			fi
			wait "$pid" || code=$?
		} 2>/dev/null # the shell would tell of each
		measure "$run"
		if [ "$code" != 137 ]; then
			fail "$mode: it ended with $code after $done of $kills kills, see $dir/$mode.txt; raise CYCLES where that is 0"
			break
		fi
		done=$((done + 1))
	done
	code=0
	"${cmd[@]}" >>"$dir/$mode.txt" 2>&1 || code=$?
	measure "$run"
	[ "$code" = 0 ] || fail "$mode: after $done kills it ends with $code, see $dir/$mode.txt"
	ended "$mode" "$run"
	say "$mode: $done kills, $(wc -l <"$run/cycles.jsonl") lines in the journal, $largest MiB at most"
}

# ended checks a run that has ended.
ended() { # mode, directory
	local mode=$1 run=$2 status path name list
	status=$("$program" status "$run" --json)
	[ "$(field cycles_done <<<"$status")" = "$cycles" ] || fail "$mode: $(field cycles_done <<<"$status") cycles are done, $cycles were asked for"
	[ -n "$(field stopped <<<"$status")" ] || fail "$mode: it does not say why it ended"
	"$program" verify "$run" >"$dir/$mode-verify.txt" || fail "$mode: verify finds something, see $dir/$mode-verify.txt"
	"$program" ratings "$run" >"$dir/$mode-ratings.txt"
	list=$("$program" ratings "$run" --json | tr '{' '\n')
	[ "$(find "$run/models" -name '*.safetensors' | wc -l)" -gt 0 ] || fail "$mode: no net was accepted"
	for path in "$run"/models/*.safetensors "$run"/rejectedmodels/*.safetensors; do
		[ -e "$path" ] || continue
		name=$(basename "$path" .safetensors)
		grep -F "\"name\":\"$name\"" <<<"$list" | grep -q '"elo":-\{0,1\}[0-9].*"error":[0-9]' || fail "$mode: net $name has no rating with an error"
	done
	[ "$largest" -le "$limit" ] || fail "$mode: the directory had $largest MiB, $limit are allowed"
	"${cmd[@]}" >>"$dir/$mode.txt" 2>&1 || fail "$mode: the same command once more ends with $?"
	[ "$("$program" status "$run" --json | field cycles_done)" = "$cycles" ] || fail "$mode: the same command once more did another cycle"
}

# undisturbed measures the time of whole cycles.
undisturbed() { # mode
	local mode=$1 run=$dir/$1-long share
	command_of "$mode" "$run" "${long[@]}"
	"${cmd[@]}" >>"$dir/$mode-long.txt" 2>&1 || fail "$mode: undisturbed it ends with $?, see $dir/$mode-long.txt"
	share=$("$program" status "$run" --json | field overhead)
	say "$mode: $(awk -v s="${share:-1}" 'BEGIN { printf "%.2f", 100 * s }') % of a cycle is neither playing, training nor matching"
	"$program" status "$run" | sed -n 's/^time */check_loop:   /p'
	awk -v s="${share:-1}" -v most="$overhead" 'BEGIN { exit !(100 * s < most) }' || fail "$mode: want less than $overhead %"
}

modes=("$what")
[ "$what" != both ] || modes=(run script)
for mode in "${modes[@]}"; do
	killed "$mode"
	[ "$long_cycles" = 0 ] || undisturbed "$mode"
done
if [ "$bad" = 0 ] && [ "$kept" = 0 ]; then rm -rf "$dir"; else say "all of it is in $dir"; fi
[ "$bad" = 0 ] && say "all well in $SECONDS s"
exit "$bad"
}
