package arena

import (
	"context"
	"math"
	"math/bits"
	"reflect"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// TestSettingsByColour: each colour searches as it should, game by game in the
// same seat.
func TestSettingsByColour(t *testing.T) {
	var settings [2]Settings
	for c := range settings {
		settings[c] = Settings{Search: mcts.DefaultConfig()}
		settings[c].Search.Simulations = 5 + 20*c
	}
	settings[chess.Black].Search.Gumbel.Enabled = true
	p, err := NewNet(NetConfig{Name: "a", Settings: settings, NewEvaluator: func(int) mcts.Evaluator { return new(mcts.HashEvaluator) }})
	if err != nil {
		t.Fatal(err)
	}
	table, err := p.NewTable(1)
	if err != nil {
		t.Fatal(err)
	}
	seat, line := table.NewSeat().(*netSeat), chess.NewHistory(chess.StartBoard())
	var legal chess.MoveList
	line.Board().GenerateMoves(&legal)
	for range 2 {
		for c, s := range settings {
			seat.Start(line, chess.Color(c), nil)
			rounds := 0
			for _, ok := seat.Step(line, &legal); !ok; _, ok = seat.Step(line, &legal) {
				rounds++
				if err := table.Round(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			root := seat.search.Root()
			if visits := int(root.N) - 1; visits != s.Search.Simulations || (root.Target != nil) != s.Search.Gumbel.Enabled || rounds == 0 {
				t.Errorf("as %s: %d visits in %d rounds, target %v", chess.Color(c), visits, rounds, root.Target)
			}
		}
	}
}

// material values a position by its men and knows no policy.
type material struct{}

func (material) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		prior, sum := b.PriorOf(i), 0
		for k := range prior {
			prior[k] = 1 / float32(len(prior))
		}
		for pt, value := range chess.PieceValue[:chess.King] { // planes 0 to 5 are our men, 6 to 11 theirs
			sum += value * (bits.OnesCount64(b.Masks[i][pt]) - bits.OnesCount64(b.Masks[i][6+pt]))
		}
		win := float32(0.5 + 0.5*math.Tanh(float64(sum)/5))
		b.WDL[i] = [3]float32{win, 0, 1 - win}
	}
	return nil
}

// TestStronger: the same net with more visits wins, whichever player it is.
func TestStronger(t *testing.T) {
	player := func(visits int) Player {
		s := Settings{Search: mcts.DefaultConfig(), TreeReuse: true}
		s.Search.Simulations = visits
		p, err := NewNet(NetConfig{Name: "material", NewEvaluator: func(int) mcts.Evaluator { return material{} }, Settings: [2]Settings{s, s}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	cfg := Config{Players: [2]Player{player(100), player(2)}, Openings: openings(t, 20), Seed: 1, MaxPlies: 200, Workers: 2}
	s := Summarise(play(t, cfg).Games)
	if !(s.Estimate.Low > 0) {
		t.Errorf("100 visits against 2: %+v", s)
	}
	cfg.Players[0], cfg.Players[1] = cfg.Players[1], cfg.Players[0]
	if m := Summarise(play(t, cfg).Games); m.Wins != s.Losses || m.Draws != s.Draws || m.Points()+s.Points() != 40 {
		t.Errorf("2 visits against 100: %+v, the other way round %+v", m, s)
	}
}

// TestTemperature: chance comes only with a temperature, and only for its plies.
func TestTemperature(t *testing.T) {
	games := func(temperature float64, plies int, seed uint64) []Game {
		p := hashNet(t, "a", 1, 20, func(s *Settings) { s.Temperature, s.TemperaturePlies = temperature, plies })
		return play(t, Config{Players: [2]Player{p, p}, Openings: openings(t, 3), Seed: seed, MaxPlies: 40}).Games
	}
	if !reflect.DeepEqual(games(0, 30, 1), games(0, 30, 2)) || !reflect.DeepEqual(games(1, 0, 1), games(0, 0, 2)) {
		t.Error("chance without a temperature")
	}
	a, b := games(1, 30, 1), games(1, 30, 2)
	if reflect.DeepEqual(a, b) || reflect.DeepEqual(a[0].Moves, a[1].Moves) {
		t.Error("no chance with a temperature")
	}
}

// TestSettingsErrors holds what is said of settings out of range.
func TestSettingsErrors(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"no simulations":   func(s *Settings) { s.Search.Simulations = 0 },
		"cpuct is -1":      func(s *Settings) { s.Search.CPUCT = -1 },
		"temperature -1 f": func(s *Settings) { s.Temperature = -1 },
		"for -1 plies":     func(s *Settings) { s.TemperaturePlies = -1 },
	} {
		good := Settings{Search: mcts.DefaultConfig()}
		bad := good
		change(&bad)
		_, err := NewNet(NetConfig{Name: "a", Settings: [2]Settings{good, bad}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "player a as black") {
			t.Errorf("%q: %v", want, err)
		}
	}
}
