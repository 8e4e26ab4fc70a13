package tools

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
)

// Probe says what the reference does of the same position with its history, for
// each legal move under its UCI name and policy index.
func TestProbe(t *testing.T) {
	e, err := config.Resolve(config.Input{Overrides: []string{"selfplay.producer_device=cpu,selfplay.precision=FP32"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		arch, position string
		indices        map[string]uint16
		end            string
	}{
		{"8x2", "startpos", map[string]uint16{"g1f3": 159, "e2e4": 322, "h2h4": 403}, ""},
		{"8x1-mish", "startpos moves e2e4", map[string]uint16{"g8f6": 159, "e7e5": 322, "h7h5": 403}, ""}, // black's view
		{"4x1-plain-scalar-noml", "fen 4k3/P7/8/8/8/8/8/4K2R w K - 0 1", map[string]uint16{"e1g1": 103, "a7a8q": 1792, "a7a8n": 1401}, ""},
		{"8x1", "fen 4k3/8/8/8/8/8/4P3/4K3 w - - 13 40 moves e1d1 e8d8", map[string]uint16{"e2e4": 322}, ""},
		{"8x1", "startpos moves f2f3 e7e5 g2g4 d8h4", nil, "checkmate"},
	} {
		h, err := uci.ParsePosition(strings.Fields(c.position))
		if err != nil {
			t.Fatal(err)
		}
		n, err := OpenNet("random-weights:9:"+c.arch, NetForms)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Probe(context.Background(), e.Config, n, h)
		if err != nil {
			t.Fatal(err)
		}
		if p.End != c.end || (p.M == nil) == (n.Arch.Head(nn.MovesLeft) != nil) {
			t.Errorf("%s: end %q, M %v", c.position, p.End, p.M)
		}
		checkProbe(t, n.Net, c.position, p)
		got := map[string]uint16{}
		for _, m := range p.Moves {
			got[m.Move] = m.Index
		}
		for move, want := range c.indices {
			if got[move] != want {
				t.Errorf("%s: %s has policy index %d, want %d", c.position, move, got[move], want)
			}
		}
	}
}

func checkProbe(t *testing.T, n *nn.Net, position string, p *Probed) {
	t.Helper()
	h, err := uci.ParsePosition(strings.Fields(position))
	if err != nil {
		t.Fatal(err)
	}
	var masks [encoding.NumMasks]uint64
	var s encoding.Scalars
	encoding.Encode(h, &masks, &s)
	want := reference.Forward(n, &masks, &s)
	near := func(what string, got float32, want float64) {
		if math.Abs(float64(got)-want) > 1e-4*math.Max(1, math.Abs(want)) { // float32 sums
			t.Errorf("%s: %s is %v, want %v", position, what, got, want)
		}
	}
	near("W", p.W, want.WDL[0])
	near("D", p.D, want.WDL[1])
	near("L", p.L, want.WDL[2])
	near("V", p.V, want.WDL[0]-want.WDL[2])
	if p.M != nil {
		near("M", *p.M, want.MovesLeft)
	}
	var logits []float64
	for i, m := range p.Moves {
		logits = append(logits, want.Policy[m.Index])
		if i > 0 && m.P > p.Moves[i-1].P {
			t.Errorf("%s: %s stands behind a less likely move", position, m.Move)
		}
	}
	for i, v := range reference.Softmax(logits) {
		near("P of "+p.Moves[i].Move, p.Moves[i].P, v)
	}
}
