package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/alarms"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/selfplay"
	"github.com/chessbrain/chessbrain/trainer"
)

// reporter tells what the steps of a training come to, and measures its nets.
type reporter struct {
	*core
	heads  *headRows // of the trainer
	meter  *monitor.Meter
	played *selfplay.Stats

	out      *publisher
	measures []measure

	firstStep   int64 // at the start of this process
	firstSample int64
	goal        int64 // steps at which the training ends; 0 = not known
}

// report reports a step and watches over it.
func (r *reporter) report(ctx context.Context, s *trainer.StepStats) error {
	if r.cfg.HaltOnGradients && !s.Skipped {
		if err := r.state.Gradients.Observe(s.GradNorm, r.cfg.ClipNorm); err != nil {
			return fmt.Errorf("step %d: %w", s.Step, err)
		}
	}
	window, _ := r.rows.Size()
	e := &monitor.Step{
		Step: s.Step, Steps: r.goal, Episode: r.state.Episodes, Samples: s.Samples, Entered: r.state.Rows, Rows: s.Rows,
		Losses: LossNumbers(&s.Measures), Loss: monitor.Number(s.Objective),
		PolicyEntropy: monitor.Number(s.PolicyEntropy), TargetEntropy: monitor.Number(s.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(s.LegalEntropy), PolicyAcc: monitor.Number(s.PolicyAccuracy), ValueAcc: monitor.Number(s.ValueAccuracy),
		LR: monitor.Number(s.LR), GradNorm: monitor.Number(s.GradNorm), Clipped: s.Clipped, LossScale: monitor.Number(s.LossScale),
		Skipped: s.Skipped, SkippedTotal: r.trainer.NumSkipped(), Seconds: monitor.Number(s.Time.Seconds()),
		WindowRows: window, QueueDepth: r.pace.Queue(), Totals: r.totals(),
	}
	e.Rates = r.meter.Observe(time.Now(), e.Totals)
	r.page.Set(func(p *Page) { p.Step, p.Losses, p.Rates = s.Step, e.Losses, e.Rates })
	r.page.add(e.Losses)
	for _, head := range r.heads.take(&s.Measures) { // that learn nothing
		a := alarms.NoTarget(string(head), untaughtSteps)
		a.Step, a.Episode = s.Step, r.state.Episodes
		r.log.Warn(a.Message, "remedy", a.Remedy)
		r.process.Publish(a)
	}
	if s.Skipped || s.Step%r.cfg.Metrics.Every == 0 {
		r.process.Publish(e)
	}
	if every := r.cfg.Validation.Every; every > 0 && s.Step%every == 0 && !s.Skipped {
		if err := r.validate(ctx); err != nil {
			return err
		}
	}
	return r.measure(ctx, s)
}

// totals are the counts since the process started.
func (r *reporter) totals() monitor.Totals {
	n := r.played.Snapshot()
	t := play.TotalsOf(&n)
	t.Steps, t.Rows = r.trainer.NumSteps()-r.firstStep, r.trainer.NumSamples()-r.firstSample
	return t
}

// validate measures the losses on the validation games, raw weights.
func (r *reporter) validate(ctx context.Context) error {
	e, err := r.evaluate(ctx, r.trainer, monitor.WeightsRaw, r.cfg.Validation.Rows)
	if e != nil && err == nil {
		r.page.Set(func(p *Page) { p.Validation = e.Losses })
	}
	return err
}

// evaluate measures a net on at most so many rows of the validation games and tells
// of it; nil where there are none.
func (r *reporter) evaluate(ctx context.Context, t *trainer.Trainer, weights string, rows int) (*monitor.Validation, error) {
	held, err := r.rows.HeldOut(ctx, rows)
	if held == nil || err != nil {
		return nil, err
	}
	games := r.ledger.games.Validation.Games()
	e, err := r.losses(ctx, t, held, weights, rows, games)
	if err != nil {
		return nil, fmt.Errorf("measure on the validation games: %w", err)
	}
	r.process.Publish(e)
	return e, nil
}

// losses measures a net on at most so many rows, which are spread over so many games.
func (r *reporter) losses(ctx context.Context, t *trainer.Trainer, on trainer.BatchSource, weights string, rows, games int) (*monitor.Validation, error) {
	s, err := t.Evaluate(ctx, on, rows)
	if err != nil {
		return nil, err
	}
	e := &monitor.Validation{
		Step: r.trainer.NumSteps(), Episode: r.state.Episodes, Weights: weights, Rows: s.Rows, Games: games,
		Losses: LossNumbers(&s.Measures), StdErrs: monitor.Numbers{},
		PolicyEntropy: monitor.Number(s.PolicyEntropy), TargetEntropy: monitor.Number(s.PolicyTargetEntropy),
		LegalEntropy: monitor.Number(s.LegalEntropy), PolicyAcc: monitor.Number(s.PolicyAccuracy), ValueAcc: monitor.Number(s.ValueAccuracy),
	}
	for _, l := range s.Losses {
		e.StdErrs[l.Metric] = monitor.Number(l.StdErrOf(games))
	}
	return e, nil
}

// compareWithFirst evaluates the net that the run began with and the newest one
// on all validation rows, up to ten thousand.
func (r *reporter) compareWithFirst(ctx context.Context) (first, last *monitor.Validation, err error) {
	if held, err := r.rows.HeldOut(ctx, summaryRows); held == nil || err != nil {
		return nil, nil, err
	}
	untrained, err := r.beside(r.initial)
	if err != nil {
		return nil, nil, err
	}
	first, firstErr := r.evaluate(ctx, untrained, monitor.WeightsUntrained, summaryRows)
	last, lastErr := r.evaluate(ctx, r.trainer, monitor.WeightsRaw, summaryRows)
	return first, last, errors.Join(firstErr, lastErr, untrained.Close())
}

// beside returns a trainer of a net beside the run's own, at the same step: blends are
// those of today. The caller closes it.
func (r *reporter) beside(net *nn.Net) (*trainer.Trainer, error) {
	cfg, err := r.cfg.Trainer(net.Arch)
	if err != nil {
		return nil, err
	}
	if cfg.Device != nil {
		cfg.BatchSize = min(cfg.BatchSize, summaryBatch)
	}
	t, err := trainer.New(net, cfg)
	if err != nil {
		return nil, err
	}
	if err := t.Continue(trainer.Continuation{Steps: r.trainer.NumSteps()}); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// LossNumbers are losses by metric name.
func LossNumbers(m *trainer.Measures) monitor.Numbers {
	n := monitor.Numbers{}
	for _, l := range m.Losses {
		n[l.Metric] = monitor.Number(l.Mean)
	}
	return n
}

// ErrGradients says that training.halt_on_gradient_norm stopped the run. The
// last checkpoint stands.
var ErrGradients = errors.New("the gradients explode")

// GradientWatch halts a run whose gradients explode, by KataGo's rule: 8 steps
// in a row with a norm above the clipping norm, a quarter of the last 100, or
// one above 50 times it.
type GradientWatch struct {
	Last []bool `json:"last,omitempty"` // of up to 100 steps, oldest first: the norm was above the bound
}

const (
	gradientMemory = 100
	gradientRow    = 8
	gradientShare  = 4  // one of so many
	gradientPeak   = 50 // times the clipping norm
)

// Observe takes a step's norm before clipping and returns ErrGradients when it
// is time to halt.
func (w *GradientWatch) Observe(norm, bound float64) error {
	w.Last = append(w.Last, norm > bound)
	if len(w.Last) > gradientMemory {
		w.Last = w.Last[len(w.Last)-gradientMemory:]
	}
	row, bad := 0, 0
	for _, b := range w.Last {
		row++
		if b {
			bad++
		} else {
			row = 0
		}
	}
	switch {
	case norm > gradientPeak*bound:
		return fmt.Errorf("%w: a norm of %.4g, clip_norm is %.4g", ErrGradients, norm, bound)
	case row >= gradientRow:
		return fmt.Errorf("%w: %d steps in a row had a norm above clip_norm %.4g", ErrGradients, row, bound)
	case len(w.Last) == gradientMemory && bad*gradientShare >= gradientMemory:
		return fmt.Errorf("%w: %d of the last %d steps had a norm above clip_norm %.4g", ErrGradients, bad, gradientMemory, bound)
	}
	return nil
}

// untaughtSteps is the number of steps in a row without a target after which a
// head is reported.
const untaughtSteps = 100

// headRows counts the rows from which each head learnt. A head without a target
// fails no step: its loss is NaN, its gradient 0, and its weights stay as they were
// while the others learn. Nothing else in a run would show it.
type headRows struct {
	losses  []trainer.Loss         // of the trainer's configuration
	steps   int                    // of this process
	heads   []trainer.Head         // that have a loss of a weight above 0, in the order of losses
	rows    map[trainer.Head]int64 // with a known target, of all steps
	without map[trainer.Head]int   // steps since the last of them
}

func newHeadRows(losses []trainer.Loss) *headRows {
	h := &headRows{losses: losses, rows: map[trainer.Head]int64{}, without: map[trainer.Head]int{}}
	for i := range losses {
		l := &losses[i]
		if l.Head != trainer.HeadWeights && l.Weight > 0 && !slices.Contains(h.heads, l.Head) {
			h.heads = append(h.heads, l.Head)
		}
	}
	return h
}

// take adds a step and returns the heads that are to be reported now, each once.
func (h *headRows) take(m *trainer.Measures) (report []trainer.Head) {
	h.steps++
	for _, head := range h.heads {
		rows := 0
		for i := range h.losses {
			if l := &h.losses[i]; l.Head == head && l.Weight > 0 {
				rows = max(rows, m.Losses[i].N)
			}
		}
		h.rows[head] += int64(rows)
		switch {
		case h.without[head] >= untaughtSteps: // told
		case rows > 0:
			h.without[head] = 0
		default:
			if h.without[head]++; h.without[head] == untaughtSteps {
				report = append(report, head)
			}
		}
	}
	return report
}

// untaught are the heads that no row of any step had a target for.
func (h *headRows) untaught() []trainer.Head {
	if h.steps == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(h.heads), func(head trainer.Head) bool { return h.rows[head] > 0 })
}

// writeUntaught names the heads that learnt nothing. A process that continued a
// training speaks of its own steps only.
func (s *Summary) writeUntaught(b *strings.Builder) {
	if len(s.Untaught) == 0 || s.short() {
		return
	}
	since := ""
	if s.FirstStep > 0 {
		since = fmt.Sprintf(" since step %d", s.FirstStep)
	}
	names := make([]string, len(s.Untaught))
	for i, head := range s.Untaught {
		names[i] = string(head)
	}
	slices.Sort(names)
	fmt.Fprintf(b, "Not learnt%s: %s (no row had a target)\n", since, strings.Join(names, ", "))
}
