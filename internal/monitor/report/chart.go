package report

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// Line is a curve of a Chart.
type Line struct {
	Name   string
	Points []Point // values that are not finite are left out
	Thin   bool    // drawn thin and pale, behind the others: raw values
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

// Write draws the chart into a file; the end of its name says the format.
func (c *Chart) Write(path string) error {
	format := strings.ToLower(filepath.Ext(path))
	if !slices.Contains(ChartFormats, format) {
		return fmt.Errorf("plot %s: want a name that ends with %s", path, strings.Join(ChartFormats, " or "))
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Legend.Top = true
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())
	drawn := 0
	for i, l := range c.Lines {
		line, err := c.line(&l, i)
		if err != nil {
			return fmt.Errorf("plot %s: %w", path, err)
		}
		if line != nil {
			p.Add(line)
			p.Legend.Add(l.Name, line)
			drawn++
		}
	}
	if drawn == 0 {
		return fmt.Errorf("plot %s: %w", path, errNoData)
	}
	if c.LogX {
		if p.X.Max <= p.X.Min {
			p.X.Min, p.X.Max = p.X.Min/2, p.X.Max*2
		}
	}
	widen(p)
	low, high := p.Y.Min, p.Y.Max
	for i, m := range c.Marks {
		line, err := plotter.NewLine(plotter.XYs{{X: m.X, Y: low}, {X: m.X, Y: high}})
		if err != nil {
			return fmt.Errorf("plot %s: %w", path, err)
		}
		line.Color, line.Dashes = plotutil.Color(len(c.Lines)+i), []vg.Length{vg.Points(4), vg.Points(2)}
		p.Add(line)
		p.Legend.Add(m.Name, line)
	}
	p.Y.Max += legendRoom * float64(drawn+len(c.Marks)) * (high - low)
	return save(p, path, format[1:])
}

// line is the drawn form of curve i, nil where it has no point.
func (c *Chart) line(l *Line, i int) (*plotter.Line, error) {
	var xys plotter.XYs
	for _, pt := range l.Points {
		if bad := func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }; !bad(pt.X) && !bad(pt.Y) && (!c.LogX || pt.X > 0) {
			xys = append(xys, plotter.XY(pt))
		}
	}
	if len(xys) == 0 {
		return nil, nil
	}
	line, err := plotter.NewLine(xys)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = plotutil.Color(i), vg.Points(1.5)
	if l.Thin {
		line.Width = vg.Points(0.5)
	}
	return line, nil
}
