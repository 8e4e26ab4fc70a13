package ladder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
)

// engineMode is the variable that makes this test binary an engine.
const engineMode = "CHESSBRAIN_LADDER_TEST_ENGINE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(engineMode); mode != "" {
		fakeEngine(mode)
		return
	}
	os.Exit(m.Run())
}

// fakeEngine calls itself Stockfish and plays random moves; the mode says what is wrong
// with it.
func fakeEngine(mode string) {
	name, nodes, depth := Program, int64(1000), 1
	switch mode {
	case "other":
		name = "Crafty"
	case "newer":
		name = "Stockfish 99"
	case "cheats":
		nodes = 1_000_000
	}
	if path, ok := strings.CutPrefix(mode, "starts "); ok { // the file has a point for each start; at the last of them it ends
		left, _ := os.ReadFile(path)
		if string(left) == "." {
			os.Remove(path)
			os.Exit(7)
		} else if len(left) > 0 {
			os.WriteFile(path, left[1:], 0o600)
		}
	}
	in, rng, moves := bufio.NewScanner(os.Stdin), rand.New(rand.NewPCG(1, 2)), 0
	var line *chess.History
	for in.Scan() {
		words := strings.Fields(in.Text())
		switch words[0] {
		case "uci":
			fmt.Println("id name " + name + "\noption name Threads type spin default 1 min 1 max 8\noption name Hash type spin default 16 min 1 max 64")
			if mode != "old" {
				fmt.Println("option name Skill Level type spin default 20 min 0 max 20")
			}
			fmt.Println("uciok")
		case "isready":
			fmt.Println("readyok")
		case "position":
			var err error
			if line, err = uci.ParsePosition(words[1:]); err != nil {
				panic(err)
			}
		case "go":
			if moves++; mode == "crashes" && moves > 2 {
				os.Exit(7)
			}
			var legal chess.MoveList
			line.Board().GenerateMoves(&legal)
			fmt.Printf("info depth %d nodes %d\nbestmove %s\n", depth, nodes, line.Board().UCI(legal.Moves[rng.IntN(legal.N)], false))
		case "quit":
			return
		}
	}
}

// fake returns the test binary as an engine of a mode.
func fake(t *testing.T, mode string) *Engine {
	t.Helper()
	t.Setenv(engineMode, mode)
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Engine{Path: path, Name: Program}
}

func TestFindEngine(t *testing.T) {
	for mode, want := range map[string]string{
		"good": "", "newer": "", "other": "calls itself Crafty", "old": "too old", "cheats": "does not keep its limits",
	} {
		e, err := FindEngine(t.Context(), fake(t, mode).Path)
		if want == "" {
			if err != nil || (e.Doubt() != "") != (mode == "newer") {
				t.Errorf("%s: %v, doubt of %+v", mode, err, e)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", mode, err, want)
		}
	}
	if _, err := FindEngine(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a program that is not there is found")
	}
}

// options are those of a climb without an engine.
func options(t *testing.T) Options {
	return Options{Games: 60, Error: 60, Seed: 3, Workers: 2, Tell: t.Logf}
}

// A player between two rungs is found there; the same climb in two parts, the first of
// which was stopped, comes to the same.
func TestClimb(t *testing.T) {
	player := arena.Erratic("between", arena.Greedy(), 0.4)
	log := arena.LogPlayer{Name: "between"}
	o := options(t)
	whole, err := Climb(t.Context(), player, log, o)
	if err != nil {
		t.Fatal(err)
	}
	var low, high float64
	for _, r := range Rungs() {
		switch r.Name {
		case "greedy-50-random":
			low = r.Elo
		case "greedy-25-random":
			high = r.Elo
		}
	}
	if whole.Elo < low-60 || whole.Elo > high+60 || whole.Error > 60 || whole.Bound != "" || len(whole.Rungs) < 2 {
		t.Errorf("%+v, want a rating from %.0f to %.0f", whole, low, high)
	}
	o.Keep = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	o.Tell = func(string, ...any) {
		if told++; told == 2 {
			if _, err := Climb(t.Context(), player, log, o); err == nil || !strings.Contains(err.Error(), "another ladder plays them, wait for its end") {
				t.Errorf("two climbs keep the same games: %v", err)
			}
			cancel()
		}
	}
	if part, err := Climb(ctx, player, log, o); !errors.Is(err, context.Canceled) || part.Games >= whole.Games {
		t.Fatalf("stopped: %v, %+v", err, part)
	}
	o.Tell = t.Logf
	again, err := Climb(t.Context(), player, log, o)
	if err != nil {
		t.Fatal(err)
	}
	again.Seconds = whole.Seconds
	if !reflect.DeepEqual(again, whole) {
		t.Errorf("after a stop\n%+v\nat once\n%+v", again, whole)
	}
	// With less games than are kept, those count that a shorter climb has.
	o.Games, o.Rungs = 20, []string{"random"}
	if r, err := Climb(t.Context(), player, log, o); err != nil || r.Games != 20 {
		t.Errorf("%v, %+v", err, r)
	}
}

// Who wins everything is at least so strong, and the climb ends.
func TestClimbBeyond(t *testing.T) {
	o := options(t)
	o.Rungs = []string{"random"}
	r, err := Climb(t.Context(), arena.Greedy(), arena.LogPlayer{Name: "greedy"}, o)
	if err != nil || r.Games != 60 || len(r.Rungs) != 1 {
		t.Fatalf("%v, %+v", err, r)
	}
	if r.Rungs[0].Losses+r.Rungs[0].Draws == 0 && !strings.HasPrefix(r.Rating(), "at least") {
		t.Errorf("%s after %+v", r.Rating(), r.Rungs[0])
	}
	o.Rungs = []string{"third"}
	if _, err := Climb(t.Context(), arena.Greedy(), arena.LogPlayer{}, o); !errors.Is(err, ErrRung) {
		t.Errorf("a rung that is none: %v", err)
	}
}

// Games that the player loses on time are counted and told: they say more of the machine.
func TestLate(t *testing.T) {
	lost := arena.Game{White: 0, WhiteResult: -1, End: arena.EndTime}
	won := arena.Game{White: 0, WhiteResult: 1, End: arena.EndTime}
	c := &climb{options: &Options{}, rungs: []*opponent{{Rung: Rungs()[0], pairing: pairing{games: []arena.Game{lost, won, lost}}}}}
	r := c.report()
	if r.Late != 2 {
		t.Errorf("%d games were lost on time, want 2", r.Late)
	}
	var out strings.Builder
	if err := (&Result{Net: "late", Climbs: []*Report{r}}).Write(&out); err != nil || !strings.Contains(out.String(), "! 2 of these games were lost on time") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// An engine that fails marks its rung, and the others are played.
func TestEngineFails(t *testing.T) {
	o := options(t)
	o.Games, o.Rungs = 4, []string{"random", "skill-0", "nodes-30"}
	o.Engine = fake(t, "crashes")
	r, err := Climb(t.Context(), arena.Greedy(), arena.LogPlayer{Name: "greedy"}, o)
	if err != nil || len(r.Rungs) != 3 || r.Games != 4 || r.Rungs[0].Trouble != "" ||
		!strings.Contains(r.Rungs[1].Trouble, "engine failed") || !strings.Contains(r.Rungs[2].Trouble, "engine failed") {
		t.Fatalf("%v, %+v", err, r)
	}
	var text bytes.Buffer
	if err := (&Result{Climbs: []*Report{r}}).Write(&text); err != nil || !strings.Contains(text.String(), "does not count: its engine failed") {
		t.Errorf("%v\n%s", err, text.String())
	}
	o.Keep = t.TempDir() // the games that it lost so do not count after a stop, either
	for range 2 {
		if r, err = Climb(t.Context(), arena.Greedy(), arena.LogPlayer{Name: "greedy"}, o); err != nil || r.Games != 4 || r.Rungs[1].Trouble == "" {
			t.Errorf("%v, %+v", err, r)
		}
	}
	o.Keep = ""
	o.Engine = &Engine{Path: filepath.Join(t.TempDir(), "gone"), Name: Program}
	if r, err = Climb(t.Context(), arena.Greedy(), arena.LogPlayer{Name: "greedy"}, o); err != nil || r.Games != 4 || !strings.Contains(r.Rungs[1].Trouble, "find the engine") {
		t.Errorf("%v, %+v", err, r)
	}
	o.Engine = nil
	if r, err = Climb(t.Context(), arena.Greedy(), arena.LogPlayer{Name: "greedy"}, o); err != nil || r.Games != 4 || r.Rungs[1].Trouble == "" {
		t.Errorf("%v, %+v", err, r)
	}
}

// An engine that does not start once, in the middle of a climb, is tried again.
func TestEngineStartsLate(t *testing.T) {
	o := options(t)
	o.Games, o.Workers, o.Rungs = 4, 1, []string{"skill-0"}
	left := filepath.Join(t.TempDir(), "left")
	o.Engine = fake(t, "starts "+left)
	if err := os.WriteFile(left, []byte(".."), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Climb(t.Context(), arena.Greedy(), arena.LogPlayer{Name: "greedy"}, o)
	if _, there := os.Stat(left); err != nil || r.Games != 4 || r.Rungs[0].Trouble != "" || there == nil {
		t.Errorf("%v, %+v, failed: %t", err, r, there != nil)
	}
}

// A calibration of the rungs without an engine finds their order.
func TestCalibrate(t *testing.T) {
	o := options(t)
	o.Games, o.Keep = 40, t.TempDir()
	rungs, err := Calibrate(t.Context(), o)
	if err != nil || len(rungs) != 5 || rungs[0].Name != "random" || rungs[0].Elo != 0 || rungs[4].Name != "greedy" {
		t.Fatalf("%v, %+v", err, rungs)
	}
	if again, err := Calibrate(t.Context(), o); err != nil || !reflect.DeepEqual(again, rungs) {
		t.Errorf("from the games that were kept: %v, %+v", err, again)
	}
}

// docs/LADDER.md has the ladder as it is.
func TestDocs(t *testing.T) {
	var table strings.Builder
	if err := WriteRungs(&table, Rungs()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/LADDER.md")
	if err != nil || !strings.Contains(string(text), table.String()) {
		t.Errorf("%v; docs/LADDER.md lacks what `chessbrain ladder rungs` prints:\n%s", err, table.String())
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]Limit{"1": {Visits: 1}, "400": {Visits: 400}, "100ms": {Time: 100 * time.Millisecond}} {
		if got, err := ParseLimit(text); err != nil || got != want {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1h", "2000000", "0s", "many"} {
		if l, err := ParseLimit(text); err == nil {
			t.Errorf("%q is %+v", text, l)
		}
	}
}
