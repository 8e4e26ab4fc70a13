package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
)

// maxPoints of one line of a plot.
const maxPoints = 400

// figure is one picture.
type figure struct {
	name, title, x, y string
	tags              []string // curves; empty ones are left out
}

// figures lists the pictures that the data allows.
func figures(d *Data) []figure {
	losses := figure{name: "losses", title: "Losses", x: "step", y: "loss"}
	for _, tag := range d.Tags("train/") {
		if name := strings.TrimPrefix(tag, "train/"); strings.HasSuffix(name, "_loss") && name != "l2_loss" {
			losses.tags = append(losses.tags, tag, "val/"+name)
			for _, other := range d.Tags("val_") { // averaged weights, and measurements of the configuration
				if strings.HasSuffix(other, "/"+name) && !strings.HasPrefix(other, "val_"+monitor.WeightsUntrained+"/") {
					losses.tags = append(losses.tags, other)
				}
			}
		}
	}
	return []figure{
		{"elo", "Elo of the nets on the run's own list", "samples trained on", "Elo", []string{Elo}},
		losses,
		{"trainings", "Policy loss of each training", "samples trained on", "loss", d.Tags(OfTraining)},
		{"policy", "Policy", "step", "nats", []string{"train/policy_loss", "val/policy_loss", "train/policy_entropy", "train/target_entropy", "train/legal_entropy"}},
		{"accuracy", "Accuracy", "step", "share of rows", []string{"train/policy_accuracy", "val/policy_accuracy", "train/value_accuracy", "val/value_accuracy"}},
		{"lr", "Learning rate", "step", "learning rate", []string{"train/lr"}},
		{"gradient", "Gradient norm before clipping", "step", "norm", []string{"train/grad_norm"}},
		{"draws", "Draws among the last games", "episode", "share", []string{"selfplay/draw_share"}},
		{"length", "Length of games", "episode", "plies", []string{"selfplay/plies", "selfplay/mean_plies"}},
		{"ends", "How games ended", "episode", "games so far", d.Tags("selfplay/end/")},
		{"selfplay", "Self-play speed", "episode", "per second", []string{"selfplay/positions_s", "selfplay/evaluations_s"}},
		{"training", "Training speed", "step", "per second", []string{"throughput/rows_s", "throughput/steps_s"}},
	}
}

// chart draws a figure's curves: those of validation dashed, those of few points with dots.
func (f *figure) chart(d *Data) *Chart {
	c := &Chart{Title: f.title, X: f.x, Y: f.y}
	for _, tag := range f.tags {
		points := thin(d.Curves[tag], maxPoints)
		c.Lines = append(c.Lines, Line{Name: strings.TrimPrefix(strings.TrimPrefix(tag, "selfplay/"), OfTraining), Points: points, Width: 1.2,
			Dashed: strings.HasPrefix(tag, "val"), Dots: len(points) < 30})
	}
	return c
}

// Write makes an SVG of each figure that has data, and report.md, which ends with more, in
// dir, which is created. It returns their paths.
func Write(d *Data, dir, more string) ([]string, error) {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return nil, fmt.Errorf("make report directory: %w", err)
	}
	var paths []string
	text := Summary(d) + "\n"
	for _, f := range figures(d) {
		path := filepath.Join(dir, f.name+".svg")
		err := f.chart(d).Write(path)
		if errors.Is(err, errNoData) {
			continue
		}
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
		text += fmt.Sprintf("![%s](%s.svg)\n", f.name, f.name)
	}
	path := filepath.Join(dir, "report.md")
	if err := fsx.WriteFile(fsx.OS, path, []byte(text+more)); err != nil { // two trainings may end at the same time
		return paths, fmt.Errorf("write report: %w", err)
	}
	return append(paths, path), nil
}
