package sample

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

const prioritizedDoc = "prioritized experience replay: draws rows by a power of their surprise and weighs them to correct for it"

var prioritizedSettings = []stage.Setting{
	{Name: "by", Doc: "the surprise |delta|: kld, of the search's policy from the raw network's in nats, or q_diff, |Q of the best move - Q of the raw network|",
		Text: true, Choices: []string{"kld", "q_diff"}, Default: "kld"},
	{Name: "alpha", Doc: "how much priorities count: 0 = not at all, 1 = in full", Min: 0, Max: 10, Default: "0.6"},
	{Name: "beta", Doc: "how much of the bias the weights in the loss take back at the start: 0 = nothing, 1 = all", Min: 0, Max: 1, Default: "0.4"},
	{Name: "beta_rows", Doc: "rows drawn until beta has risen to 1, in a straight line; 0 = it stays", Whole: true, Min: 0, Max: 1e15, Default: "10000000"},
	{Name: "epsilon", Doc: "added to the surprise, so that rows without any are drawn, too", Min: 1e-9, Max: 1e3, Default: "0.01"},
}

// maxPriority bounds a row's priority.
const maxPriority = 1 << 16

// prioritized is the proportional variant of prioritized experience replay
// (Schaul, Quan, Antonoglou and Silver 2016). A row of weight w is drawn with
// probability
//
//	P = w*p / (sum of w*p),  p = (epsilon + |delta|)^alpha
//
// and counts in the loss, with U = w / (sum of w), its probability with the
// uniform sampler,
//
//	(P/U)^-beta, divided by the largest of the batch
//
// With equal weights w, U is 1/N and that is the paper's (N*P)^-beta. At beta 1
// the expected gradient is that of the uniform sampler up to the scale. The
// surprise of a row is that of the search that played the game and does not
// change while it is in the window.
type prioritized struct {
	weighted
	beta     float64 // at the start
	betaRows float64 // rows until it is 1; 0 = it stays

	rows   uint64    // drawn since the start: state
	ratios []float64 // of the batch, P/U but for a factor
}

func newPrioritized(v stage.Values) (stage.Sampler, error) {
	byKLD, alpha, epsilon := v.Text("by") == "kld", v.Number("alpha"), v.Number("epsilon")
	return function{&prioritized{beta: v.Number("beta"), betaRows: v.Number("beta_rows"),
		weighted: weighted{generator: newGenerator(), name: "prioritized", takes: "any",
			table: table{weigh: func(idx stage.Index, _ *stage.GameInfo, i, k int) uint64 {
				s := idx.Stats(i, k)
				delta := s.QDiff
				if byKLD {
					delta = s.KLD
				}
				if !(delta > 0) {
					delta = 0 // not known
				}
				return scaled(idx.Row(i, k).Weight, min(chance.Power(float64(delta)+epsilon, alpha), maxPriority))
			}}}}}, nil
}

// seed begins the random sequence (seed, stream), and beta anew.
func (p *prioritized) seed(seed, stream uint64) {
	p.generator.seed(seed, stream)
	p.rows = 0
}

// betaNow returns beta for the next batch.
func (p *prioritized) betaNow() float64 {
	if p.betaRows == 0 {
		return p.beta
	}
	return p.beta + float64((1-p.beta)*min(1, float64(p.rows)/p.betaRows))
}

func (p *prioritized) draw(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	from, least := len(dst), math.Inf(1)
	p.ratios = p.ratios[:0]
	err := p.each(idx, n, func(i, k int) {
		row := idx.Row(i, k)
		dst = append(dst, stage.RowRef{Game: idx.Game(i).Seq, Ply: row.Ply})
		ratio := float64(p.table.weightAt(i, k)) / float64(row.Weight)
		p.ratios, least = append(p.ratios, ratio), min(least, ratio)
	})
	beta := p.betaNow()
	for j, ratio := range p.ratios {
		dst[from+j].Weight = float32(chance.Power(least/ratio, beta))
	}
	p.rows += uint64(len(p.ratios))
	return dst, err
}

// save appends the state of the random generator, and the rows drawn u64, little
// endian.
func (p *prioritized) save(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(p.generator.save(b), p.rows)
}

func (p *prioritized) load(state []byte) error {
	rest, err := p.cut(state)
	if err != nil {
		return err
	}
	if len(rest) != 8 {
		return fmt.Errorf("%d bytes after the random generator, want 8", len(rest))
	}
	p.rows = binary.LittleEndian.Uint64(rest)
	return nil
}
