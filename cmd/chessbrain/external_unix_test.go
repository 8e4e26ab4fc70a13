//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/chess/uci"
)

// foreign returns the path of a program that others wrote, or skips the test.
func foreign(t *testing.T, name string) string {
	t.Helper()
	path, err := uci.FindEngine(name) // it looks in /usr/games, too
	if err != nil {
		t.Skipf("SKIPPED, nothing is tested with %s (apt-get install xboard polyglot xvfb pgn-extract stockfish): %v", name, err)
	}
	return path
}

// TestPGNExtract has another program read the PGN of matches: every game, and the
// same moves as we read.
func TestPGNExtract(t *testing.T) {
	extract := foreign(t, "pgn-extract")
	dir := t.TempDir()
	const games = 60
	p := start(t, dir, "match", "--player1", "random", "--player2", "greedy", "--games", fmt.Sprint(games), "--pgn", "a.pgn")
	if code, rest := p.exit(); code != 0 {
		t.Fatalf("exit code %d: %s", code, rest)
	}
	f, err := os.Open(filepath.Join(dir, "a.pgn"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var want []string
	err = pgn.Read(f, pgn.ReadOptions{}, func(g *pgn.Game) error {
		board, moves := g.Start, []string{}
		for _, m := range g.Moves {
			moves = append(moves, board.UCI(m, false))
			board.Make(m)
		}
		want = append(want, strings.Join(append(moves, g.Result), " "))
		return nil
	})
	if err != nil || len(want) != games {
		t.Fatalf("%d games, %v", len(want), err)
	}
	cmd := exec.Command(extract, "-Wuci", "--notags", "-C", "-w100000", filepath.Join(dir, "a.pgn"))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || !strings.Contains(said.String(), fmt.Sprintf("%d games matched out of %d.", games, games)) {
		t.Fatalf("%v: %s", err, said.String())
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			got = append(got, line)
		}
	}
	if len(got) != games {
		t.Fatalf("%d games come out, want %d", len(got), games)
	}
	for i := range got {
		if !strings.EqualFold(got[i], want[i]) { // it writes promotions as e7e8Q
			t.Fatalf("game %d: pgn-extract reads\n%s, want\n%s", i+1, got[i], want[i])
		}
	}
}

// TestExternalGames plays under xboard through polyglot against stockfish. Depth
// ends the searches and the clocks are long, so that a busy machine loses no game.
func TestExternalGames(t *testing.T) {
	if testing.Short() {
		t.Skip("games under xboard take some seconds")
	}
	for _, name := range []string{"bash", "xboard", "polyglot", "Xvfb", "pgn-extract", "stockfish"} {
		foreign(t, name)
	}
	cmd := external(t, "4")
	cmd.Env = append(cmd.Env, "TC=9:00", "DEPTH=2")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "4 games against stockfish: ") {
		t.Errorf("%v: %s", err, out)
	}
}

// external returns the script with this program and a temporary directory.
func external(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("chessbrain")
	if err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../scripts/external_games.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{script}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "CHESSBRAIN="+program, "OUT="+filepath.Join(cmd.Dir, "out"))
	return cmd
}

// TestExternalGamesRefuses holds what the script says before it starts anything.
func TestExternalGamesRefuses(t *testing.T) {
	for _, name := range []string{"bash", "xboard", "polyglot", "Xvfb", "pgn-extract", "stockfish"} {
		foreign(t, name)
	}
	for args, says := range map[string]string{
		"0": `"0" is no number of games`, "many": `"many" is no number of games`, "2 fritz": `no opponent "fritz"`, "2 stockfish 3": "usage: ",
	} {
		cmd := external(t, strings.Fields(args)...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v: %s", args, err, out)
		}
		if _, err := os.Stat(filepath.Join(cmd.Dir, "out")); err == nil {
			t.Errorf("%s: files were made", args)
		}
	}
	for setting, says := range map[string]string{
		"TC=5": "TC=5: want minutes:seconds", "INC=x": "INC=x: want seconds", "DEPTH=0": "DEPTH=0: want 1 to 99", "NET=none": "there is no such file",
		"CHESSBRAIN=none": "there is no program none",
	} {
		cmd := external(t, "2")
		cmd.Env = append(cmd.Env, setting)
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v: %s", setting, err, out)
		}
	}
}
