package loader

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/replay"
)

// chunkUnpacker takes positions out of chunks. Which ones depends on the seed,
// the chunk's key and how often it was used alone (see picker), so that it has no
// state of its own.
type chunkUnpacker struct {
	edges[*Game, Frame]
	settings *ChunkUnpacker
	picker   picker
	scratch  sync.Pool // *unpackScratch

	chunks, frames, bad *counter
}

// unpackScratch is what a goroutine needs to unpack a chunk.
type unpackScratch struct {
	rebuilder Rebuilder
	plies     []int
}

func newChunkUnpacker(b *build) (Stage, error) {
	s := b.config.ChunkUnpacker
	u := &chunkUnpacker{edges: edgesOf[*Game, Frame](b), settings: s,
		picker: picker{seed: b.random(0).Uint64(), rate: s.PositionSamplingRate, count: s.PositionCount},
		chunks: b.counter("chunks_unpacked"), frames: b.counter("frames"), bad: b.counter("chunks_bad")}
	u.scratch.New = func() any { return new(unpackScratch) }
	rate, n := s.PositionSamplingRate, s.PositionCount
	return u, cmp.Or(fewThreads(s.Threads),
		replay.Wrong(n < 0, "position_count: %d; take 1 or more, or 0 to sample by position_sampling_rate", n),
		replay.Wrong(n == 0 && !(rate > 0 && rate <= 1),
			"position_sampling_rate: %v; take more than 0 and at most 1", rate),
		replay.Wrong(s.Prefetch < 0, "prefetch: %d; take 0 or more", s.Prefetch),
		s.PositionWeight.Validate())
}

// Run unpacks chunks in their order; up to Prefetch of them are unpacked before
// their frames are wanted.
func (u *chunkUnpacker) Run(ctx context.Context) error {
	ready := NewQueue[[]Frame](u.settings.Prefetch, Block)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer ready.Close()
		return replay.MapOrdered(ctx, u.settings.Threads, u.in.Get, u.unpack, func(ctx context.Context, frames []Frame) error {
			if len(frames) == 0 {
				return nil
			}
			return ready.Put(ctx, frames)
		})
	})
	group.Go(func() error {
		return replay.Each(ctx, ready.Get, func(frames []Frame) error { return u.out.PutAll(ctx, frames) })
	})
	return group.Wait()
}

// unpack returns the frames of this use of a chunk. A chunk that cannot be
// unpacked is quarantined and gives none.
func (u *chunkUnpacker) unpack(ctx context.Context, g *Game) ([]Frame, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := u.scratch.Get().(*unpackScratch)
	defer u.scratch.Put(s)
	frames, err := u.take(s, g)
	if err != nil {
		u.bad.Add(1)
		u.quarantine.Add(g.String(), err)
		return nil, nil
	}
	u.frames.Add(uint64(len(frames))) // here, so that it and chunks count the same games
	u.chunks.Add(1)
	return frames, nil
}

// take picks positions of g and rebuilds them.
func (u *chunkUnpacker) take(s *unpackScratch, g *Game) ([]Frame, error) {
	if c, ok := g.Packed.(*LeelaChunk); ok && !u.settings.PositionWeight.Enabled {
		return u.takeLeela(s, g, c)
	}
	t, err := g.transcoded(u.settings.PositionWeight, u.options.ShortTerm)
	if err != nil {
		return nil, err
	}
	s.plies = u.picker.pick(s.plies[:0], &t.positions, g.Key, g.Use)
	frames, err := s.rebuilder.Frames(make([]Frame, 0, len(s.plies)), t, s.plies)
	if err != nil {
		return nil, fmt.Errorf("chunk %s: %w", g, err)
	}
	return frames, nil
}

// takeLeela picks positions of Leela's records without finding out the game.
func (u *chunkUnpacker) takeLeela(s *unpackScratch, g *Game, c *LeelaChunk) ([]Frame, error) {
	all, err := c.Frames()
	if err != nil {
		return nil, fmt.Errorf("chunk %s: %w", g, err)
	}
	s.plies = u.picker.pick(s.plies[:0], &positions{num: len(all)}, g.Key, g.Use)
	frames := make([]Frame, 0, len(s.plies))
	for _, k := range s.plies {
		frames = append(frames, all[k])
	}
	return frames, nil
}

// picker chooses positions of chunks. Its choice is a pure function of the
// seed, the chunk's key and its use: a restart chooses the same.
//
// By rate p each position has one uniform toss a pass, and use k takes those
// whose toss lies in the k-th slice of width p: the stretch from k*p to (k+1)*p
// of the line on which pass r lies from r to r+1. The slices tile the line, so
// that 1/p uses take every position once. A position of weight w has slices of
// width p*w.
//
// By count n, use k takes the places k*n to (k+1)*n of an endless row of random
// orders of all positions, one order a pass: again every position once a pass.
// With weights, the n places are drawn by weight, one of each n-th part of the
// sum, independently in each use.
type picker struct {
	seed  uint64
	rate  float64 // (0,1]; not looked at where count > 0
	count int
}

// pick appends the plies that use k of t takes to dst, ascending. A ply may come
// twice where a slice reaches into the next pass.
func (p *picker) pick(dst []int, t *positions, key uint64, use uint32) []int {
	if t.num == 0 {
		return dst
	}
	from := len(dst)
	switch {
	case p.count == 0:
		for k := range t.num {
			for range p.times(key, k, use, t.weightOf(k)) {
				dst = append(dst, t.ply(k))
			}
		}
		return dst
	case t.sums == nil:
		n := uint64(t.num)
		for place := uint64(use) * uint64(p.count); place < (uint64(use)+1)*uint64(p.count); place++ {
			k := chance.Permute(place%n, n, chance.Mix(p.seed^key, place/n))
			dst = append(dst, t.ply(int(k)))
		}
	default:
		for i := range p.count {
			u := (float64(i) + p.toss(key, uint64(use)*uint64(p.count)+uint64(i), 1)) / float64(p.count)
			k, _ := slices.BinarySearch(t.sums, math.Nextafter32(float32(u*t.Weight()), math.MaxFloat32))
			dst = append(dst, t.ply(min(k, t.num-1)))
		}
	}
	slices.Sort(dst[from:])
	return dst
}

// times returns how often use k of a chunk takes position i of weight w.
func (p *picker) times(key uint64, i int, use uint32, w float64) int {
	width, n := p.rate*w, 0
	if width == 1 {
		return 1
	}
	lo, hi := float64(use)*width, (float64(use)+1)*width
	for pass := math.Floor(lo); pass < hi; pass++ {
		if at := pass + p.toss(key, uint64(i), uint64(pass)+2); at >= lo && at < hi {
			n++
		}
	}
	return n
}

// toss returns the uniform number in [0, 1) of a position and a pass.
func (p *picker) toss(key, i, pass uint64) float64 {
	return float64(chance.Mix(chance.Mix(p.seed^key, i), pass)>>11) / (1 << 53)
}
