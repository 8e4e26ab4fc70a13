package mcts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// self plays a search against itself, a move each call, over trivial answers.
type self struct {
	s    *Search
	h    *chess.History
	b    *encoding.Batch
	evl  Evaluator
	rng  *rand.Rand // of the noise, nil = none
	rows int
	done int // simulations
}

func newSelf(cfg *Config, cache *Cache) *self {
	p := &self{s: New(cfg, cache), h: chess.NewHistory(chess.StartBoard()), b: encoding.NewBatch(1), evl: &HashEvaluator{}}
	return p
}

func (p *self) move() {
	limits := Limits{Simulations: p.s.cfg.Simulations}
	p.s.BeginWith(p.rng, Options{Limits: limits, Noise: p.rng != nil, ForcedPlayouts: true})
	before := int(p.s.Root().N)
	if p.s.over != chess.NotOver || p.s.h.Len() > 200 {
		p.s.Reset(p.h)
		return
	}
	for !p.s.Done() {
		p.b.Reset()
		p.rows += p.s.Gather(p.b, 1)
		_ = p.evl.Evaluate(context.Background(), p.b)
		p.s.Apply(p.b)
	}
	r := p.s.Root()
	p.done += int(r.N) - before
	p.s.Advance(r.Moves[r.Best].Move)
}

func TestNoAllocationInSteadyState(t *testing.T) {
	full := config(100)
	full.ForcedPlayouts = 2
	full.Stop = StopConfig{KLDGain: 1e-9, SmartPruning: true}
	for name, cfg := range map[string]*Config{"puct": config(200), "gumbel": gumbelConfig(100), "forced and stops": full} {
		p := newSelf(cfg, NewCache(2000))
		p.rng = seeded(1)
		for range 450 { // two games
			p.move()
		}
		if allocs := testing.AllocsPerRun(200, p.move); allocs >= 0.5 {
			t.Errorf("%s: %v allocations a move", name, allocs)
		}
	}
}

// The tree's cost is mostly cache lines: a node is one, a new node's moves take
// eight bytes each.
func TestSizesOfTheTree(t *testing.T) {
	if n, e, c := unsafe.Sizeof(node{}), unsafe.Sizeof(edge{}), unsafe.Sizeof(choice{}); n != 64 || e != 24 || c != 8 {
		t.Errorf("a node has %d bytes, an edge %d, a choice %d; want 64, 24, 8", n, e, c)
	}
}

// trivial answers without looking at the position.
type trivial struct{}

func (trivial) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		prior := b.PriorOf(i)
		for k := range prior {
			prior[k] = float32(k&7+1) / float32(4*len(prior))
		}
		b.WDL[i], b.M[i] = [3]float32{0.25, 0.5, 0.25}, 40
	}
	return nil
}

func BenchmarkSimulation(b *testing.B) {
	for _, bc := range []struct {
		name string
		sims int
		size int
	}{{"32", 32, 0}, {"800", 800, 0}, {"800/cache", 800, 20000}} {
		b.Run(bc.name, func(b *testing.B) {
			p := newSelf(config(bc.sims), NewCache(bc.size))
			p.evl = trivial{}
			for range 300 {
				p.move()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for p.done = 0; p.done < b.N; {
				p.move()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(p.done), "ns/simulation")
		})
	}
}

// BenchmarkLockStep is self-play's pattern: 64 trees of different games, one
// leaf of each before one call of the evaluator, so that the caches are cold.
// A node is a simulation that the evaluator answered.
func BenchmarkLockStep(b *testing.B) {
	for _, ev := range []struct {
		name string
		ev   Evaluator
	}{{"constant", trivial{}}, {"hash", &HashEvaluator{}}} {
		for _, sims := range []int{32, 100, 800} {
			for _, name := range []string{"puct", "gumbel"} {
				b.Run(fmt.Sprintf("%s/%d/%s", ev.name, sims, name), func(b *testing.B) {
					cfg := config(sims)
					if name == "gumbel" { // as the recipe speedrun
						cfg.Gumbel.Enabled, cfg.Gumbel.Rescale, cfg.Gumbel.ValueScale = true, true, 0.1
					}
					lockStep(b, cfg, ev.ev)
				})
			}
		}
	}
}

func lockStep(b *testing.B, cfg *Config, ev Evaluator) {
	const games = 64
	rng := seeded(5)
	searches, batch := make([]*Search, games), encoding.NewBatch(games)
	start := chess.NewHistory(chess.StartBoard())
	begin := func(s *Search) {
		if s.Begin(rng, true); s.over != chess.NotOver || s.h.Len() > 200 {
			s.Reset(start)
			s.Begin(rng, true)
		}
	}
	for i := range searches {
		searches[i] = New(cfg, nil)
		begin(searches[i])
	}
	run := func(nodes uint64) {
		for n := uint64(0); n < nodes; n += uint64(batch.N) {
			batch.Reset()
			for _, s := range searches {
				for s.Gather(batch, 1) == 0 {
					r := s.Root()
					s.Advance(r.Moves[SampleWeights(weightsOf(r.Moves), 1, rng)].Move)
					begin(s)
				}
			}
			_ = ev.Evaluate(context.Background(), batch)
			for _, s := range searches {
				s.Apply(batch)
			}
		}
	}
	run(100000)
	b.ResetTimer()
	run(uint64(b.N))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/node")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "nodes/s")
}

func weightsOf(moves []MoveStats) (dst []float64) {
	for i := range moves {
		dst = append(dst, float64(moves[i].N))
	}
	return dst
}
