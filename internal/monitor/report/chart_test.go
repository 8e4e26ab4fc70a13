package report

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// A chart over a logarithmic axis becomes an SVG and a PNG; numbers that cannot be
// drawn are left out, and nothing to draw or an unknown format is an error.
func TestChart(t *testing.T) {
	c := Chart{Title: "t", X: "x", Y: "y", LogX: true, Marks: []Mark{{"m", 0.1}}, Lines: []Line{
		{Name: "raw", Width: 0.5, Points: []Point{{1e-5, 3}, {1e-3, math.NaN()}, {0, 1}, {1e-2, 2}, {1, math.Inf(1)}, {1, 9}}},
		{Name: "none", Points: []Point{{1, math.NaN()}}},
	}}
	dir := t.TempDir()
	svg, png := filepath.Join(dir, "a.svg"), filepath.Join(dir, "a.png")
	for _, path := range []string{svg, png} {
		if err := c.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	checkSVG(t, svg)
	checkPNG(t, png)
	if err := c.Write(filepath.Join(dir, "a.pdf")); err == nil || !strings.Contains(err.Error(), ".svg or .png") {
		t.Errorf("a pdf: %v", err)
	}
	one := Chart{LogX: true, Lines: []Line{{Name: "one", Points: []Point{{1, 1}}}}}
	if err := one.Write(svg); err != nil {
		t.Errorf("one point: %v", err)
	}
	c.Lines = c.Lines[1:]
	if err := c.Write(svg); err == nil {
		t.Error("nothing was drawn")
	}
}
