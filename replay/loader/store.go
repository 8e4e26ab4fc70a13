package loader

import (
	"fmt"
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// Transcoded is a chunk in its compact, seekable form: the bytes of record.Append
// and the list of its positions. A position has 100 to 150 bytes; nothing of it
// is inflated or decoded until a Frame is wanted, and then that position alone.
// It is Packed. Immutable, safe for concurrent use.
type Transcoded struct {
	positions
	game      record.Encoded
	shortTerm float64 // theta of encoding.TargetST
}

// Transcode encodes g, which it checks. Positions are the plies with a policy
// and a weight above 0. weight gives them sampling weights where it is enabled;
// shortTerm is record.Replayer.ShortTerm. Errors are record.Append's.
func Transcode(g *record.Game, weight PositionWeight, shortTerm float64) (*Transcoded, error) {
	data, err := record.Append(nil, g)
	if err != nil {
		return nil, err
	}
	e, err := record.Open(slices.Clone(data)) // without the room that growing left
	if err != nil {
		return nil, err
	}
	t := &Transcoded{game: e, shortTerm: shortTerm}
	return t, t.index(weight)
}

// transcoded returns the chunk in its compact form. Weights that were not computed
// before, because the pool samples otherwise, are computed here.
func (g *Game) transcoded(weight PositionWeight, shortTerm float64) (*Transcoded, error) {
	if t, ok := g.Packed.(*Transcoded); ok && t.weight == weight {
		return t, nil
	} else if ok {
		again := &Transcoded{game: t.game, shortTerm: t.shortTerm}
		return again, again.index(weight)
	}
	rec, err := g.Record()
	if err != nil {
		return nil, err
	}
	t, err := Transcode(rec, weight, shortTerm)
	if err != nil {
		return nil, fmt.Errorf("chunk %s: %w", g, err)
	}
	return t, nil
}

// index lists the positions.
func (t *Transcoded) index(weight PositionWeight) error {
	x, sum := positions{weight: weight}, 0.0
	err := t.game.Plies(func(ply int, p *record.Ply) bool {
		if !p.Trained() {
			return true
		}
		x.plies = append(x.plies, uint16(ply))
		if weight.Enabled {
			sum += weight.Of(p)
			x.sums = append(x.sums, float32(sum))
		}
		return true
	})
	if x.num = len(x.plies); x.num == 0 || int(x.plies[x.num-1]) == x.num-1 {
		x.plies = nil
	}
	x.plies, x.sums = slices.Clone(x.plies), slices.Clone(x.sums) // without the room that growing left
	t.positions = x
	return err
}

// Bytes returns the memory of the chunk, about.
func (t *Transcoded) Bytes() int {
	const fixed = 256 // the struct and what the allocator adds
	return fixed + cap(t.game.Bytes()) + 2*cap(t.plies) + 4*cap(t.sums)
}

// Record decodes the whole game.
func (t *Transcoded) Record() (*record.Game, error) { return t.game.Decode() }

// Rebuilder makes frames of transcoded chunks. It keeps its scratch. One
// goroutine at a time.
type Rebuilder struct {
	seeker record.Seeker
	batch  encoding.TrainBatch
	packer packer
}

// Frames appends the positions of t at the given plies, ascending, to dst. The
// moves are played once.
func (r *Rebuilder) Frames(dst []Frame, t *Transcoded, plies []int) ([]Frame, error) {
	r.seeker.ShortTerm = t.shortTerm
	for len(plies) > 0 {
		// The rows of a long game need not fit the cache all at once, but a part
		// has to play the moves from the start.
		n := min(len(plies), maxRebuild)
		r.batch.Reset()
		if err := r.seeker.AppendRows(&r.batch, &t.game, plies[:n]); err != nil {
			return dst, err
		}
		for i, total := range r.seeker.Totals() {
			f, err := r.packer.pack(&r.batch, i, total)
			if err != nil {
				return dst, err
			}
			dst = append(dst, f)
		}
		plies = plies[n:]
	}
	return dst, nil
}

const maxRebuild = 512

// positions lists a chunk's positions that are meant for training, and how much
// they weigh in sampling.
type positions struct {
	plies  []uint16  // ascending; nil = the first num plies
	num    int       //
	sums   []float32 // running sums of the weights; nil = all 1
	weight PositionWeight
}

// Weight returns the sum of the positions' sampling weights.
func (x *positions) Weight() float64 {
	if x.sums == nil {
		return float64(x.num)
	}
	return float64(x.sums[x.num-1])
}

// ply returns the ply of position k.
func (x *positions) ply(k int) int {
	if x.plies == nil {
		return k
	}
	return int(x.plies[k])
}

// weightOf returns the sampling weight of position k.
func (x *positions) weightOf(k int) float64 {
	switch {
	case x.sums == nil:
		return 1
	case k == 0:
		return float64(x.sums[0])
	}
	return float64(x.sums[k]) - float64(x.sums[k-1])
}

// Of returns the sampling weight of a position: 1 unless enabled. What the
// position does not know (NaN, KLD 0) counts as no difference.
func (w PositionWeight) Of(p *record.Ply) float64 {
	if !w.Enabled {
		return 1
	}
	return w.Focus.Of(math.Abs(float64(p.Best.Q)-float64(p.Orig.Q)), float64(p.KLD))
}

// Validate reports settings that give weights that are no finite numbers above 0.
func (w PositionWeight) Validate() error {
	if !w.Enabled {
		return nil
	}
	return w.Check(func(setting string) string { return "position weight: " + setting })
}
