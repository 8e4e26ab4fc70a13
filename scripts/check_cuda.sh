#!/usr/bin/env bash
# Checks and measures the GPU program on a machine with an NVIDIA GPU and prints one short table, in under five minutes.
# Only a driver is needed; PyTorch and compute-sanitizer are used where they are there.
#
# usage: scripts/check_cuda.sh BINARY      (bin/chessbrain-cuda)
#
#   1. every kernel and whole nets on the device against the CPU (bench --device cuda --check);
#   2. 32 rows learnt by heart; self-play and training on the device; a run that goes on on the CPU and comes back;
#      two equal runs give equal nets, bit for bit;
#   3. speeds, beside PyTorch's (scripts/bench_torch.py) where python3 has PyTorch with CUDA;
#   4. the first check once more under compute-sanitizer's memcheck and racecheck.
#
# Speeds are asked of an H200; on another GPU they are shown and never a failure. What could not be run says why.
# Exit codes: 0; 1 = something failed; 2 = wrong usage. Settings come from the environment:
#   DEVICE=cuda        or cuda:N
#   LIMIT=290          seconds for everything: what does not fit is not run. With LIMIT=3600 PyTorch has time for all rows
#   PYTHON=python3     interpreter with PyTorch
#   MODES=reduce-overhead   of torch.compile, and eager; the fastest counts: MODES="eager reduce-overhead max-autotune"
#   KEEP=DIRECTORY     where the output of all programs stays (default: nowhere, unless something fails)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
{ # read as a whole: the file may be edited while it runs
refuse() {
	echo "check_cuda: $*" >&2
	exit 2
}
[[ $# = 1 && $1 != -* && ${KEEP:-} != -* ]] || refuse "usage: scripts/check_cuda.sh BINARY"
here=$(cd "$(dirname "$0")" && pwd)
program=$(command -v "$1") || refuse "there is no program $1: build it with make cuda"
program=$(realpath "$program")
device=${DEVICE:-cuda} limit=${LIMIT:-290} python=${PYTHON:-python3}
read -ra modes <<<"${MODES:-reduce-overhead}"
[[ $device =~ ^cuda(:[0-9]+)?$ ]] || refuse "DEVICE=$device: want cuda or cuda:N"
[[ $limit =~ ^[0-9]{1,6}$ ]] || refuse "LIMIT=$limit is no number of seconds"
command -v timeout >/dev/null || refuse "there is no timeout here (coreutils)"
kept=${KEEP:-}
work=${kept:-$(mktemp -d)}
mkdir -p "$work"
bad=0
# shellcheck disable=SC2317 # the trap calls it
finish() {
	if [ -n "$kept" ] || [ "$bad" = 1 ]; then
		echo "check_cuda: what the programs said is in $work"
	else
		rm -rf "$work"
	fi
}
trap finish EXIT

line='%-42s %-30s %-22s %s\n'
row() { # what, figure, asked, verdict
	# shellcheck disable=SC2059 # the format is ours
	printf "$line" "$1" "$2" "$3" "$4"
	case $4 in FAILED*) bad=1 ;; esac
}

# left prints the seconds that are left, at least 0 and at most $1.
left() { # most
	local n=$((limit - SECONDS))
	((n > 0)) || n=0
	((n < $1)) || n=$1
	echo "$n"
}

# attempt runs a command with a limit of time; its output goes to $work/NAME. It sets
# verdict to ok, FAILED with the last line that was said, or not run, and took to the seconds.
attempt() { # name, most seconds, command...
	local name=$1 most began=$SECONDS status=0
	most=$(left "$2")
	shift 2
	took=0
	if ((most < 3)); then
		verdict="not run: no time is left (LIMIT=$limit)"
		return
	fi
	timeout -k 5 "$most" "$@" >"$work/$name" 2>"$work/$name.err" </dev/null || status=$?
	took=$((SECONDS - began))
	case $status in
	0) verdict=ok ;;
	124 | 137) verdict="FAILED: not done after $most s" ;;
	*) verdict="FAILED: $(said "$name" || echo "exit code $status")" ;;
	esac
}

# said prints what a failed command said that matters most, in one line.
said() { # name
	{ grep -h FAILED "$work/$1" "$work/$1.err" || grep -hv '^ *$' "$work/$1" "$work/$1.err" | tail -n 1; } | head -n 1 | cut -c1-120 | grep .
}

# field reads a JSON object without nesting and prints one of its values.
field() { sed -nE "s/.*\"$1\": *\"?([^,\"}]*)\"?[,}].*/\1/p"; }

# pick prints the last object of a file with this kind, net and batch, of the fastest mode.
pick() { # file, kind, net, batch
	{ grep -sE "\"kind\": *\"$2\"" "$1" || true; } | { grep -E "\"net\": *\"$3[-\"]" | grep -E "\"batch\": *$4[,}]" | grep '"boards_per_s"' || true; } |
		awk '{ v = $0; sub(/.*"boards_per_s": */, "", v); if (v + 0 >= best) { best = v + 0; line = $0 } } END { if (line) print line }'
}

# at_least prints ok, or what it means that the value is below.
at_least() { # value, limit
	if awk -v v="$1" -v l="$2" 'BEGIN { exit !(v >= l) }'; then
		echo ok
	elif [[ $gpu == *H200* ]]; then
		echo "FAILED"
	else
		echo "below, but asked of an H200"
	fi
}
short() { awk -v v="$1" 'BEGIN { f = v >= 100 ? "%.0f" : "%.3g"; printf f, v }'; }

version=$("$program" version 2>/dev/null | head -n 1) || refuse "$program does not run: $("$program" version 2>&1 | tail -n 1)"
echo "check_cuda: $version, device $device, $(nproc) cores"
# shellcheck disable=SC2059
printf "$line" what figure asked result
attempt doctor 60 "$program" doctor
number=0 # of the GPU, as doctor names it
[ "$device" = cuda ] || number=${device#cuda:}
gpu=$(sed -nE "s/^.*cuda:$number: ([^!,]+),.*/\1/p" "$work/doctor" | head -n 1)
[ "$verdict" != ok ] || [ -n "$gpu" ] || verdict="FAILED: doctor names no cuda:$number: $(grep -hE 'GPU|cuda:' "$work/doctor" | head -n 1 | sed 's/^ *//' | cut -c1-160)"
row "a GPU" "${gpu:-none}" "one" "$verdict"
if [ "$bad" = 1 ]; then
	echo "check_cuda: without a GPU there is nothing to check"
	exit 1
fi

attempt check 110 "$program" bench --device "$device" --check
row "kernels and nets against the CPU" "$(grep -ohE '[0-9]+ comparisons' "$work/check" | tail -n 1 || true), $took s" "all agree" "$verdict"

# --- learning
cat >"$work/overfit.textproto" <<-END
	model { net: "32x2" }
	training { device: "$device" }
END
attempt overfit 40 "$program" overfit --config "$work/overfit.textproto" --rows 32 --steps 600
row "32 rows learnt by heart" "$(grep -oE 'in [0-9]+ steps' "$work/overfit" || true)" "learnt" "$verdict"

flags=(--net 32x2 --games-per-worker 32 --mcts-simulations 8 --max-plies 40 --batch-size 256 --seed 1 --job-id check --quiet)
train() { # name, run directory, games in all, trainer, producers, flags...
	local name=$1 run=$2 games=$3 at=$4 play=$5
	shift 5
	attempt "$name" 40 "$program" train --run-dir "$work/$run" --episodes "$games" --device "$at" --producer-device "$play" "${flags[@]}" "$@"
}
# steps prints the steps of a run's newest checkpoint.
steps() { # run directory
	find "$work/$1/train/main/checkpoints" -maxdepth 1 -name '*_step*' 2>/dev/null | sed 's/.*_step0*//' | sort -n | tail -n 1
}
was=0
for part in "8 $device $device" "16 cpu cpu" "24 $device cpu" "32 cpu $device"; do
	read -r games at play <<<"$part"
	train "train-$games" run "$games" "$at" "$play" --producer-workers 1
	now=$(steps run)
	[[ $verdict != ok || ${now:-0} -gt $was ]] || verdict="FAILED: no step was made"
	row "one run: trainer $at, self-play $play" "step $was to ${now:-$was}" "goes on" "$verdict"
	was=${now:-$was}
done
attempt verify 20 "$program" verify "$work/run"
row "that run's files" "$took s" "whole" "$verdict"

for n in 1 2; do
	train "equal-$n" "twin-$n" 6 "$device" "$device" --deterministic
	[ "$verdict" = ok ] || break
done
if [ "$verdict" = ok ]; then
	sums=$(for n in 1 2; do (cd "$work/twin-$n/models" && sha256sum ./*.safetensors | sort); done | sort | uniq -c | awk '$1 != 2' | wc -l)
	[ "$sums" = 0 ] || verdict="FAILED: $sums nets differ"
fi
row "two equal runs" "$took s each" "equal bits" "$verdict"

# --- speeds
declare -A missing # by net: why bench has no figures of it
: >"$work/ours"
for net in 128x10 64x6 256x20; do
	attempt "bench-$net" 40 "$program" bench --device "$device" --net "$net" --duration 200ms --json
	[ "$verdict" = ok ] || missing[$net]=$verdict
	grep -s '^{' "$work/bench-$net" >>"$work/ours" || true
done

: >"$work/theirs"
why=
if ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
	why="$python has no PyTorch with CUDA"
elif [ ! -f "$here/bench_torch.py" ]; then
	why="bench_torch.py is not beside this script"
else
	# What matters most comes first: each call keeps what it could measure in its time.
	for part in "128x10;1024;1024" "64x6;1024;" "128x10;256;4096" "64x6;256;" "256x20;256 1024;"; do
		IFS=';' read -r net batches train_batches <<<"$part"
		read -ra b <<<"$batches"
		read -ra t <<<"$train_batches"
		attempt "torch-$net-${b[0]}" "$((limit < 600 ? 130 : limit))" "$python" "$here/bench_torch.py" --device "$device" --json --seconds 0.5 \
			--modes "${modes[@]}" --nets "$net" --batches "${b[@]}" --train-batches "${t[@]}"
		grep -s '^{' "$work/torch-$net-${b[0]}" >>"$work/theirs" || true
	done
fi

# compare prints a row for one figure of ours and PyTorch's.
compare() { # kind, net, batch, least ratio
	local us them mine other ratio verdict figure
	us=$(pick "$work/ours" "$1" "$2" "$3")
	them=$(pick "$work/theirs" "$1" "$2" "$3")
	mine=$(field boards_per_s <<<"$us") other=$(field boards_per_s <<<"$them")
	figure="$(short "${mine:-0}")/s"
	if [ -n "$us" ] && [ -n "$(field share_of_peak <<<"$us")" ]; then
		figure+=", $(awk -v v="$(field share_of_peak <<<"$us")" 'BEGIN { printf "%.0f", 100 * v }') % of peak"
	fi
	if [ -z "$us" ]; then
		figure='' verdict=${missing[$2]:-FAILED: bench gave no such figure}
	elif [ -z "$them" ]; then
		verdict="not compared: ${why:-$(torch_error "$1" "$2" "$3")}"
	else
		ratio=$(awk -v a="$mine" -v b="$other" 'BEGIN { printf "%.2f", a / b }')
		figure+=", ${ratio}x"
		verdict=$(at_least "$ratio" "$4")
	fi
	row "$5, batch $3" "$figure" "$4x PyTorch" "$verdict"
}
# torch_error prints why PyTorch has no figure.
torch_error() { # kind, net, batch
	local e
	e=$(grep -sE "\"kind\": *\"$1\"" "$work/theirs" | grep -E "\"net\": *\"$2\"" | grep -E "\"batch\": *$3," | field error | tail -n 1 || true)
	echo "${e:-no time was left for PyTorch (LIMIT=$limit)}"
}
for net in 64x6 128x10; do
	for batch in 256 1024; do compare infer $net $batch 1.0 "inference $net"; done
done
for batch in 256 1024; do compare infer 256x20 $batch 0.9 "inference 256x20"; done
for batch in 1024 4096; do
	compare train 128x10 $batch 1.0 "training step 128x10"
	us=$(pick "$work/ours" train 128x10 $batch | field memory_mib)
	them=$(pick "$work/theirs" train 128x10 $batch | field peak_held_mib)
	if [ -n "$us" ] && [ -n "$them" ]; then
		row "  its memory" "$(short "$us") MiB, PyTorch $(short "$them")" "no more" "$(at_least "$them" "$us")"
	elif [ -n "$us" ]; then
		row "  its memory" "$(short "$us") MiB" "no more than PyTorch" "not compared: ${why:-$(torch_error train 128x10 $batch)}"
	fi
done
play=$(grep -sE '"kind": *"selfplay"' "$work/ours" | grep -E '"net": *"128x10[-"]' | tail -n 1 || true)
rate=$(field positions_per_s <<<"$play")
if [ -z "$rate" ]; then
	row "self-play 128x10, 64 simulations" "" "6000/s" "${missing[128x10]:-FAILED: bench gave no such figure}"
else
	cores=$(field host_cores <<<"$play")
	row "self-play 128x10, 64 simulations" "$(short "$rate") positions/s${cores:+, $(short "$cores") cores}" "6000/s" "$(at_least "$rate" 6000)"
	for part in "device_busy 0.8 device busy meanwhile" "of_inference 0.75 new evaluations by inference alone"; do
		read -r name least what <<<"$part"
		share=$(field "$name" <<<"$play")
		[ -z "$share" ] || row "  $what" "$(short "$share")" "$least" "$(at_least "$share" "$least")"
	done
fi

# --- the vendor's checker, last: it slows everything down
sanitizer=$(command -v compute-sanitizer || command -v /usr/local/cuda/bin/compute-sanitizer || true)
for tool in memcheck racecheck; do
	if [ -z "$sanitizer" ]; then
		row "compute-sanitizer $tool" "" "no error" "not run: compute-sanitizer is not installed"
		continue
	fi
	attempt "$tool" "$((limit < 600 ? 60 : limit))" "$sanitizer" --tool "$tool" --error-exitcode 9 "$program" bench --device "$device" --check --net 16x1
	case $verdict in
	"FAILED: not done"*) verdict="not finished ${verdict#FAILED: not done }" ;;
	*"find injection library"*) verdict="not run: this compute-sanitizer lacks its injection library" ;;
	esac
	row "compute-sanitizer $tool" "$took s" "no error" "$verdict"
done

echo "check_cuda: $([ $bad = 0 ] && echo "nothing failed" || echo "FAILED"), $SECONDS s"
exit $bad
}
