package tools

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/monitor/report"
)

// Write prints the losses for a person.
func (r *Result) Write(out io.Writer) error {
	fmt.Fprintf(out, "%s (%s weights, net %.12s) on %s of %s", r.Net, r.Weights, r.NetID, monitor.Count(r.Rows, "row"), r.Data)
	if r.Games > 0 {
		fmt.Fprintf(out, " (%s)", monitor.Count(r.Games, "game"))
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "loss\tmean\tstd err\trows\tweight")
	for _, l := range r.Losses {
		stdErr, rows := "-", "-"
		if l.Rows > 0 {
			stdErr, rows = fmt.Sprintf("%.4f", float64(l.StdErr)), fmt.Sprint(l.Rows)
		}
		fmt.Fprintf(w, "%s\t%.4f\t%s\t%s\t%g\n", l.Metric, float64(l.Mean), stdErr, rows, l.Weight)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "policy: entropy %.4f, of the targets %.4f (the least loss), of the legal moves %.4f; accuracy %.4f\nvalue: accuracy %.4f\n",
		float64(r.PolicyEntropy), float64(r.TargetEntropy), float64(r.LegalEntropy), float64(r.PolicyAccuracy), float64(r.ValueAccuracy))
	return err
}

// Write prints the result for a person; ErrNotLearnt says what was not learnt.
func (r *OverfitResult) Write(out io.Writer) error {
	if !r.Learnt {
		return nil
	}
	_, err := fmt.Fprintf(out, "learnt: %d rows of %s in %d steps at lr %g; entropy floor %.4f, policy accuracy %.3f, value accuracy %.3f\n",
		r.Rows, r.Data, r.Curve[len(r.Curve)-1].Step, r.LR, float64(r.Floor), float64(r.PolicyAccuracy), float64(r.ValueAccuracy))
	return err
}

// Write sums an epoch up for a person.
func (r *EpochResult) Write(out io.Writer) error {
	end := "stopped by --steps"
	if r.Ended {
		end = "all data once"
	}
	if r.Skipped > 0 {
		end += fmt.Sprintf(", %d steps skipped for numbers that were not finite", r.Skipped)
	}
	_, err := fmt.Fprintf(out, "%s on %s: %d steps, %d rows in %.1f s (%s)\n%.2f steps/s, %.0f rows/s, %.0f %% of the time waiting for rows\nmean losses:%s\nnothing was saved\n",
		r.Net, r.Data, r.Steps, r.Rows, r.Seconds, end, float64(r.StepsPerSecond), float64(r.RowsPerSecond), 100*float64(r.DataShare), LossText(r.Losses))
	return err
}

// LossText lists losses by name, each after two spaces.
func LossText(losses monitor.Numbers) string {
	var sb strings.Builder
	for _, name := range losses.Names() {
		fmt.Fprintf(&sb, "  %s %.4f", name, float64(losses[name]))
	}
	return sb.String()
}

// Text says what the test up to the rate to showed, for a person, and where its curve is.
func (r *RangeResult) Text(to float64, curve string) string {
	end := fmt.Sprintf("up to lr %g", to)
	if n := len(r.Points); r.Diverged && n > 0 {
		end = fmt.Sprintf("until it diverged at lr %.3g", r.Points[n-1].LR)
	}
	text := fmt.Sprintf("%s on %s: %d steps %s -> %s\n", r.Net, r.Data, r.Steps, end, curve)
	if r.Steepest == 0 {
		return text + "no suggestion: the smoothed loss never fell; widen --from and --to, or take more --steps\n"
	}
	return text + fmt.Sprintf("suggestion: lr %.2g (steepest descent); lowest smoothed loss %.4f at lr %.2g\n", r.Steepest, float64(r.Loss), r.Lowest)
}

// Chart is the picture of the test.
func (r *RangeResult) Chart() *report.Chart {
	raw, smooth := report.Line{Name: "loss", Width: 0.5}, report.Line{Name: "smoothed"}
	for _, p := range r.Points {
		raw.Points = append(raw.Points, report.Point{X: p.LR, Y: p.Loss})
		smooth.Points = append(smooth.Points, report.Point{X: p.LR, Y: p.Smoothed})
	}
	chart := &report.Chart{Title: "Learning-rate range test", X: "learning rate", Y: "loss", LogX: true, Lines: []report.Line{raw, smooth}}
	if r.Steepest > 0 {
		chart.Marks = []report.Mark{{Name: fmt.Sprintf("suggestion %.2g", r.Steepest), X: r.Steepest}}
	}
	return chart
}
