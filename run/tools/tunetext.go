package tools

import (
	"fmt"

	"github.com/chessbrain/chessbrain/internal/monitor/report"
)

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
	raw, smooth := report.Line{Name: "loss", Thin: true}, report.Line{Name: "smoothed"}
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
