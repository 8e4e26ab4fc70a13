package tools

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/trainer"
)

// RangeOptions are those of a learning-rate range test (Smith 2015): step i of
// Steps trains with From*(To/From)^(i/(Steps-1)).
type RangeOptions struct {
	From, To float64
	Steps    int
}

// maxRangeSteps bounds the test: its schedule is a list.
const maxRangeSteps = 10_000

// smoothing is the share of the past in the smoothed loss (bias-corrected), and
// divergence the multiple of the best smoothed loss that ends the test.
const (
	smoothing  = 0.95
	divergence = 4
)

// Validate says which option is out of range.
func (o *RangeOptions) Validate() error {
	switch {
	case !(o.From > 0) || !(o.To > o.From) || math.IsInf(o.To, 0):
		return inputError{fmt.Errorf("--from %v --to %v: want 0 < from < to", o.From, o.To)}
	case o.Steps < 10 || o.Steps > maxRangeSteps:
		return inputError{fmt.Errorf("--steps %d: want 10 to %d", o.Steps, maxRangeSteps)}
	}
	return nil
}

func (o *RangeOptions) rates() []float64 {
	r := make([]float64, o.Steps)
	for i := range r {
		r[i] = o.From * math.Pow(o.To/o.From, float64(i)/float64(o.Steps-1))
	}
	return r
}

// RangePoint is one step of the test: losses are those before its change.
type RangePoint struct {
	Step     int64
	LR       float64
	Loss     float64 // weighted sum of the losses but L2
	Smoothed float64
	GradNorm float64
	Losses   []trainer.Measure
}

// RangeResult is what the test showed.
type RangeResult struct {
	Net      string         `json:"net"`
	Data     string         `json:"data"`
	Steps    int            `json:"steps"` // taken
	Diverged bool           `json:"diverged"`
	Steepest float64        `json:"suggestion"` // rate at which the smoothed loss falls fastest; 0 = it never fell
	Lowest   float64        `json:"lowest"`     // rate at the least smoothed loss
	Loss     monitor.Number `json:"lowest_loss"`

	Points []RangePoint `json:"-"`
}

// TuneLR trains the subject's net with a rate that grows exponentially, until it
// diverges; opt is valid. Nothing is saved; the net that it began with stays as it is.
func TuneLR(ctx context.Context, s *Subject, rows *Rows, opt RangeOptions) (*RangeResult, error) {
	rule := trainer.LRRule{LR: opt.rates(), DurationSteps: slices.Repeat([]int64{1}, opt.Steps)}
	growing := func(c *trainer.Config) {
		c.Schedule, c.Warmup, c.SWA = trainer.Schedule{rule}, trainer.Warmup{}, trainer.SWAConfig{}
	}
	r := &RangeResult{Net: s.Name, Data: rows.Name}
	if err := s.train(growing, func(t *trainer.Trainer, c *trainer.Config) error {
		return r.train(ctx, t, rows, s, c.Losses, opt.Steps)
	}); err != nil {
		return nil, err
	}
	r.judge()
	return r, nil
}

func (r *RangeResult) train(ctx context.Context, t *trainer.Trainer, rows *Rows, s *Subject, losses []trainer.Loss, steps int) error {
	src, err := rows.Draw(ctx, s)
	if err != nil {
		return err
	}
	average, best := 0.0, math.Inf(1)
	for n := 1; n <= steps; n++ {
		step, err := t.Step(ctx, src)
		if errors.Is(err, io.EOF) {
			return inputError{fmt.Errorf("data %s ended after %d steps; give more data, or fewer --steps", rows.Name, n-1)}
		}
		if err != nil {
			return err
		}
		r.Steps = n
		if r.Diverged = step.Skipped; r.Diverged {
			return nil
		}
		loss := weightedSum(losses, &step.Measures)
		average = smoothing*average + (1-smoothing)*loss
		smooth := average / (1 - math.Pow(smoothing, float64(n)))
		r.Points = append(r.Points, RangePoint{Step: int64(n), LR: step.LR, Loss: loss, Smoothed: smooth, GradNorm: step.GradNorm, Losses: step.Losses})
		best = min(best, smooth)
		if r.Diverged = smooth > divergence*best; r.Diverged {
			return nil
		}
	}
	return nil
}

// judge finds the lowest smoothed loss and, before it, the steepest descent over
// the logarithm of the rate: of lines through a fifteenth of the steps to each
// side.
func (r *RangeResult) judge() {
	if len(r.Points) == 0 {
		return
	}
	low := 0
	for i, p := range r.Points {
		if p.Smoothed < r.Points[low].Smoothed {
			low = i
		}
	}
	r.Lowest, r.Loss = r.Points[low].LR, monitor.Number(r.Points[low].Smoothed)
	half, steepest := max(2, len(r.Points)/15), 0.0
	for i := settled + half; i+half <= low; i++ {
		if s := slope(r.Points[i-half : i+half+1]); s < steepest {
			steepest, r.Steepest = s, r.Points[i].LR
		}
	}
}

// settled is how many steps the smoothed loss needs until it is more than chance.
const settled = 15

// slope is that of the least-squares line through smoothed losses over the
// logarithm of the rate.
func slope(points []RangePoint) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		x := math.Log(p.LR)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+p.Smoothed, sxx+x*x, sxy+x*p.Smoothed
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// WriteCSV writes one line a step: step, lr, loss, smoothed_loss, grad_norm, and
// each loss by its metric name.
func (r *RangeResult) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	header := []string{"step", "lr", "loss", "smoothed_loss", "grad_norm"}
	if len(r.Points) > 0 {
		for _, l := range r.Points[0].Losses {
			header = append(header, l.Metric)
		}
	}
	lines := [][]string{header}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	for _, p := range r.Points {
		line := []string{strconv.FormatInt(p.Step, 10), number(p.LR), number(p.Loss), number(p.Smoothed), number(p.GradNorm)}
		for _, l := range p.Losses {
			line = append(line, number(l.Mean))
		}
		lines = append(lines, line)
	}
	return out.WriteAll(lines) // flushes
}
