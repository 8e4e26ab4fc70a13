package ratings

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/catalogue"
)

// engineMode is the variable that makes this test binary an engine, which has no
// option Skill Level where its value is "plain".
const engineMode = "CHESSBRAIN_RATINGS_TEST_ENGINE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(engineMode); mode != "" {
		engine(mode)
		return
	}
	code := m.Run()
	os.RemoveAll(templateDir)
	os.Exit(code)
}

// engine plays the first move of each position.
func engine(mode string) {
	in, b := bufio.NewScanner(os.Stdin), chess.StartBoard()
	var legal chess.MoveList
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "uci":
			fmt.Println("id name Fake Engine 1.0 (test)")
			if mode != "plain" {
				fmt.Println("option name Skill Level type spin default 20 min 0 max 20")
			}
			fmt.Println("uciok")
		case "isready":
			fmt.Println("readyok")
		case "position":
			b = position(words[1:])
		case "go":
			b.GenerateMoves(&legal)
			fmt.Println("bestmove " + b.UCI(legal.Moves[0], false))
		case "quit":
			return
		}
	}
}

// position reads the arguments of UCI's command of that name.
func position(words []string) chess.Board {
	b := chess.StartBoard()
	if words[0] == "fen" {
		b, _ = chess.ParseFEN(strings.Join(words[1:7], " "))
	}
	for i, word := range words {
		if word != "moves" {
			continue
		}
		for _, text := range words[i+1:] {
			m, err := b.ParseUCI(text)
			if err != nil {
				panic(err)
			}
			b.Make(m)
		}
	}
	return b
}

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// small is the architecture of the tests' nets.
func small() nn.Arch { return nntest.Resized(nn.Tower(8, 1), 4, 8, 2, 8) }

// putNet writes a net of a seed into a directory of the run, as if at a time in
// seconds, and returns its path.
func putNet(root, dir, name string, seed uint64, at int64) (string, error) {
	path := filepath.Join(root, dir, name+".safetensors")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	meta := map[string]string{"job": "job", "step": "7", "samples": "100", "rows": "50", "weights": "raw", "program": "chessbrain test"}
	var file bytes.Buffer
	if err := nn.WriteSafetensors(&file, nn.Init(small(), seed), meta); err != nil {
		return "", err
	}
	if err := os.WriteFile(path, file.Bytes(), 0o666); err != nil {
		return "", err
	}
	return path, os.Chtimes(path, time.Unix(at, 0), time.Unix(at, 0))
}

// put is putNet that must work.
func put(t *testing.T, root, dir, name string, seed uint64, at int64) string {
	t.Helper()
	path, err := putNet(root, dir, name, seed, at)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// putMatch writes the log of a match of so many games, all with one result for
// player 1 (+1, 0, -1).
func putMatch(t *testing.T, path string, a, b arena.LogPlayer, games, result int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	log, done, err := arena.OpenLog(fsx.OS, path, arena.LogHeader{Players: [2]arena.LogPlayer{a, b}, Program: "test", Began: time.Unix(5, 0)})
	if err != nil || len(done) > 0 {
		t.Fatalf("%d games, %v", len(done), err)
	}
	for i := range games {
		g := arena.Game{Number: i, White: i % 2, Start: chess.StartBoard(), WhiteResult: int8(result), End: arena.EndMaxPlies}
		if i%2 == 1 {
			g.WhiteResult = -g.WhiteResult
		}
		if err := log.Add(&g); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// update brings the catalogue of a run up to date, which must work.
func update(t *testing.T, root string, rebuild bool) *catalogue.Catalogue {
	t.Helper()
	c, err := Update(t.Context(), root, UpdateOptions{Rebuild: rebuild})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// netOf returns a net of the catalogue.
func netOf(t *testing.T, c *catalogue.Catalogue, name string) catalogue.Net {
	t.Helper()
	for _, n := range c.Nets {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("no net %s in %+v", name, c.Nets)
	return catalogue.Net{}
}

// options are those of a rater that plays short games: two of two visits, where
// rating does not say otherwise.
func options(t *testing.T, root, rating string) Options {
	t.Helper()
	for _, field := range []string{"games:", "visits:"} {
		if !strings.Contains(rating, field) {
			rating += " " + field + " 2"
		}
	}
	file, err := config.Parse("test.textproto", fmt.Appendf(nil, "run_dir: %q job_id: \"job\" loop { rating { %s } }", root, rating))
	if err != nil {
		t.Fatal(err)
	}
	e, err := config.Resolve(config.Input{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return Options{Effective: e, Command: "test", Version: "test", Log: discard(), maxPlies: 12}
}

// play plays what is missing, which must work.
func play(t *testing.T, opt Options) *Summary {
	t.Helper()
	s, err := Play(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
