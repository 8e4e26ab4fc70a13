package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgimg" // PNG
	_ "gonum.org/v1/plot/vg/vgsvg" // SVG
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
			losses.tags = append(losses.tags, tag, "val/"+name, "val_swa/"+name)
		}
	}
	ends := figure{name: "ends", title: "How games ended", x: "episode", y: "games so far", tags: d.Tags("selfplay/end/")}
	return []figure{
		losses,
		{"policy", "Policy", "step", "nats", []string{"train/policy_loss", "val/policy_loss", "train/policy_entropy", "train/target_entropy", "train/legal_entropy"}},
		{"accuracy", "Accuracy", "step", "share of rows", []string{"train/policy_accuracy", "val/policy_accuracy", "train/value_accuracy", "val/value_accuracy"}},
		{"lr", "Learning rate", "step", "learning rate", []string{"train/lr"}},
		{"gradient", "Gradient norm before clipping", "step", "norm", []string{"train/grad_norm"}},
		{"draws", "Draws among the last games", "episode", "share", []string{"selfplay/draw_share"}},
		{"length", "Length of games", "episode", "plies", []string{"selfplay/plies", "selfplay/mean_plies"}},
		ends,
		{"selfplay", "Self-play speed", "episode", "per second", []string{"selfplay/positions_s", "selfplay/evaluations_s"}},
		{"training", "Training speed", "step", "per second", []string{"throughput/rows_s", "throughput/steps_s"}},
	}
}

// Write makes one SVG and one PNG of each figure that has data, and report.md,
// in dir, which is created. It returns their paths.
func Write(d *Data, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make report directory: %w", err)
	}
	var paths, names []string
	for _, f := range figures(d) {
		p, err := f.draw(d)
		if errors.Is(err, errNoData) {
			continue
		}
		if err != nil {
			return paths, fmt.Errorf("plot %s: %w", f.name, err)
		}
		for _, format := range []string{"svg", "png"} {
			path := filepath.Join(dir, f.name+"."+format)
			if err := save(p, path, format); err != nil {
				return paths, fmt.Errorf("plot %s: %w", f.name, err)
			}
			paths = append(paths, path)
		}
		names = append(names, f.name)
	}
	var text strings.Builder
	text.WriteString(Summary(d) + "\n")
	for _, name := range names {
		fmt.Fprintf(&text, "![%s](%s.svg)\n", name, name)
	}
	path := filepath.Join(dir, "report.md")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		return paths, fmt.Errorf("write report: %w", err)
	}
	return append(paths, path), nil
}

var errNoData = errors.New("no data")

// draw makes the plot of a figure; a curve of one point is a dot.
func (f *figure) draw(d *Data) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, f.x, f.y
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	drawn := 0
	for i, tag := range f.tags {
		points := thin(d.Curves[tag], maxPoints)
		if len(points) == 0 {
			continue
		}
		xys := make(plotter.XYs, len(points))
		for k, pt := range points {
			xys[k] = plotter.XY(pt)
		}
		line, dots, err := plotter.NewLinePoints(xys)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color = plotutil.Color(i), plotutil.Color(i)
		line.Width, dots.Radius = vg.Points(1.2), vg.Points(2)
		if strings.HasPrefix(tag, "val") {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		}
		p.Add(line)
		if len(points) < 30 {
			p.Add(dots)
		}
		p.Legend.Add(strings.TrimPrefix(tag, "selfplay/"), line)
		drawn++
	}
	if drawn == 0 {
		return nil, errNoData
	}
	widen(p)
	p.Y.Max += legendRoom * float64(drawn) * (p.Y.Max - p.Y.Min)
	return p, nil
}

// legendRoom is what a line of the legend takes of the height of the data.
const legendRoom = 0.08

// widen makes room around data that spans no range at all.
func widen(p *plot.Plot) {
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		if a.Max-a.Min < 1e-12 {
			a.Min, a.Max = a.Min-0.5, a.Max+0.5
		}
	}
}

func save(p *plot.Plot, path, format string) error {
	w, err := p.WriterTo(18*vg.Centimeter, 10*vg.Centimeter, format)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
