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
)

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
