//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// TestMatchInterrupt stops a match: it exits with 5, says how a match can go on, and
// the finished games are in the PGN if there is one.
func TestMatchInterrupt(t *testing.T) {
	dir := t.TempDir()
	interrupt := func(next string, flags ...string) (said []string) {
		p := start(t, dir, append([]string{"match", "--player1", "random", "--player2", "random", "--games", "40000"}, flags...)...)
		p.waitFor("of 40000 games, player 1 has")
		p.signal(os.Interrupt)
		p.waitFor("press Ctrl-C again to end at once")
		code, rest := p.exit()
		said = regexp.MustCompile(`chessbrain: match interrupted after (\d+) of 40000 games; the result is theirs` + next + `\n`).FindStringSubmatch(rest)
		if code != exitInterrupted || said == nil {
			t.Fatalf("exit code %d, want %d: %s", code, exitInterrupted, rest)
		}
		return said
	}
	interrupt("; with --pgn or --log FILE it could go on")
	said := interrupt(", and the same command goes on", "--pgn", "a.pgn")
	text := filetest.Read(t, filepath.Join(dir, "a.pgn"))
	if n, _ := strconv.Atoi(said[1]); n < 1 || strings.Count(string(text), "\n[Result ") != n {
		t.Errorf("%d games in the PGN, it says %d", strings.Count(string(text), "\n[Result "), n)
	}
}

// TestMatchPipe: games go into a pipe, which stays one, with no log beside it.
func TestMatchPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "a.pgn")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no pipes on this file system: %v", err)
	}
	p := start(t, dir, "match", "greedy", "random", "--games", "4", "--pgn", "a.pgn")
	text, err := os.ReadFile(pipe) // waits for the program
	if code, rest := p.exit(); err != nil || code != exitOK || strings.Count(string(text), "\n[Result ") != 4 {
		t.Errorf("exit code %d, %v: %s%s", code, err, text, rest)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
	glob(t, dir, "*", 1)
}

// TestMatchKill kills a match several times: with the same command it goes on,
// and its games are those of a match that was never killed.
func TestMatchKill(t *testing.T) {
	args := []string{"match", "--player1", "random-weights:3:16x1-plain", "--player2", "greedy", "--visits", "10", "--temperature", "1",
		"--games", "40", "--max-plies", "60", "--workers", "2", "--parallel", "1", "--pgn", "a.pgn"}
	whole, dir := t.TempDir(), t.TempDir()
	if code, rest := start(t, whole, args...).exit(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, rest)
	}
	for kills := range 3 {
		p := start(t, dir, args...)
		if kills > 0 {
			p.waitFor(" of this match: going on with the others")
		}
		p.waitFor("of 40 games, player 1 has")
		p.signal(os.Kill)
		p.exit()
		if _, games, err := arena.ReadLog(fsx.OS, filepath.Join(dir, "a.jsonl")); err != nil || len(games) <= kills || len(games) == 40 {
			t.Fatalf("%d games after %d kills: %v", len(games), kills+1, err)
		}
	}
	if code, rest := start(t, dir, args...).exit(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, rest)
	}
	var texts [2][]byte
	for i, d := range []string{whole, dir} {
		texts[i] = filetest.Read(t, filepath.Join(d, "a.pgn"))
		if _, err := os.Stat(filepath.Join(d, "a.jsonl")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the log of a match that ended is still there: %v", err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("other games than of a match that was never killed")
	}
}
