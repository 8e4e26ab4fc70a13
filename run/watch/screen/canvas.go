package screen

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/chessbrain/chessbrain/record"
)

// style is how characters look; on a terminal without colors none of it is seen.
type style string

// The styles, by their codes of ECMA-48.
const (
	plain    style = ""
	bold     style = "1"
	dim      style = "2"
	inverse  style = "7"
	warn     style = "33"
	bad      style = "31"
	curve1   style = "36"
	curve2   style = "35"
	whiteMan style = "97;1"
	blackMan style = "30"
	light    style = "48;5;180" // squares
	dark     style = "48;5;137"
	marked   style = "48;5;143" // squares of the last move
)

// canvas is a screen of characters.
type canvas struct {
	width, height int
	cells         []cell
}

type cell struct {
	char  rune
	style style
}

func newCanvas(width, height int) *canvas {
	return &canvas{width, height, slices.Repeat([]cell{{' ', plain}}, width*height)}
}

// text writes s from column x of line y on, as far as it fits, and returns the column after it.
func (c *canvas) text(x, y int, st style, format string, args ...any) int {
	for _, char := range fmt.Sprintf(format, args...) {
		c.set(x, y, char, st)
		x++
	}
	return x
}

// set writes one character. One that would move a terminal's cursor is a blank.
func (c *canvas) set(x, y int, char rune, st style) {
	if unicode.IsControl(char) {
		char = ' '
	}
	if x >= 0 && x < c.width && y >= 0 && y < c.height {
		c.cells[y*c.width+x] = cell{char, st}
	}
}

// part writes as much of s as fits into so many columns; what was cut ends with an ellipsis.
func (c *canvas) part(x, y, width int, st style, s string) {
	if chars := []rune(s); len(chars) > width {
		s = string(chars[:max(width-1, 0)]) + "…"
	}
	c.text(x, y, st, "%s", s)
}

// lines returns the lines, without the blanks at their ends; colored with codes for styles.
func (c *canvas) lines(colored bool) []string {
	lines := make([]string, c.height)
	for y := range lines {
		row := c.cells[y*c.width:][:c.width]
		for len(row) > 0 && row[len(row)-1] == (cell{' ', plain}) {
			row = row[:len(row)-1]
		}
		var b strings.Builder
		now := plain
		for _, x := range row {
			if colored && x.style != now {
				now = x.style
				b.WriteString("\x1b[0;" + string(now) + "m")
			}
			b.WriteRune(x.char)
		}
		if now != plain {
			b.WriteString("\x1b[0m")
		}
		lines[y] = b.String()
		if !colored {
			lines[y] = strings.TrimRight(lines[y], " ")
		}
	}
	return lines
}

// board draws a position of 8 lines and 8*wide columns, wide 2 or 3. The squares of lastMove (UCI), which
// may be empty, are marked: without colors by brackets, where there is room for them.
func (c *canvas) board(x, y, wide int, fen, lastMove string, colored bool) {
	v := record.View{FEN: fen}
	for rank, row := range v.Rows() {
		for file, man := range strings.Fields(row) {
			square := string(rune('a'+file)) + string(rune('8'-rank))
			st, open, end := light, ' ', ' '
			if (rank+file)%2 == 1 {
				st = dark
			}
			if len(lastMove) >= 4 && (lastMove[:2] == square || lastMove[2:4] == square) {
				st, open, end = marked, '[', ']'
			}
			char := rune(man[0])
			if colored {
				open, end = ' ', ' '
				char, st = figure(char, st)
			} else {
				st = plain
			}
			at := x + file*wide
			if wide == 3 {
				c.set(at, y+rank, open, st)
				at++
			} else {
				end = ' '
			}
			c.set(at, y+rank, char, st)
			c.set(at+1, y+rank, end, st)
		}
	}
}

// figure is the picture of a man on a square: the filled one for both sides, as the outlined
// ones are hard to see.
func figure(man rune, square style) (rune, style) {
	i := strings.IndexRune("KQRBNP", man)
	side := whiteMan
	if i < 0 {
		i, side = strings.IndexRune("kqrbnp", man), blackMan
	}
	if i < 0 {
		return ' ', square
	}
	return '♚' + rune(i), side + ";" + square
}

// series is a curve, whose newest value stands behind its name unless it is unordered.
type series struct {
	name      string
	points    [][2]float64
	unordered bool
}

// chart draws up to two curves over one pair of axes, with their names and newest values
// above them. It takes so many columns and lines; low and high bound y where they are numbers.
func (c *canvas) chart(x, y, width, height int, title string, low, high float64, all ...series) {
	at := c.text(x, y, bold, "%s", title)
	styles := []style{curve1, curve2}
	var xs, ys []float64
	for i, s := range all {
		if len(s.points) == 0 {
			continue
		}
		name := "  " + s.name
		if !s.unordered {
			name += " " + number(s.points[len(s.points)-1][1])
		}
		if at+len([]rune(name)) <= x+width {
			at = c.text(at, y, styles[i], "%s", name)
		}
		for _, p := range s.points {
			xs, ys = append(xs, p[0]), append(ys, p[1])
		}
	}
	if len(xs) == 0 {
		c.text(x, y+1, dim, "nothing is known yet")
		return
	}
	const label = 8
	slices.Sort(ys)
	bottom, top := ys[len(ys)/200], ys[len(ys)-1-len(ys)/200] // a few wild ones do not flatten the rest
	if !math.IsNaN(low) {
		bottom = low
	}
	if !math.IsNaN(high) {
		top = high
	}
	left, right := slices.Min(xs), slices.Max(xs)
	for _, ends := range [][2]*float64{{&bottom, &top}, {&left, &right}} {
		if *ends[1] <= *ends[0] { // all points are alike
			*ends[1] = *ends[0] + max(1, math.Abs(*ends[0])/1e6)
		}
	}
	rows, columns := height-1, width-label
	if rows < 1 || columns < 1 {
		return
	}
	c.text(x, y+1, dim, "%7s", number(top))
	c.text(x, y+rows, dim, "%7s", number(bottom))
	dots := make([]rune, rows*columns)
	for i, s := range all {
		place := func(p [2]float64) (dx, dy float64) {
			return (p[0] - left) / (right - left) * float64(2*columns-1), (top - min(max(p[1], bottom), top)) / (top - bottom) * float64(4*rows-1)
		}
		for k, p := range s.points { // a line from the point before to this one
			x1, y1 := place(p)
			x0, y0 := place(s.points[max(k-1, 0)])
			steps := int(max(math.Abs(x1-x0), math.Abs(y1-y0))) + 1
			for j := range steps + 1 {
				t := float64(j) / float64(steps)
				dx, dy := int(math.Round(x0+t*(x1-x0))), int(math.Round(y0+t*(y1-y0)))
				char := &dots[dy/4*columns+dx/2]
				*char |= brailleDot(dx%2, dy%4)
				c.set(x+label+dx/2, y+1+dy/4, 0x2800|*char, styles[i])
			}
		}
	}
}

// brailleDot is the bit of a dot of a braille character, 2 wide and 4 high.
func brailleDot(x, y int) rune {
	return [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}[x][y]
}

// number writes a number for people, with three digits, in eight characters at most.
func number(v float64) string {
	size := math.Abs(v)
	for _, unit := range []struct {
		size float64
		sign string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x := v / unit.size; size >= 0.9995*unit.size {
			return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Log10(math.Abs(x)*1.0005))), 64) + unit.sign
		}
	}
	if size < 1e-2 && size > 0 {
		return fmt.Sprintf("%.1e", v)
	}
	return fmt.Sprintf("%.3g", v)
}
