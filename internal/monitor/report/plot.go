package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgimg" // PNG
	_ "gonum.org/v1/plot/vg/vgsvg" // SVG

	"github.com/chessbrain/chessbrain/internal/fsx"
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
	return []figure{
		{"elo", "Elo of the nets on the run's own list", "samples trained on", "Elo", []string{Elo}},
		losses,
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
		c.Lines = append(c.Lines, Line{Name: strings.TrimPrefix(tag, "selfplay/"), Points: points, Width: 1.2,
			Dashed: strings.HasPrefix(tag, "val"), Dots: len(points) < 30})
	}
	return c
}

// Write makes one SVG and one PNG of each figure that has data, and report.md, which ends
// with more, in dir, which is created. It returns their paths.
func Write(d *Data, dir, more string) ([]string, error) {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return nil, fmt.Errorf("make report directory: %w", err)
	}
	var paths []string
	text := Summary(d) + "\n"
	for _, f := range figures(d) {
		path := filepath.Join(dir, f.name)
		err := f.chart(d).Write(path+".svg", path+".png")
		if errors.Is(err, errNoData) {
			continue
		}
		if err != nil {
			return paths, err
		}
		paths = append(paths, path+".svg", path+".png")
		text += fmt.Sprintf("![%s](%s.svg)\n", f.name, f.name)
	}
	path := filepath.Join(dir, "report.md")
	if err := os.WriteFile(path, []byte(text+more), 0o644); err != nil {
		return paths, fmt.Errorf("write report: %w", err)
	}
	return append(paths, path), nil
}

// Line is a curve of a Chart.
type Line struct {
	Name   string
	Points []Point // values that are not finite are left out
	Width  float64 // in points; 0 = 1.5
	Dashed bool
	Dots   bool // at the points, too
}

// Mark is a vertical line of a Chart.
type Mark struct {
	Name string
	X    float64
}

// Chart is a picture of a few curves.
type Chart struct {
	Title, X, Y string
	LogX        bool // x > 0 everywhere
	Lines       []Line
	Marks       []Mark
}

// ChartFormats are the ends of file names that Chart.Write knows.
var ChartFormats = []string{".svg", ".png"}

// Write draws the chart into files; the ends of their names say the formats.
func (c *Chart) Write(paths ...string) error {
	p, err := c.plot()
	for _, path := range paths {
		format := strings.ToLower(filepath.Ext(path))
		if !slices.Contains(ChartFormats, format) {
			return fmt.Errorf("plot %s: want a name that ends with %s", path, strings.Join(ChartFormats, " or "))
		}
		if err == nil {
			err = save(p, path, format[1:])
		}
		if err != nil {
			return fmt.Errorf("plot %s: %w", path, err)
		}
	}
	return nil
}

var errNoData = errors.New("no data")

// legendRoom is what a line of the legend takes of the height of the data.
const legendRoom = 0.08

// dashes are those of dashed lines.
var dashes = []vg.Length{vg.Points(4), vg.Points(2)}

// plot draws the chart.
func (c *Chart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Legend.Top = true
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())
	drawn := 0
	for i, l := range c.Lines {
		xys := c.finite(l.Points)
		if len(xys) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(xys)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color = plotutil.Color(i), plotutil.Color(i)
		line.Width, dots.Radius = vg.Points(cmp.Or(l.Width, 1.5)), vg.Points(2)
		if l.Dashed {
			line.Dashes = dashes
		}
		p.Add(line)
		if l.Dots {
			p.Add(dots)
		}
		p.Legend.Add(l.Name, line)
		drawn++
	}
	if drawn == 0 {
		return nil, errNoData
	}
	if c.LogX && p.X.Max <= p.X.Min {
		p.X.Min, p.X.Max = p.X.Min/2, p.X.Max*2
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} { // data that spans no range at all
		if a.Max-a.Min < 1e-12 {
			a.Min, a.Max = a.Min-0.5, a.Max+0.5
		}
	}
	low, high := p.Y.Min, p.Y.Max
	for i, m := range c.Marks {
		line, err := plotter.NewLine(plotter.XYs{{X: m.X, Y: low}, {X: m.X, Y: high}})
		if err != nil {
			return nil, err
		}
		line.Color, line.Dashes = plotutil.Color(len(c.Lines)+i), dashes
		p.Add(line)
		p.Legend.Add(m.Name, line)
	}
	p.Y.Max += legendRoom * float64(drawn+len(c.Marks)) * (high - low)
	return p, nil
}

// finite are the points that can be drawn.
func (c *Chart) finite(points []Point) (xys plotter.XYs) {
	for _, pt := range points {
		if sum := pt.X + pt.Y; !math.IsNaN(sum) && !math.IsInf(sum, 0) && (!c.LogX || pt.X > 0) {
			xys = append(xys, plotter.XY(pt))
		}
	}
	return xys
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
