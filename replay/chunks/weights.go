package chunks

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/plugins/sample/chance"
)

// weightBins is the number of bins of WeightReport.Bins.
const weightBins = 10

// Weights gathers the diff-focus weights of the positions of games.
type Weights struct {
	focus   chance.Focus
	qDiffs  []float32
	klds    []float32
	weights []float32
	unknown int
}

// NewWeights returns a Weights of no positions.
func NewWeights(f chance.Focus) *Weights { return &Weights{focus: f} }

// Add takes the positions of a game that are meant for training.
func (w *Weights) Add(g *Game) {
	for i := range g.Rec.Plies {
		p := &g.Rec.Plies[i]
		if !p.Trained() {
			continue
		}
		qDiff, kld := math.Abs(float64(p.Best.Q)-float64(p.Orig.Q)), float64(p.KLD)
		if math.IsNaN(qDiff) && kld == 0 {
			w.unknown++
		}
		w.weights = append(w.weights, float32(w.focus.Of(qDiff, kld)))
		if !math.IsNaN(qDiff) {
			w.qDiffs = append(w.qDiffs, float32(qDiff))
		}
		w.klds = append(w.klds, float32(kld))
	}
}

// Spread describes how a quantity is distributed; all 0 without values.
type Spread struct {
	N      int     `json:"n"`
	Mean   float64 `json:"mean"`
	Min    float64 `json:"min"`
	P10    float64 `json:"p10"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

// Bin counts the positions whose weight lies in [From, To), the last bin's To
// included. Share is that of the positions, Drawn that of the rows that a sampler
// in proportion to the weights draws from the bin.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
	Share float64 `json:"share"`
	Drawn float64 `json:"drawn"`
}

// WeightReport is what Weights came to.
type WeightReport struct {
	Positions int     `json:"positions"`
	Unknown   int     `json:"unknown"` // neither raw value nor divergence is known: they have the least weight
	QDiff     Spread  `json:"q_diff"`  // |Q of the best move - Q of the raw network|, where it is known
	KLD       Spread  `json:"kld"`     // of the search's policy from the raw one, nats; 0 = not known
	Weight    Spread  `json:"weight"`
	AtTau     float64 `json:"at_tau"`    // share of the positions that have the largest weight
	Effective float64 `json:"effective"` // (sum w)^2 / (n sum w^2): the share of the positions that as many rows drawn with equal weights would be worth
	Bins      []Bin   `json:"bins"`
}

// Report sums up.
func (w *Weights) Report() WeightReport {
	r := WeightReport{Positions: len(w.weights), Unknown: w.unknown, QDiff: spread(w.qDiffs), KLD: spread(w.klds), Weight: spread(w.weights)}
	if r.Positions == 0 {
		return r
	}
	n, sum, squares := float64(r.Positions), 0.0, 0.0
	low, width := r.Weight.Min, (r.Weight.Max-r.Weight.Min)/weightBins
	if width > 0 {
		for i := range weightBins {
			r.Bins = append(r.Bins, Bin{From: low + float64(i)*width, To: low + float64(i+1)*width})
		}
	}
	for _, x := range w.weights {
		v := float64(x)
		sum, squares = sum+v, squares+v*v
		if x == float32(w.focus.Tau) {
			r.AtTau++
		}
		if width > 0 {
			b := &r.Bins[min(int((v-low)/width), weightBins-1)]
			b.Count++
			b.Drawn += v
		}
	}
	for i := range r.Bins {
		r.Bins[i].Share, r.Bins[i].Drawn = float64(r.Bins[i].Count)/n, r.Bins[i].Drawn/sum
	}
	r.AtTau /= n
	r.Effective = sum * sum / (n * squares)
	return r
}

// spread sorts v and describes it.
func spread(v []float32) Spread {
	if len(v) == 0 {
		return Spread{}
	}
	slices.Sort(v)
	at := func(percent int) float64 { return float64(v[(len(v)-1)*percent/100]) }
	s := Spread{N: len(v), Min: at(0), P10: at(10), Median: at(50), P90: at(90), P99: at(99), Max: at(100)}
	for _, x := range v {
		s.Mean += float64(x) / float64(len(v))
	}
	return s
}

// Write prints tables.
func (r *WeightReport) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "positions\t%d\n", r.Positions)
	if r.Unknown > 0 {
		fmt.Fprintf(w, "unknown\t%d\tneither raw value nor divergence: the least weight\n", r.Unknown)
	}
	fmt.Fprintf(w, "\tmean\tmin\t10 %%\tmedian\t90 %%\t99 %%\tmax\n")
	for _, row := range []struct {
		name string
		s    Spread
	}{{"q_diff", r.QDiff}, {"kld", r.KLD}, {"weight", r.Weight}} {
		fmt.Fprintf(w, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\n", row.name, row.s.Mean, row.s.Min, row.s.P10, row.s.Median, row.s.P90, row.s.P99, row.s.Max)
	}
	fmt.Fprintf(w, "at tau\t%.1f %%\n", 100*r.AtTau)
	fmt.Fprintf(w, "effective\t%.1f %%\tof the positions\n", 100*r.Effective)
	if err := w.Flush(); err != nil || len(r.Bins) == 0 {
		return err
	}
	most := 0.0
	for _, b := range r.Bins {
		most = max(most, b.Share)
	}
	fmt.Fprintf(w, "\nweight\tpositions\tshare\tdrawn\n")
	for _, b := range r.Bins {
		bar := strings.Repeat("#", int(math.Round(40*b.Share/most)))
		fmt.Fprintf(w, "%.3f - %.3f\t%d\t%.1f %%\t%.1f %%\t%s\n", b.From, b.To, b.Count, 100*b.Share, 100*b.Drawn, bar)
	}
	return w.Flush()
}
