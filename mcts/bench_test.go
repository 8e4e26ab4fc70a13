package mcts

import (
	"context"
	"fmt"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// self plays a search against itself, a move each call, over trivial answers.
type self struct {
	s    *Search
	h    *chess.History
	b    *encoding.Batch
	evl  Evaluator
	rows int
	done int // simulations
}

func newSelf(cfg *Config, cache *Cache) *self {
	p := &self{s: New(cfg, cache), h: chess.NewHistory(chess.StartBoard()), b: encoding.NewBatch(1), evl: &HashEvaluator{}}
	return p
}

func (p *self) move() {
	p.s.Begin(nil, false)
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
	p := newSelf(config(200), NewCache(2000))
	for range 450 { // two games
		p.move()
	}
	if allocs := testing.AllocsPerRun(200, p.move); allocs >= 0.5 {
		t.Errorf("%v allocations a move", allocs)
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

func ExampleSearch() {
	cfg := DefaultConfig()
	cfg.Simulations = 100
	s := New(&cfg, nil)
	board, _ := chess.ParseFEN("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
	s.Reset(chess.NewHistory(board))
	s.Begin(nil, false)
	batch := encoding.NewBatch(1)
	for !s.Done() {
		batch.Reset()
		s.Gather(batch, 1)
		_ = (&HashEvaluator{}).Evaluate(context.Background(), batch)
		s.Apply(batch)
	}
	r := s.Root()
	fmt.Println(board.UCI(r.Moves[r.Best].Move, false), r.Moves[r.Best].Proven)
	// Output: d1d8 win
}
