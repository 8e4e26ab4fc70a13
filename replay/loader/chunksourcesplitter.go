package loader

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/replay"
)

// splitterPorts returns the names of the outputs.
func splitterPorts(c *StageConfig) ([]string, error) {
	var names []string
	for _, o := range c.ChunkSourceSplitter.Outputs {
		if !namePattern.MatchString(o.Name) {
			return nil, fmt.Errorf("bad name %q of an output; a name has 1 to 40 of a-z 0-9 _ -", o.Name)
		}
		if slices.Contains(names, o.Name) {
			return nil, fmt.Errorf("two outputs are called %q; give each its own name", o.Name)
		}
		names = append(names, o.Name)
	}
	if len(names) < 2 {
		return nil, fmt.Errorf("%d outputs; a splitter has at least two: add output { name: ... weight: ... }", len(names))
	}
	return names, nil
}

// chunkSourceSplitter deals the chunks of each source to its outputs by
// ChunkHash, so that a chunk is always on the same side.
type chunkSourceSplitter struct {
	*build
	weights []float64
	in      *Queue[SourceEvent]
	out     []*Queue[SourceEvent]
	dealt   []*counter // chunks of each output
}

func newChunkSourceSplitter(b *build) (Stage, error) {
	s := &chunkSourceSplitter{build: b, in: queuesOf[SourceEvent](b.in)[0], out: queuesOf[SourceEvent](b.out)}
	for _, o := range b.config.ChunkSourceSplitter.Outputs {
		s.weights = append(s.weights, o.Weight)
		s.dealt = append(s.dealt, b.counter("chunks_"+o.Name))
	}
	return s, replay.Wrong(!validWeights(s.weights), "weights %v; they must be finite, at least 0, and not all 0",
		s.weights)
}

// Run deals sources. Markers and removals go to all outputs.
func (s *chunkSourceSplitter) Run(ctx context.Context) error {
	return replay.Each(ctx, s.in.Get, func(e SourceEvent) error {
		shares := s.deal(e)
		for i, out := range s.out {
			part := e
			if e.Source != nil {
				if len(shares[i]) == 0 && e.File.Phase != Replaced {
					continue
				}
				s.dealt[i].Add(uint64(len(shares[i])))
				part.Source = &share{Source: e.Source, chunks: shares[i]}
			}
			if err := out.Put(ctx, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// deal returns the chunk numbers of each output, ascending.
func (s *chunkSourceSplitter) deal(e SourceEvent) [][]int32 {
	shares := make([][]int32, len(s.out))
	if e.Source == nil {
		return shares
	}
	for i := range e.Source.Len() {
		side := splitOf(ChunkHash(e.Source.Key(), i), s.weights)
		shares[side] = append(shares[side], int32(i))
	}
	return shares
}

// share is a part of a source. Its games keep their numbers in the source.
type share struct {
	Source
	chunks []int32
}

func (s *share) Len() int { return len(s.chunks) }

func (s *share) Game(i int) (*Game, error) { return s.Source.Game(int(s.chunks[i])) }

// numberIn returns the number that chunk i of src has in its file (Game.Index).
func numberIn(src Source, i int) int {
	if s, ok := src.(*share); ok {
		return numberIn(s.Source, int(s.chunks[i]))
	}
	return i
}

// ChunkHash names chunk index of the source with the given key, and decides the
// split: the FNV-1a hash (64 bits) of the key's bytes, a zero byte, and the
// index as 8 bytes little-endian, through the finisher of SplitMix64. It is
// published (docs/LOADER.md) and never changes.
func ChunkHash(key string, index int) uint64 {
	sum := fnv.New64a()
	sum.Write(binary.LittleEndian.AppendUint64(append([]byte(key), 0), uint64(index)))
	h := sum.Sum64()
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// splitOf returns which of the shares a chunk falls into: the first whose
// running sum of weights, divided by the whole sum, is above hash / 2^64.
// Weights are finite, >= 0, and not all 0.
func splitOf(hash uint64, weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	u := float64(hash>>11) / (1 << 53) // exact, below 1
	running, last := 0.0, 0
	for i, w := range weights {
		if w == 0 {
			continue
		}
		running += w
		last = i
		if u < running/sum {
			return i
		}
	}
	return last // the sums' rounding
}

// validWeights says whether splitOf can use them.
func validWeights(weights []float64) bool {
	sum := 0.0
	for _, w := range weights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return false
		}
		sum += w
	}
	return sum > 0 && !math.IsInf(sum, 0)
}
