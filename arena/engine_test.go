package arena

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// engineMode is the variable that makes this test binary an engine.
const engineMode = "CHESSBRAIN_ARENA_TEST_ENGINE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(engineMode); mode != "" && len(os.Args) == 2 {
		fakeEngine(os.Args[1])
		return
	}
	os.Exit(m.Run())
}

// keyed chooses a move by the position alone.
func keyed(b *chess.Board, legal *chess.MoveList, _ *rand.Rand) chess.Move {
	return legal.Moves[b.Key()%uint64(legal.N)]
}

// fakeEngine is an engine that plays keyed moves, and misbehaves at each third
// move of its process as the mode says.
func fakeEngine(mode string) {
	in, line, moves := bufio.NewScanner(os.Stdin), chess.NewHistory(chess.StartBoard()), 0
	var legal chess.MoveList
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "uci":
			fmt.Println("id name Fake " + mode + "\noption name Level type spin default 1 min 0 max 9\nuciok")
		case "isready":
			fmt.Println("readyok")
		case "position":
			readPosition(line, words[1:])
		case "go":
			moves++
			b := line.Board()
			b.GenerateMoves(&legal)
			answer := "info depth 1 score cp -900\nbestmove " + b.UCI(keyed(b, &legal, nil), false)
			if moves%3 == 0 {
				switch mode {
				case "crash":
					fmt.Fprintln(os.Stderr, "segmentation fault")
					os.Exit(7)
				case "illegal":
					answer = "bestmove e1e5"
				case "slow":
					time.Sleep(60 * time.Millisecond)
				case "stuck": // until it is told to stop
					for in.Scan() && in.Text() != "stop" {
					}
				case "dead":
					time.Sleep(time.Hour) // until it is killed
				}
			}
			fmt.Println(answer)
		case "quit":
			return
		}
	}
}

// readPosition reads what follows the word "position".
func readPosition(line *chess.History, words []string) {
	start, n := chess.StartBoard(), 1
	if words[0] == "fen" {
		n = 7
		var err error
		if start, err = chess.ParseFEN(strings.Join(words[1:n], " ")); err != nil {
			panic(err)
		}
	}
	line.Reset(start)
	for _, text := range words[min(n+1, len(words)):] {
		m, err := line.Board().ParseUCI(text)
		if err != nil {
			panic(err)
		}
		line.Push(m)
	}
}

// fake returns the configuration of the fake engine.
func fake(t *testing.T, mode string, l Limits) EngineConfig {
	t.Helper()
	t.Setenv(engineMode, "1")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else each end takes a second under the race detector
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return EngineConfig{Path: self, Args: []string{mode}, Limits: l}
}

// newFake makes a player of it.
func newFake(t *testing.T, cfg EngineConfig) Player {
	t.Helper()
	p, err := NewEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEngine: an engine's games are those of a player that chooses the same
// moves in this process, over Chess openings and starts, with several processes
// at once, whichever way they are divided.
func TestEngine(t *testing.T) {
	book := append(openings(t, 3), Opening{Board: chesstest.Board(t, "r3k2r/pppp4/8/8/8/8/4PPPP/R3K2R b KQkq - 3 20")})
	same := &chooser{"Fake good", keyed}
	want := play(t, Config{Players: [2]Player{same, Greedy()}, Openings: book, Seed: 3, MaxPlies: 40})
	p := newFake(t, fake(t, "good", Limits{Nodes: 10}))
	for _, shape := range [][2]int{{1, 0}, {3, 0}, {1, 4}} {
		got := play(t, Config{Players: [2]Player{p, Greedy()}, Openings: book, Seed: 3, MaxPlies: 40, Workers: shape[0], Parallel: shape[1]})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: other games than of the player in this process: %+v", shape, Summarise(got.Games))
		}
	}
	both := play(t, Config{Players: [2]Player{p, p}, Openings: book, Seed: 3, MaxPlies: 40, Workers: 2})
	want = play(t, Config{Players: [2]Player{same, same}, Openings: book, Seed: 3, MaxPlies: 40})
	if !reflect.DeepEqual(both, want) {
		t.Error("engine against engine: other games")
	}
}

// TestEngineFails: what an engine does wrong costs it that game, with a reason,
// and it goes on with the next.
func TestEngineFails(t *testing.T) {
	for _, c := range []struct {
		mode   string
		limits Limits
		end    End
		note   string
	}{
		{"crash", Limits{Nodes: 1}, EndEngineDied, "segmentation fault"},
		{"illegal", Limits{Nodes: 1}, EndIllegal, `played "e1e5"`},
		{"slow", Limits{MoveTime: 30 * time.Millisecond}, EndTime, ""},
		{"slow", Limits{Base: 30 * time.Millisecond, Increment: 20 * time.Millisecond}, EndTime, ""},
		{"stuck", Limits{MoveTime: time.Millisecond}, EndTime, ""},
		{"dead", Limits{Nodes: 1}, EndEngineDied, "engine Fake dead: "},
	} {
		cfg, pairs := fake(t, c.mode, c.limits), 3
		switch c.mode {
		case "stuck":
			pairs = 1
		case "dead":
			cfg.Patience, cfg.grace, pairs = time.Second, 300*time.Millisecond, 1
		}
		r := play(t, Config{Players: [2]Player{Random(), newFake(t, cfg)}, Openings: openings(t, pairs), Seed: 1, Workers: 2})
		if len(r.Games) != 2*pairs {
			t.Errorf("%s: %d games", c.mode, len(r.Games))
		}
		checkFailuresPGN(t, r)
		for _, g := range r.Games {
			if g.End != c.end || g.Result(1) != -1 || g.Note == "" || !g.End.Failed() || !strings.Contains(g.Note, c.note) {
				t.Errorf("%s: game %d: %s, result %d, %q", c.mode, g.Number, g.End, g.Result(1), g.Note)
			}
		}
	}
}

// checkFailuresPGN reads the PGN of games in which a player failed.
func checkFailuresPGN(t *testing.T, r *Result) {
	t.Helper()
	r.Games[0].Note += strings.Repeat(" \u00e9", 200)
	var file bytes.Buffer
	if err := r.WritePGN(&file); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(file.String()) {
		if len(line) > 256 || !utf8.ValidString(line) {
			t.Errorf("line %q", line)
		}
	}
	i := 0
	err := pgn.Read(&file, pgn.ReadOptions{}, func(g *pgn.Game) error {
		want := &r.Games[i]
		termination := map[End]string{EndTime: "time forfeit", EndIllegal: "rules infraction", EndEngineDied: "abandoned"}[want.End]
		if g.Tag("EndReason") != string(want.End) || g.Tag("Termination") != termination || g.Tag("EndNote") == "" || !slices.Equal(g.Moves, want.Moves) {
			t.Errorf("game %d reads back with %v", i, g.Tags)
		}
		i++
		return nil
	})
	if err != nil || i != len(r.Games) {
		t.Errorf("%d games read back: %v", i, err)
	}
}

// said collects what engines say.
type said struct {
	mu    sync.Mutex
	text  bytes.Buffer
	heard func(string)
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard != nil {
		s.heard(string(p))
	}
	return s.text.Write(p)
}

// lines returns the lines with a beginning.
func (s *said) lines(begin string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.text.String()) {
		if strings.HasPrefix(line, begin) {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	return out
}

// TestEngineCommands: options, new games, and the clocks of both sides as they
// go down.
func TestEngineCommands(t *testing.T) {
	log := new(said)
	cfg := fake(t, "good", Limits{Base: 1000 * time.Second, Increment: 500 * time.Millisecond})
	cfg.Options, cfg.Log, cfg.Name = map[string]string{"level": "7"}, log, "engine"
	if got := cfg.String(); got != "tc=1000+0.5 level=7" {
		t.Errorf("%q", got)
	}
	p := newFake(t, cfg)
	r := play(t, Config{Players: [2]Player{p, Random()}, Openings: openings(t, 1), Seed: 1, MaxPlies: 20})
	if r.Names != [2]string{"engine", "random"} {
		t.Errorf("%q", r.Names)
	}
	if got := log.lines("> setoption"); !slices.Equal(slices.Compact(got), []string{"> setoption name Level value 7"}) {
		t.Errorf("%q", got)
	}
	if got := log.lines("> ucinewgame"); len(got) != 1 {
		t.Errorf("%d times ucinewgame for the second game of a process", len(got))
	}
	goes := log.lines("> go ")
	if len(goes) == 0 || goes[0] != "> go wtime 1000000 btime 1000000 winc 500 binc 500" {
		t.Fatalf("%q", goes)
	}
	for _, line := range goes {
		var w, b int
		if n, err := fmt.Sscanf(line, "> go wtime %d btime %d winc 500 binc 500", &w, &b); n != 2 || err != nil || w != b || w < 900_000 || w > 1_010_000 {
			t.Errorf("%q: random has no clock, so both are the engine's", line)
		}
	}
}

// TestEngineStopped cancels a match in the middle of a search.
func TestEngineStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var goes int
	log := &said{heard: func(line string) {
		if strings.HasPrefix(line, "> go") {
			if goes++; goes == 3 {
				cancel()
			}
		}
	}}
	cfg := fake(t, "stuck", Limits{Nodes: 1})
	cfg.Log = log
	r, err := Play(ctx, Config{Players: [2]Player{newFake(t, cfg), Random()}, Openings: openings(t, 1), Seed: 1})
	if !errors.Is(err, ErrStopped) || len(r.Games) != 0 {
		t.Errorf("%v, %d games", err, len(r.Games))
	}
	if got := log.lines("> quit"); len(got) != 2 { // of NewEngine's process, and of the match's
		t.Errorf("%d processes were told to quit", len(got))
	}
}

// TestEngineScores: an engine's scores count for adjudication.
func TestEngineScores(t *testing.T) {
	p := newFake(t, fake(t, "good", Limits{Nodes: 1}))
	r := play(t, Config{
		Players: [2]Player{p, Random()}, Openings: openings(t, 2), Seed: 1,
		Adjudicate: Adjudication{ResignScore: 900, ResignMoves: 4},
	})
	for _, g := range r.Games {
		if g.End != EndResign || g.Result(0) != -1 {
			t.Errorf("game %d: %s, %d", g.Number, g.End, g.Result(0))
		}
	}
}

// TestEngineErrors holds what is said of an engine that cannot play.
func TestEngineErrors(t *testing.T) {
	good := fake(t, "good", Limits{Nodes: 1})
	for want, change := range map[string]func(*EngineConfig){
		"its search has no end":    func(c *EngineConfig) { c.Limits = Limits{Margin: 1} },
		"exclude each other":       func(c *EngineConfig) { c.Limits = Limits{MoveTime: 1, Base: 1} },
		"no-such-engine":           func(c *EngineConfig) { c.Path = "no-such-engine" },
		`has no option "Depth"`:    func(c *EngineConfig) { c.Options = map[string]string{"Depth": "1"} },
		"a whole number from 0 to": func(c *EngineConfig) { c.Options = map[string]string{"Level": "10"} },
	} {
		cfg := good
		change(&cfg)
		if _, err := NewEngine(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	// An engine that is gone in mid-match ends it, with the games so far.
	e := newFake(t, good).(*engine)
	e.cfg.Path = "no-such-engine"
	r, err := Play(context.Background(), Config{Players: [2]Player{e, Random()}, Openings: openings(t, 1)})
	if err == nil || !strings.Contains(err.Error(), "player Fake good: ") || len(r.Games) != 0 {
		t.Errorf("%v", err)
	}
}
