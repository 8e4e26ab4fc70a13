package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/mcts"
)

// flagLine collects flags, and parses a command line of them as a command does:
// --name value, --name=value, and of those that stand alone --name.
type flagLine map[string]Flag

func (l flagLine) bind(f Flag) { l[f.Name] = f }

func (l flagLine) parse(args ...string) error {
	for ; len(args) > 0; args = args[1:] {
		name, value, has := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		f, ok := l[name]
		switch {
		case !ok:
			return fmt.Errorf("unknown flag %s", args[0])
		case !has && f.Alone != "":
			value = f.Alone
		case !has:
			value, args = args[1], args[1:]
		}
		if err := f.Value.Set(value); err != nil {
			return err
		}
	}
	return nil
}

// parseSettings reads a command line of settings.
func parseFlags(t *testing.T, text string) Flags {
	t.Helper()
	flags := flagLine{}
	settings := NewFlags(flags.bind)
	if err := flags.parse(strings.Fields(text)...); err != nil {
		t.Fatal(err)
	}
	return settings
}

// TestMatchSettings: a player's flag goes before a colour's, and that before
// one of both, whatever their order.
func TestMatchSettings(t *testing.T) {
	type visits [2]int // as white, as black
	for line, want := range map[string][2]visits{
		"":                                    {{100, 100}, {100, 100}},
		"--visits 7":                          {{7, 7}, {7, 7}},
		"--white.visits 9 --visits=7":         {{9, 7}, {9, 7}},
		"--player2.visits 3 --black.visits 8": {{100, 8}, {3, 3}},
		"--player1.visits 1 --player2.visits 2 --visits 3 --white.visits 4": {{1, 1}, {2, 2}},
	} {
		flags := parseFlags(t, line)
		for player := range want {
			got := flags.of(player+1, 0, mcts.DefaultConfig())
			if have := (visits{got[chess.White].Search.Simulations, got[chess.Black].Search.Simulations}); have != want[player] {
				t.Errorf("%q: player %d has %v visits, want %v", line, player+1, have, want[player])
			}
		}
	}
	flags := parseFlags(t, "--player1.gumbel --tree-reuse=false --black.temperature 0.5 --cpuct 2 --player2.cpuct 3")
	one, two := flags.of(1, 0, mcts.DefaultConfig()), flags.of(2, 0, mcts.DefaultConfig())
	if !one[0].Search.Gumbel.Enabled || two[0].Search.Gumbel.Enabled || one[0].TreeReuse || two[1].TreeReuse ||
		one[1].Temperature != 0.5 || one[0].Temperature != 0 || one[0].Search.CPUCT != 2 || two[0].Search.CPUCT != 3 {
		t.Errorf("player 1 %+v, player 2 %+v", one, two)
	}
	if got, want := one[1].describe(), "visits=100 cpuct=2 gumbel=true tree-reuse=false temperature=0.5"; got != want {
		t.Errorf("player 1 as black: %q, want %q", got, want)
	}
}

// TestMatchSettingsDefaults: the flags show the defaults, which are in range.
func TestMatchSettingsDefaults(t *testing.T) {
	for _, v := range parseFlags(t, "")[""] {
		if v.forWhom != forNets {
			continue
		}
		var s tuning
		set, err := v.read(v.text)
		if err != nil {
			t.Fatal(err)
		}
		if set(&s); v.get(&s) != v.text {
			t.Errorf("--%s shows %q as its default", v.name, v.text)
		}
	}
}

// TestMatchReport holds the text of a match.
func TestMatchReport(t *testing.T) {
	game := func(number int, whiteResult int8, end arena.End, plies int) arena.Game {
		return arena.Game{Number: number, White: number % 2, WhiteResult: whiteResult, End: end, Moves: make([]chess.Move, plies)}
	}
	r := Report{
		Players: [2]*Player{{Name: "run_step7", NetID: "ab", WhiteSearch: "visits=9", BlackSearch: "visits=16 gumbel=true"}, {Name: "greedy"}}, Games: 6, Seed: 3, Seconds: 1.25,
		Summary: arena.Summarise([]arena.Game{
			game(0, 1, arena.EndCheckmate, 40), game(1, -1, arena.EndCheckmate, 50), // both won
			game(2, 0, "stalemate", 60), game(3, 0, arena.EndMaxPlies, 450),
			game(5, 1, arena.EndCheckmate, 50), // its pair is not finished
		}),
	}
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	const want = `player 1  run_step7, as white visits=9, as black visits=16 gumbel=true
player 2  greedy
games     5 of 6, seed 3, 1.2 s
result    +2 =2 -1, 3.0 points (60.0 %)
as white  +1 =1 -0
as black  +1 =1 -1
pairs     2: 0 points 0, 1/2 0, 1 1, 3/2 0, 2 1
Elo       +70.4, 95 % interval -188.3 to +Inf, LOS 92.14 %
ends      checkmate 3, max-plies 1, stalemate 1
length    130.0 plies a game
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	out.Reset()
	if err := json.NewEncoder(&out).Encode(&Report{Players: r.Players, Games: 6, Summary: arena.Summarise(nil)}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"games":6,`, `"wins":0,`, `"elo":null`, `"mean_plies":null`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %s in %s", part, out.String())
		}
	}
}

// TestMatchLimits: a player's limit goes before one of both, and a time of its
// own, of either kind, replaces both players' times.
func TestMatchLimits(t *testing.T) {
	for line, want := range map[string][2]string{
		"":          {"", ""},
		"--nodes 7": {"nodes=7", "nodes=7"},
		"--player2.nodes 3 --nodes 7 --player1.depth 2":     {"nodes=7 depth=2", "nodes=3"},
		"--tc 10+0.1 --player2.movetime 50ms":               {"tc=10+0.1", "movetime=50ms"},
		"--movetime 1s --player1.tc 1:00 --player1.nodes 9": {"nodes=9 tc=60+0", "movetime=1s"},
		"--tc 10+1 --player1.tc 5 --player2.movetime 1ms":   {"tc=5+0", "movetime=1ms"},
	} {
		f := flagLine{}
		flags := NewFlags(f.bind)
		if err := f.parse(strings.Fields(line)...); err != nil {
			t.Fatal(err)
		}
		for player := range want {
			if l := flags.of(player+1, time.Second, mcts.DefaultConfig())[0].limits; l.String() != want[player] || l.Margin != time.Second {
				t.Errorf("%q: player %d has %q, want %q", line, player+1, l.String(), want[player])
			}
		}
	}
	f := flagLine{}
	flags := NewFlags(f.bind)
	if err := f.parse("--option", "Hash=1", "--player1.option", "Skill Level=0", "--option", "Ponder", "--player1.option", "Hash=a=b"); err != nil {
		t.Fatal(err)
	}
	one, two := flags.of(1, 0, mcts.DefaultConfig())[0].options, flags.of(2, 0, mcts.DefaultConfig())[0].options
	if !maps.Equal(one, map[string]string{"Hash": "a=b", "Skill Level": "0", "Ponder": ""}) || !maps.Equal(two, map[string]string{"Hash": "1", "Ponder": ""}) {
		t.Errorf("options %v and %v", one, two)
	}
	if err := f.parse("--option", "=1"); err == nil {
		t.Error("an option without a name is taken")
	}
}

// TestMatchRules: the text of the rules, and of a test, in a report.
func TestMatchRules(t *testing.T) {
	r := Rules{Adjudicate: arena.Adjudication{ResignScore: 800, ResignMoves: 4, DrawScore: 5, DrawMoves: 6, DrawFromMove: 30}, Tables: "/tb"}
	if got := r.String(); got != "resign=800x4, draw=5x6 from 30, syzygy=/tb" {
		t.Errorf("%q", got)
	}
	if got := (&Rules{}).String(); got != "" {
		t.Errorf("%q", got)
	}
	test, err := parseSPRT("-5, 5.5,0.1,0.2")
	if err != nil || *test != (arena.SPRT{Elo0: -5, Elo1: 5.5, Alpha: 0.1, Beta: 0.2}) {
		t.Fatal(test, err)
	}
	r.sprt = test
	if got, want := r.report(nil).String(), "-5 against 5.5 Elo (alpha 0.1, beta 0.2): LLR 0.00 of -1.50 to 2.08 after 0 pairs, not decided"; got != want {
		t.Errorf("%q", got)
	}
}

// TestMatchProgress: a failure is told with its reason.
func TestMatchProgress(t *testing.T) {
	var out strings.Builder
	tell := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	tellProgress(tell)(&arena.Game{Number: 3, White: 1, WhiteResult: -1, End: arena.EndTime, Note: "sf took 2s"},
		arena.Progress{Count: arena.Count{Wins: 2, Draws: 1}, Total: 8})
	const want = "game 4: time-forfeit: sf took 2s\n3 of 8 games, player 1 has 2.5 points (83.3 %)\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// TestTwoMatches: two matches do not write one log or one PGN, and a match leaves no lock.
func TestTwoMatches(t *testing.T) {
	dir := t.TempDir()
	pairs := [][2]Options{
		{{Log: dir + "/a.jsonl"}, {Log: dir + "/a.jsonl"}}, {{PGN: dir + "/b.pgn"}, {PGN: dir + "/b.pgn"}},
		{{PGN: dir + "/c.pgn", Log: NoLog}, {PGN: dir + "/c.pgn", Log: dir + "/c"}},
	}
	if err := errors.Join(os.WriteFile(dir+"/d.jsonl", nil, 0o666), os.Symlink("d.jsonl", dir+"/link")); err == nil {
		pairs = append(pairs, [2]Options{{Log: dir + "/d.jsonl"}, {Log: dir + "/link"}})
	}
	for _, files := range pairs {
		var matches [2]*Match
		for i := range matches {
			o := files[i]
			o.Specs, o.Games, o.Tell, o.Flags = [2]string{"greedy", "random"}, 2, t.Logf, parseFlags(t, "")
			var err error
			if matches[i], err = New(&o); err != nil {
				t.Fatal(err)
			}
		}
		if err := matches[0].OpenLog(); err != nil {
			t.Fatal(err)
		}
		err := matches[1].OpenLog()
		if _, held := errors.AsType[*fsx.LockedError](err); !held || !strings.Contains(err.Error(), "another match writes "+dir) {
			t.Errorf("log %q, PGN %q: the second match: %v", files[1].Log, files[1].PGN, err)
		}
		if err := errors.Join(matches[0].closeLog(true), matches[0].Close(), matches[1].OpenLog(), matches[1].closeLog(true), matches[1].Close()); err != nil {
			t.Error(err)
		}
	}
	if found, err := filepath.Glob(dir + "/*lock*"); err != nil || len(found) > 0 {
		t.Errorf("there are %v, %v", found, err)
	}
}
