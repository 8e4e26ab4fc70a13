package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
	"github.com/chessbrain/chessbrain/trainer"
)

// ErrNotLearnt means that a fixed batch was not learnt by heart: net, losses,
// optimizer or learning rate do not work together.
var ErrNotLearnt = errors.New("the batch was not learnt by heart")

// OverfitOptions say what is learnt by heart, and for how long.
type OverfitOptions struct {
	Rows  int
	Steps int
	LR    float64 // constant rate; 0 = the largest one configured: a schedule may begin at 0
	// Near is the share of the first step's excess over the floor at which the
	// batch counts as learnt, if every single loss has lost half of its own: a
	// head that does not learn must not hide behind the others.
	Near  float64
	Every int // steps between two points of the curve; the first and last are there too
}

// Validate says which option is out of range.
func (o *OverfitOptions) Validate() error {
	switch {
	case o.Rows < 1 || o.Rows > 1<<14:
		return inputError{fmt.Errorf("--rows %d: want 1 to %d", o.Rows, 1<<14)}
	case o.Steps < 1 || o.Steps > 1e6:
		return inputError{fmt.Errorf("--steps %d: want 1 to 1000000", o.Steps)}
	case !(o.LR >= 0) || math.IsInf(o.LR, 0):
		return inputError{fmt.Errorf("--lr %v: want a number above 0, or 0 for the configured one", o.LR)}
	case !(o.Near > 0 && o.Near < 1):
		return inputError{fmt.Errorf("--near %v: want a share between 0 and 1", o.Near)}
	case o.Every < 1:
		return inputError{fmt.Errorf("--every %d: want 1 or more", o.Every)}
	}
	return nil
}

// OverfitPoint is one point of the curve: the losses before the step's change.
type OverfitPoint struct {
	Step   int64           `json:"step"`
	Loss   monitor.Number  `json:"loss"`   // weighted sum of the losses but L2
	Excess monitor.Number  `json:"excess"` // over the floor
	Losses monitor.Numbers `json:"losses"`
}

// OverfitResult is what overfitting came to.
type OverfitResult struct {
	Rows           int             `json:"rows"`
	Data           string          `json:"data"`
	LR             float64         `json:"lr"`
	Floor          monitor.Number  `json:"floor"` // of the weighted sum
	Floors         monitor.Numbers `json:"floors"`
	Curve          []OverfitPoint  `json:"curve"`
	Learnt         bool            `json:"learnt"`
	Stuck          []string        `json:"stuck,omitempty"` // losses that kept more than half of their excess
	PolicyAccuracy monitor.Number  `json:"policy_accuracy"` // on the last step
	ValueAccuracy  monitor.Number  `json:"value_accuracy"`
}

// Overfit trains on one batch of rows until its loss is near the entropy of its
// targets. L2 is left out: it would keep the loss up. show gets every point of
// the curve. The result is there with ErrNotLearnt, too. rows nil means
// made-up rows; opt is valid.
func Overfit(ctx context.Context, s *Subject, rows *Rows, opt OverfitOptions, show func(OverfitPoint) error) (*OverfitResult, error) {
	batch, err := fixedBatch(ctx, s, rows, opt.Rows)
	if err != nil {
		return nil, err
	}
	r := &OverfitResult{Rows: batch.N, Data: "made-up rows", Floors: monitor.Numbers{}}
	if rows != nil {
		r.Data = rows.Name
	}
	fixed := func(c *trainer.Config) {
		r.LR = cmp.Or(opt.LR, c.Schedule.Largest())
		c.BatchSize, c.GradAccumSteps, c.Schedule = batch.N, 1, trainer.ConstantLR(r.LR)
		c.Warmup, c.SWA = trainer.Warmup{}, trainer.SWAConfig{}
		for _, l := range c.Losses {
			if l.Mix != nil {
				l.Mix.QRatio, l.Mix.Schedule = l.Mix.At(0), nil
			}
		}
		c.Losses = slices.DeleteFunc(c.Losses, func(l trainer.Loss) bool { return l.Head == trainer.HeadWeights })
	}
	return r, s.train(fixed, func(t *trainer.Trainer, c *trainer.Config) error {
		floor := 0.0
		for i, f := range trainer.Floors(c.Losses, batch) {
			r.Floors[f.Metric] = monitor.Number(f.Mean)
			floor += weighted(c.Losses[i].Weight, &f)
		}
		r.Floor = monitor.Number(floor)
		return r.train(ctx, t, c.Losses, batch, opt, show)
	})
}

func (r *OverfitResult) train(ctx context.Context, t *trainer.Trainer, losses []trainer.Loss, batch *encoding.TrainBatch,
	opt OverfitOptions, show func(OverfitPoint) error) error {
	var first []float64 // excess of each loss
	var was, is float64 // weighted sums of the excess, first and now
	for n := 1; n <= opt.Steps; n++ {
		step, err := t.Step(ctx, fixed{batch})
		if err != nil {
			return err
		}
		excess, all := r.excess(losses, &step.Measures)
		if is = all; n == 1 {
			first, was = excess, is
		}
		r.Stuck = stuck(losses, first, excess)
		r.Learnt = n > 1 && is <= opt.Near*was && r.Stuck == nil
		r.PolicyAccuracy, r.ValueAccuracy = monitor.Number(step.PolicyAccuracy), monitor.Number(step.ValueAccuracy)
		if n == 1 || n%opt.Every == 0 || n == opt.Steps || r.Learnt {
			p := OverfitPoint{Step: int64(n), Loss: monitor.Number(is + float64(r.Floor)), Excess: monitor.Number(is),
				Losses: train.LossNumbers(&step.Measures)}
			r.Curve = append(r.Curve, p)
			if err := show(p); err != nil {
				return err
			}
		}
		if r.Learnt {
			return nil
		}
	}
	stuck := ""
	if r.Stuck != nil {
		stuck = fmt.Sprintf(" (these kept more than half of their own: %s)", strings.Join(r.Stuck, ", "))
	}
	return fmt.Errorf("%w: after %d steps %.3f of the excess over the entropy floor is left, want %g%s; try another --lr, more --steps, or look at the losses",
		ErrNotLearnt, opt.Steps, is/was, opt.Near, stuck)
}

// excess is what each loss has over its floor, times its weight, and their sum; 0 where
// no row has a target.
func (r *OverfitResult) excess(losses []trainer.Loss, m *trainer.Measures) (each []float64, sum float64) {
	each = make([]float64, len(losses))
	for i, l := range losses {
		each[i] = weighted(l.Weight, &m.Losses[i])
		if each[i] != 0 {
			each[i] -= l.Weight * float64(r.Floors[l.Metric])
		}
		sum += each[i]
	}
	return each, sum
}

// stuck names the losses that kept more than half of their first excess.
func stuck(losses []trainer.Loss, first, now []float64) (names []string) {
	for i, l := range losses {
		if first[i] > l.Weight*leastExcess && !(now[i] <= first[i]/2) {
			names = append(names, l.Metric)
		}
	}
	return names
}

// leastExcess is what counts as being at the floor already.
const leastExcess = 1e-3

// weightedSum is the objective's part that rows decide: the weighted means of the
// losses but L2. A loss without rows counts as 0.
func weightedSum(losses []trainer.Loss, m *trainer.Measures) float64 {
	sum := 0.0
	for i, l := range losses {
		if l.Head != trainer.HeadWeights {
			sum += weighted(l.Weight, &m.Losses[i])
		}
	}
	return sum
}

// weighted is a loss's share of the objective; 0 where no row had a target.
func weighted(weight float64, m *trainer.Measure) float64 {
	if weight == 0 || m.N == 0 {
		return 0
	}
	return weight * m.Mean
}

// fixedBatch takes n rows with different inputs, as training draws them (fewer
// where there are no more), or made-up ones where there are no data. The same
// input twice, with two targets, could not be learnt down to their entropies.
func fixedBatch(ctx context.Context, s *Subject, rows *Rows, n int) (*encoding.TrainBatch, error) {
	b, seen := encoding.NewTrainBatch(n), map[[2]uint64]bool{}
	add := func(from *encoding.TrainBatch) {
		for i := 0; i < from.N && b.N < n; i++ {
			hi, lo := encoding.Key128(&from.Masks[i], &from.Scalars[i])
			if key := [2]uint64{hi, lo}; !seen[key] {
				seen[key] = true
				b.AppendRow(from, i)
			}
		}
	}
	drawn := encoding.NewTrainBatch(n)
	if rows == nil {
		madeUpRows(drawn, 2*n+64, setup.TrainingOf(s.Effective).Seed)
		add(drawn)
		return b, nil
	}
	src, err := rows.Draw(ctx, s)
	if err != nil {
		return nil, err
	}
	for tries := 0; b.N < n && tries < maxDraws; tries++ {
		drawn.Reset()
		err := src.Next(ctx, drawn)
		if errors.Is(err, io.EOF) && b.N > 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("draw rows of %s: %w", rows.Name, err)
		}
		add(drawn)
	}
	return b, nil
}

// maxDraws is how many batches are looked at for rows that are not there yet.
const maxDraws = 50

// madeUpRows appends n rows of positions of random play, each with one random
// move to learn, a random result and random plies to the end.
func madeUpRows(b *encoding.TrainBatch, n int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var moves chess.MoveList
	for _, h := range bench.Positions(n, seed) {
		h.Board().GenerateMoves(&moves)
		i := encoding.AppendTrainPosition(b, h, &moves)
		b.PolicyOf(i)[rng.IntN(moves.N)] = 1
		v := encoding.QDM{Q: float32(rng.IntN(3) - 1), M: float32(1 + rng.IntN(150))}
		if v.Q == 0 {
			v.D = 1
		}
		for t := range b.Targets[i] {
			b.Targets[i][t] = v
		}
	}
}

// fixed hands out the same rows again and again.
type fixed struct{ rows *encoding.TrainBatch }

func (f fixed) Next(_ context.Context, b *encoding.TrainBatch) error {
	b.CopyFrom(f.rows)
	return nil
}
