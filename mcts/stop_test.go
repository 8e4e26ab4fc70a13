package mcts

import (
	"math"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

func TestSmartPruningKeepsTheMostVisitedMove(t *testing.T) {
	saved := 0
	for i, fen := range signaturePositions {
		for _, batch := range []int{1, 4} {
			cfg := config(400)
			cfg.MaxBatch = batch
			full := search(t, cfg, nil, position(t, fen), &HashEvaluator{Seed: uint64(i)}, nil)
			cfg.Stop.SmartPruning = true
			s := search(t, cfg, nil, position(t, fen), &HashEvaluator{Seed: uint64(i)}, nil)
			check(t, s)
			a, b := full.Root(), s.Root()
			if b.N > a.N {
				t.Errorf("%s: %d visits, %d without the stop", fen, b.N, a.N)
			}
			saved += int(a.N - b.N)
			if a.Proven == Unproven && a.Moves[a.Best].Move != b.Moves[b.Best].Move {
				t.Errorf("%s, batch %d: %v after %d visits, %v after %d", fen, batch, b.Moves[b.Best].Move, b.N, a.Moves[a.Best].Move, a.N)
			}
		}
	}
	if saved < 100 {
		t.Errorf("only %d visits were saved", saved)
	}
}

func TestSmartPruningStopsAtOnce(t *testing.T) {
	for _, tc := range []struct {
		name, fen string
		most      uint32
	}{
		{"one legal move", "7k/8/8/8/8/8/1r6/K7 w - - 0 1", 2},
		{"a mate in one", "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 2},
	} {
		for _, gumbel := range []bool{false, true} {
			cfg := config(0)
			cfg.Playouts = 500
			cfg.Gumbel.Enabled = gumbel
			cfg.Stop.SmartPruning = true
			s := search(t, cfg, nil, position(t, tc.fen), uniform{}, nil)
			check(t, s)
			if r := s.Root(); r.N != tc.most || r.Moves[r.Best].N == 0 {
				t.Errorf("%s, gumbel %v: %d visits, best %+v", tc.name, gumbel, r.N, r.Moves[r.Best])
			}
			// A further search of the same root has nothing to do either.
			if s.Begin(nil, false); !s.Done() {
				t.Errorf("%s: not done when it begins", tc.name)
			}
		}
	}
	// Without a limit of visits nothing is settled.
	cfg := config(0)
	cfg.Stop.SmartPruning = true
	cfg.MaxNodes = 400
	if s := search(t, cfg, nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil); len(s.t.nodes) != 400 {
		t.Errorf("stopped with %d nodes", len(s.t.nodes))
	}
	// The visits of Gumbel are a schedule: it is played to its end.
	gcfg := gumbelConfig(200)
	gcfg.Stop = StopConfig{SmartPruning: true, KLDGain: 100}
	if r := search(t, gcfg, nil, position(t, signaturePositions[0]), &HashEvaluator{}, nil).Root(); r.N != 201 {
		t.Errorf("gumbel stopped with %d visits", r.N)
	}
}

func TestDivergence(t *testing.T) {
	rng := newRNG(t)
	if got := divergence([]uint32{1, 1}, []uint32{1, 3}); math.Abs(got-0.14384103622589042) > 1e-15 {
		t.Errorf("KL(1/2,1/2 || 1/4,3/4) = %v", got) // ln(4/3) / 2
	}
	for range 1000 {
		p, q := make([]uint32, 1+rng.IntN(40)), []uint32{}
		var sumP, sumQ float64
		for k := range p {
			p[k] = uint32(rng.IntN(30))
			if k == 0 {
				p[k]++
			}
			q = append(q, p[k]+uint32(rng.IntN(10)))
			sumP, sumQ = sumP+float64(p[k]), sumQ+float64(q[k])
		}
		want := 0.0
		for k := range p {
			if p[k] > 0 {
				want += float64(p[k]) / sumP * math.Log(float64(p[k])/sumP/(float64(q[k])/sumQ))
			}
		}
		if got := divergence(p, q); math.Abs(got-want) > 1e-12 || got < -1e-12 {
			t.Fatalf("%v to %v: %v, want %v", p, q, got, want)
		}
	}
}

// The stop comes at the first look at which the visits, taken every kldInterval
// of them from a search without it, have changed by less than KLDGain.
func TestKLDGainStops(t *testing.T) {
	const interval, gain = kldInterval, 5e-4
	stopped := 0
	for _, fen := range signaturePositions {
		// The visits after 1 + k*interval of the moves' visits.
		cfg := config(1)
		free := search(t, cfg, nil, position(t, fen), &HashEvaluator{}, nil)
		older, want := visitsOf(free), uint32(0)
		for n := 1 + interval; n <= 1+20*interval && want == 0; n += interval {
			cfg.Simulations = n
			free.Begin(nil, false)
			finish(t, free, &HashEvaluator{}, 1)
			newer := slices.Clone(visitsOf(free))
			if divergence(older, newer)/interval < gain {
				want = uint32(n) + 1
			}
			older = newer
		}
		limited := config(1 + 20*interval)
		limited.Stop = StopConfig{KLDGain: gain}
		r := search(t, limited, nil, position(t, fen), &HashEvaluator{}, nil).Root()
		if want == 0 {
			want = 2 + 20*interval
		} else {
			stopped++
		}
		if r.N != want {
			t.Errorf("%s: %d visits, want %d", fen, r.N, want)
		}
	}
	if stopped < 5 {
		t.Errorf("only %d searches stopped", stopped)
	}
}

func TestAStopHoldsWhileLeavesWait(t *testing.T) {
	cfg := config(300)
	cfg.Stop = StopConfig{SmartPruning: true, KLDGain: 1e-3}
	for _, fen := range signaturePositions {
		s := New(cfg, nil)
		s.Reset(position(t, fen))
		s.Begin(nil, false)
		b := encoding.NewBatch(8)
		for !s.Done() {
			b.Reset()
			before := s.stop.stopped
			if rows := s.Gather(b, 8); before && rows > 0 {
				t.Fatalf("%s: %d rows after the stop", fen, rows)
			}
			_ = (&HashEvaluator{}).Evaluate(t.Context(), b)
			s.Apply(b)
		}
		if check(t, s); s.Gather(b, 8) != 0 {
			t.Errorf("%s: visits after the end", fen)
		}
	}
}
