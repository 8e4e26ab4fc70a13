//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestMatchInterrupt stops a match: it exits with 5 and the finished games are
// in the PGN.
func TestMatchInterrupt(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, "match", "--player1", "random", "--player2", "random", "--games", "40000", "--pgn", "a.pgn")
	p.waitFor("of 40000 games, player 1 has")
	p.signal(os.Interrupt)
	p.waitFor("press Ctrl-C again to end at once")
	code, rest := p.exit()
	said := regexp.MustCompile(`chessbrain: match interrupted after (\d+) of 40000 games; `).FindStringSubmatch(rest)
	if code != exitInterrupted || said == nil {
		t.Fatalf("exit code %d, want %d: %s", code, exitInterrupted, rest)
	}
	text, err := os.ReadFile(filepath.Join(dir, "a.pgn"))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := strconv.Atoi(said[1]); n < 1 || strings.Count(string(text), "\n[Result ") != n {
		t.Errorf("%d games in the PGN, it says %d", strings.Count(string(text), "\n[Result "), n)
	}
}
