package report

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// A chart over a logarithmic axis becomes an SVG; numbers that cannot be drawn are left
// out, and nothing to draw or an unknown format is an error.
func TestChart(t *testing.T) {
	c := Chart{Title: "t", X: "x", Y: "y", LogX: true, Marks: []Mark{{"m", 0.1}}, Lines: []Line{
		{Name: "raw", Width: 0.5, Points: []Point{{1e-5, 3}, {1e-3, math.NaN()}, {0, 1}, {1e-2, 2}, {1, math.Inf(1)}, {1, 9}}},
		{Name: "none", Points: []Point{{1, math.NaN()}}},
	}}
	dir := t.TempDir()
	svg := filepath.Join(dir, "a.svg")
	if err := c.Write(svg); err != nil {
		t.Fatal(err)
	}
	checkSVG(t, svg)
	data := filetest.Read(t, svg)
	// x runs from 1e-5 to 1 and y from 2 to 9: the first point lies at the left edge, the second
	// three fifths on, at the bottom; the mark four fifths on. "none" has no line and no name.
	for _, want := range []string{`d="M64.0 306.9L415.6 352.0L650.0 36.0"`, `d="M532.8 36V352"`, ">raw</text>", ">m</text>", ">9</text>", ">0.01</text>"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in\n%s", want, data)
		}
	}
	if strings.Contains(string(data), ">none</text>") {
		t.Error("a line without a point is in the legend")
	}
	if err := c.Write(filepath.Join(dir, "a.pdf")); err == nil || !strings.Contains(err.Error(), "ends with .svg") {
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
