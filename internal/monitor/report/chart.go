package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Line is a curve of a Chart.
type Line struct {
	Name   string
	Points []Point // values that are not finite are left out
	Width  float64 // in pixels; 0 = 1.5
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

// ChartFormat is the end of the names of the files that Chart.Write writes.
const ChartFormat = ".svg"

var errNoData = errors.New("no data")

// Write draws the chart into the file at path, whose name ends with ChartFormat.
func (c *Chart) Write(path string) error {
	if strings.ToLower(filepath.Ext(path)) != ChartFormat {
		return fmt.Errorf("plot %s: want a name that ends with %s", path, ChartFormat)
	}
	data, err := c.SVG()
	if err == nil {
		err = fsx.WriteNamed(path, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("plot %s: %w", path, err)
	}
	return nil
}

// The places of a picture, in pixels: the field of the curves, with room for the title above,
// the axes left and below, and the names of the curves at its right.
const (
	chartWidth, chartHeight = 860.0, 400.0
	left, right             = 64.0, 650.0
	top, bottom             = 36.0, 352.0
	maxName                 = 28 // letters of a name that find room
)

// colors are told apart by people who see colours differently (Okabe and Ito, 2008).
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#8c564b"}

const chartStyle = `<style>svg.chart{color:#222;background:#fff;font:12px sans-serif}.chart text{fill:currentColor}` +
	`@media(prefers-color-scheme:dark){svg.chart{color:#ddd;background:#16181c}}</style>`

// SVG draws the chart, light or dark as its reader's screen is. Without a point that can be
// drawn it returns an error.
func (c *Chart) SVG() ([]byte, error) {
	lines := make([][]Point, len(c.Lines))
	x, y := axis{lo: math.Inf(1), hi: math.Inf(-1), log: c.LogX}, axis{lo: math.Inf(1), hi: math.Inf(-1)}
	for i, l := range c.Lines {
		lines[i] = slices.DeleteFunc(slices.Clone(l.Points), func(p Point) bool { return !x.finite(p.X) || !y.finite(p.Y) })
		for _, p := range lines[i] {
			x.include(p.X)
			y.include(p.Y)
		}
	}
	if x.lo > x.hi {
		return nil, errNoData
	}
	for _, m := range c.Marks {
		if x.finite(m.X) {
			x.include(m.X)
		}
	}
	x.place(left, right)
	y.place(bottom, top)

	b := &bytes.Buffer{}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %g %g" role="img" aria-label="%s">%s`+"\n",
		chartWidth, chartHeight, html.EscapeString(c.Title), chartStyle)
	text := func(x, y float64, anchor, more, s string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>`+"\n", x, y, anchor, more, html.EscapeString(s))
	}
	path := func(color string, width float64, more, d string) {
		fmt.Fprintf(b, `<path fill="none" stroke="%s" stroke-width="%g"%s d="%s"/>`+"\n", color, width, more, d)
	}
	text((left+right)/2, top-14, "middle", ` font-size="15"`, c.Title)
	text((left+right)/2, chartHeight-10, "middle", "", c.X)
	text(0, 0, "middle", fmt.Sprintf(` transform="translate(14 %g) rotate(-90)"`, (top+bottom)/2), c.Y)
	grid := ""
	for _, v := range x.ticks {
		grid += fmt.Sprintf("M%.1f %gV%g", x.at(v), top, bottom)
		text(x.at(v), bottom+18, "middle", "", tick(v))
	}
	for _, v := range y.ticks {
		grid += fmt.Sprintf("M%g %.1fH%g", left, y.at(v), right)
		text(left-6, y.at(v)+4, "end", "", tick(v))
	}
	path("currentColor", 1, ` opacity=".15"`, grid)

	row := top + 10
	legend := func(color, dashes, name string) {
		path(color, 2, dashes, fmt.Sprintf("M%g %gh20", right+12, row-4))
		if len(name) > maxName {
			name = name[:maxName-1] + "…"
		}
		text(right+38, row, "start", "", name)
		row += 18
	}
	const dashed = ` stroke-dasharray="5 3"`
	for i, points := range lines {
		if len(points) == 0 {
			continue
		}
		l, color, dashes := c.Lines[i], colors[i%len(colors)], ""
		if l.Dashed {
			dashes = dashed
		}
		var d, dots strings.Builder
		for j, p := range points {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(j, 1)], x.at(p.X), y.at(p.Y))
			if l.Dots || len(points) == 1 {
				fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`, x.at(p.X), y.at(p.Y), color)
			}
		}
		path(color, cmp.Or(l.Width, 1.5), dashes+` stroke-linejoin="round"`, d.String())
		b.WriteString(dots.String())
		legend(color, dashes, l.Name)
	}
	for i, m := range c.Marks {
		if x.finite(m.X) {
			color := colors[(len(c.Lines)+i)%len(colors)]
			path(color, 1.5, dashed, fmt.Sprintf("M%.1f %gV%g", x.at(m.X), top, bottom))
			legend(color, dashed, m.Name)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// axis is one direction of a picture: what it spans, where that lies and what is written at it.
type axis struct {
	lo, hi   float64 // values
	log      bool
	from, to float64 // pixels
	ticks    []float64
}

// finite says whether a value has a place.
func (a *axis) finite(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!a.log || v > 0)
}

func (a *axis) include(v float64) { a.lo, a.hi = min(a.lo, v), max(a.hi, v) }

// scale is a value on an even axis.
func (a *axis) scale(v float64) float64 {
	if a.log {
		return math.Log10(v)
	}
	return v
}

// at is the pixel of a value.
func (a *axis) at(v float64) float64 {
	lo, hi := a.scale(a.lo), a.scale(a.hi)
	return a.from + (a.scale(v)-lo)/(hi-lo)*(a.to-a.from)
}

// place lays the axis between two pixels: from one round number to another, with round
// numbers between them, or the powers of ten of a logarithmic one.
func (a *axis) place(from, to float64) {
	a.from, a.to = from, to
	if a.log {
		if a.lo == a.hi {
			a.lo, a.hi = a.lo/2, a.hi*2
		}
		first, last := math.Floor(math.Log10(a.lo)), math.Ceil(math.Log10(a.hi))
		step := math.Ceil((last - first) / 8)
		for e := first; e <= last; e += step {
			if v := math.Pow(10, e); v >= a.lo && v <= a.hi {
				a.ticks = append(a.ticks, v)
			}
		}
		return
	}
	if a.hi-a.lo <= 1e-12*max(math.Abs(a.lo), math.Abs(a.hi), 1) { // no range at all
		a.lo, a.hi = a.lo-0.5, a.hi+0.5
	}
	const wanted = 6
	rough := (a.hi - a.lo) / wanted
	step := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{5, 2} {
		if step*m <= rough {
			step *= m
			break
		}
	}
	first, last := math.Floor(a.lo/step), math.Ceil(a.hi/step)
	for i := first; i <= last; i++ {
		a.ticks = append(a.ticks, i*step)
	}
	a.lo, a.hi = first*step, last*step
}

// tick writes a number beside an axis in a few letters.
func tick(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.size {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
