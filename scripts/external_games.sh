#!/usr/bin/env bash
# Plays games of `chessbrain uci` with programs that others wrote: xboard holds the board and the clocks, polyglot
# stands between it and UCI, the opponent is stockfish at skill 0 or gnuchess. Fails where a game does not end as chess
# games do: an illegal move, a loss on time, an engine that is gone. pgn-extract has to read what xboard and what
# `chessbrain match` write.
#
# usage: scripts/external_games.sh [GAMES] [stockfish|gnuchess]     (default: 20 stockfish)
#
# Exit codes: 0 all is well; 1 it is not, or a program failed (all files are kept then); 2 nothing was started.
# Settings come from the environment:
#   CHESSBRAIN       the program (default: bin/chessbrain beside scripts/, else chessbrain of the PATH)
#   NET              a net file (default: a 16x2 net of random weights)
#   TC=0:05 INC=0.1  the clock: minutes:seconds for a game, and seconds for each move
#   DEPTH            plies after which both engines end a search (default: only the clock does)
#   OUT              directory for the games and logs, kept (default: a temporary one)
set -euo pipefail
for word; do # anywhere: the lines above, and nothing else
	[[ $word != -h && $word != --help ]] || { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; exit 0; }
done
PATH=$PATH:/usr/games # where Debian has them; root's PATH lacks it

refuse() {
	echo "external_games: $*" >&2
	exit 2
}
usage="usage: scripts/external_games.sh [GAMES] [stockfish|gnuchess]"
games=${1:-20} opponent=${2:-stockfish} clock=${TC:-0:05} increment=${INC:-0.1}
[ $# -le 2 ] || refuse "$usage"
[[ ${OUT:-} != -* ]] || refuse "OUT=$OUT is no directory"
[[ $games =~ ^[1-9][0-9]{0,3}$ ]] || refuse "\"$games\" is no number of games, want 1 to 9999; $usage"
[[ $opponent = stockfish || $opponent = gnuchess ]] || refuse "no opponent \"$opponent\"; $usage"
[[ $clock =~ ^([0-9]{1,3}):([0-9]{1,2})$ ]] || refuse "TC=$clock: want minutes:seconds, such as 0:05"
seconds=$((10#${BASH_REMATCH[1]} * 60 + 10#${BASH_REMATCH[2]}))
[[ $increment =~ ^[0-9]+(\.[0-9]+)?$ ]] || refuse "INC=$increment: want seconds, such as 0.1"
[[ ${DEPTH:-1} =~ ^[1-9][0-9]?$ ]] || refuse "DEPTH=$DEPTH: want 1 to 99 plies"
for tool in xboard polyglot Xvfb pgn-extract "$opponent"; do
	command -v "$tool" >/dev/null || refuse "there is no $tool here: apt-get install xboard polyglot xvfb pgn-extract $opponent"
done
program=${CHESSBRAIN:-$(cd "$(dirname "$0")/.." && pwd)/bin/chessbrain}
[ -n "${CHESSBRAIN:-}" ] || [ -x "$program" ] || program=chessbrain
program=$(command -v "$program") || refuse "there is no program ${CHESSBRAIN:-chessbrain}: build it (make build), or name it with CHESSBRAIN="
program=$(realpath "$program")
[ -z "${NET:-}" ] || [ -f "$NET" ] || refuse "NET=$NET: there is no such file"
net=${NET:+$(realpath "$NET")}

out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
out=$(realpath "$out")
done='' game=''
# shellcheck disable=SC2317 # called by the trap
finish() {
	[ -z "$game" ] || kill "$game" 2>/dev/null || true
	[ -z "${SCREEN_PID:-}" ] || kill "$SCREEN_PID" 2>/dev/null || true
	if [ -n "$done" ] && [ -z "${OUT:-}" ]; then rm -rf "$out"; fi
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
fail() {
	echo "external_games: $*; see $out" >&2
	exit 1
}
# accepted fails unless pgn-extract reads so many games of a file without a word of complaint.
accepted() { # file, games
	pgn-extract -r "$1" >"$1.said" 2>&1 || fail "pgn-extract failed on $1"
	grep -qx "$2 games matched out of $2." "$1.said" || fail "pgn-extract does not accept $1: $(tail -n 1 "$1.said")"
	! grep -Eq 'Line number|Failed|Unknown|Missing|error' "$1.said" || fail "pgn-extract complains about $1: $(grep -Em1 'Line number|Failed|Unknown|Missing|error' "$1.said")"
}

if [ -z "$net" ]; then
	"$program" init --run-dir "$out/run" --net 16x2 >"$out/init.txt" 2>&1 || fail "chessbrain init failed: $(tail -n 1 "$out/init.txt")"
	net=$(echo "$out"/run/train/main/checkpoints/*_step*/net.safetensors)
fi
"$program" match --player1 "$net" --player2 random --games 10 --visits 8 --max-plies 300 --pgn "$out/own.pgn" >"$out/match.txt" 2>&1 ||
	fail "chessbrain match failed: $(tail -n 1 "$out/match.txt")"
accepted "$out/own.pgn" 10

# Polyglot's command line and xboard's quote each in their own way; these files need no quotes.
printf '#!/bin/sh\nexec "%s" uci --net "%s"\n' "$program" "$net" >"$out/chessbrain"
chmod +x "$out/chessbrain"
adapter() { # name, command, options of the engine
	printf '[PolyGlot]\nEngineName = %s\nEngineDir = .\nEngineCommand = %s\nLog = true\nLogFile = %s.log\n[Engine]\n%s\n' "$1" "$2" "$1" "$3" >"$out/$1.ini"
}
adapter chessbrain ./chessbrain ""
case $opponent in
stockfish) adapter stockfish stockfish $'Skill Level = 0\nThreads = 1\nHash = 16' ;;
gnuchess) adapter gnuchess "gnuchess --uci" "" ;; # its xboard mode ends with a buffer overflow in Debian 12
esac

coproc SCREEN { exec Xvfb -displayfd 1 -nolisten tcp -screen 0 1024x768x24 2>"$out/xvfb.txt"; }
read -r -t 60 -u "${SCREEN[0]}" display || fail "no screen: Xvfb did not start"
cd "$out"
rm -f games.pgn
limit=$(awk "BEGIN { print int(60 + $games * 2 * ($seconds + 200 * $increment)) }") # games of 200 moves
HOME=$out DISPLAY=:$display timeout --kill-after=10 "$limit" xboard -noGUI -fcp "polyglot chessbrain.ini" -scp "polyglot $opponent.ini" -fd . -sd . \
	-mg "$games" -tc "$clock" -inc "$increment" -autoCallFlag true -matchPause 100 -xponder -xexit -xpopup -soundProgram true \
	-saveSettingsOnExit false -sgf games.pgn ${DEPTH:+-depth "$DEPTH"} >xboard.txt 2>&1 &
game=$!
code=0
wait "$game" || code=$?
game=''
[ "$code" != 124 ] || fail "xboard has not ended after $limit seconds: an engine hangs, perhaps"
[ -f games.pgn ] || fail "xboard played nothing (exit code $code): $(tail -n 1 xboard.txt)"
# What ends a game of chess stands in the comment before its result.
awk -v opponent="$opponent" -v wanted="$games" '
	/^\[White "/ { white = /"chessbrain"/ }
	match($0, /\{[^}]*\} (1-0|0-1|1\/2-1\/2|\*)$/) {
		result = $NF
		reason = substr($0, RSTART + 1, RLENGTH - length(result) - 3)
		games++
		if (result == "1/2-1/2") drawn++
		else if (result != "*") (result == "1-0") == white ? won++ : lost++
		ends[reason]++
		low = tolower(reason)
		if (result == "*" || low ~ /illegal|invalid|time|flag|forfeit|exit|hung|crash|disconnect|abort|error/ || low !~ /mate|draw|repetition|50|fifty|material|resign/) {
			print "game " games " ended badly: " result " " reason
			bad = 1
		}
	}
	END {
		printf "%d games against %s: %d won, %d drawn, %d lost\n", games, opponent, won, drawn, lost
		for (reason in ends) printf "%5d  %s\n", ends[reason], reason | "sort -rn"
		exit bad || games != wanted
	}' games.pgn || fail "not all of $games games ended well"
accepted "$out/games.pgn" "$games"
done=1
