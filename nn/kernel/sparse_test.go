package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// rowCase is a table, a list of its rows and what lies beside them.
type rowCase struct {
	table, x, weights []float32
	stride, first     int
	rows              []uint16
}

func newRowCase(rng testRand, width, numRows, listed int) *rowCase {
	c := &rowCase{stride: 2*width + 3, first: 5, x: rng.floats(width), weights: rng.floats(listed)}
	c.table = rng.floats(numRows*c.stride + c.first)
	for range listed {
		c.rows = append(c.rows, uint16(rng.IntN(numRows)))
	}
	return c
}

func (c *rowCase) weight(i int, weighted bool) float64 {
	if !weighted {
		return 1
	}
	return float64(c.weights[i])
}

// The functions over lists of rows against float64 loops.
func TestRowLists(t *testing.T) {
	rng := newRand(t)
	// Sums of up to 300 products of normal numbers, in float32.
	near := func(t *testing.T, what string, got []float32, want []float64) {
		t.Helper()
		for i, v := range got {
			if math.Abs(float64(v)-want[i]) > 1e-4*math.Max(1, math.Abs(want[i])) {
				t.Fatalf("%s[%d] = %v, want %v", what, i, v, want[i])
			}
		}
	}
	wide := func(x []float32) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = float64(v)
		}
		return y
	}
	for _, width := range []int{64, 128, 320} {
		for _, listed := range []int{0, 1, 2, 35, 300} {
			for _, weighted := range []bool{false, true} {
				t.Run(fmt.Sprint(width, listed, weighted), func(t *testing.T) {
					c := newRowCase(rng, width, 50, listed)
					forTiers(t, func(t *testing.T) {
						weights, table := c.weights, c.table[c.first:]
						if !weighted {
							weights = nil
						}
						y, wantY := slices.Clone(c.x), wide(c.x)
						added, wantTable := slices.Clone(c.table), wide(c.table)
						numDots := max(len(c.rows)/5, min(len(c.rows), 1)) // five lists, or as many as there are
						if len(c.rows)%max(numDots, 1) != 0 {
							numDots = len(c.rows)
						}
						dots, wantDots := slices.Clone(c.weights[:numDots]), wide(c.weights[:numDots])
						for i, r := range c.rows {
							for j := range width {
								at := int(r)*c.stride + j
								wantY[j] += c.weight(i, weighted) * float64(table[at])
								wantTable[c.first+at] += float64(c.weights[i]) * float64(c.x[j])
								wantDots[i%numDots] += float64(table[at]) * float64(c.x[j])
							}
						}
						AddRows(y, table, c.stride, c.rows, weights)
						AddToRows(added[c.first:], c.stride, c.rows, c.weights, c.x)
						RowDots(dots, c.x, f32s(table), c.stride, c.rows)
						near(t, "y", y, wantY)
						near(t, "table", added, wantTable)
						near(t, "dots", dots, wantDots)
					})
				})
			}
		}
	}
}

// Products with a table in bf16 are those of its numbers with x rounded alike.
func TestStoredRowDots(t *testing.T) {
	rng := newRand(t)
	for _, width := range []int{64, 128, 320} {
		c := newRowCase(rng, width, 50, 75)
		half := NewStored(50*width, true)
		half.Set(c.table[:50*width])
		table, x := half.Floats(make([]float32, 50*width)), make([]float32, width)
		for i, v := range c.x {
			x[i] = Half(halfBits(v)).Float()
		}
		forTiers(t, func(t *testing.T) {
			got, want := slices.Clone(c.weights[:15]), slices.Clone(c.weights[:15])
			RowDots(got, c.x, half, width, c.rows)
			RowDots(want, x, f32s(table), width, c.rows)
			for i, v := range got {
				if math.Abs(float64(v-want[i])) > 1e-4*math.Max(1, math.Abs(float64(want[i]))) {
					t.Fatalf("width %d: product %d is %v, want %v", width, i, v, want[i])
				}
			}
		})
	}
}

// A packed row is within the error of bf16 of what it was, and sums are those of such rows.
func TestPackedRows(t *testing.T) {
	const numRows = 50
	rng := newRand(t)
	for _, width := range []int{64, 128, 320} {
		c := newRowCase(rng, width, numRows, 75)
		table := c.table[:numRows*width]
		copy(table, []float32{0, 1, -1, 1e-30, float32(math.Copysign(0, -1))})
		copy(table[panel:], []float32{1.999999, 0, float32(math.Copysign(0, -1)), -1, 2}) // of the same words
		packed := PackRows(table)
		forTiers(t, func(t *testing.T) {
			sums := make([]float64, width)
			for r := range uint16(numRows) {
				row := make([]float32, width)
				AddPackedRows(row, packed, []uint16{r})
				for i, v := range row {
					if want := table[int(r)*width+i]; math.Abs(float64(v-want)) > math.Abs(float64(want))/256+1e-38 {
						t.Fatalf("width %d: number %d of row %d is %v, want %v", width, i, r, v, want)
					}
					for _, listed := range c.rows {
						if listed == r {
							sums[i] += float64(v)
						}
					}
				}
			}
			got := make([]float32, width)
			AddPackedRows(got, packed, c.rows)
			for i, v := range got {
				if math.Abs(float64(v)-sums[i]) > 1e-4 {
					t.Fatalf("width %d: sum %d is %v, want %v", width, i, v, sums[i])
				}
			}
		})
	}
}

// Rows that are not in the table are refused before anything is read or written.
func TestRowListsRefuse(t *testing.T) {
	rng := newRand(t)
	c := newRowCase(rng, 64, 10, 4)
	c.rows[2] = 10
	for name, f := range map[string]func(){
		"sum":   func() { AddRows(c.x, c.table[c.first:], c.stride, c.rows, nil) },
		"add":   func() { AddToRows(c.table[c.first:], c.stride, c.rows, c.weights, c.x) },
		"dots":  func() { RowDots(c.weights, c.x, f32s(c.table[c.first:]), c.stride, c.rows) },
		"half":  func() { RowDots(c.weights, c.x, NewStored(10*c.stride, true), c.stride, c.rows) },
		"width": func() { AddRows(c.x[:63], c.table, c.stride, c.rows[:1], nil) },
		"short": func() { AddRows(c.x, c.table[:63:63], c.stride, []uint16{0}, nil) },
	} {
		forTiers(t, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was done", name)
				}
			}()
			f()
		})
	}
}

// The largest number that is allowed, and the next, in each place of lists of all lengths.
func TestBelow(t *testing.T) {
	for _, limit := range []int{0, 1, 2, 1858, 1<<15 - 1, 1 << 15, 1<<15 + 1, 1<<16 - 1, 1 << 16} {
		for n := 1; n < 10; n++ {
			for at := range n {
				of := make([]uint16, n)
				for _, x := range []int{limit - 1, limit, limit + 1, 1 << 15, 1<<16 - 1} {
					if x >= 0 && x < 1<<16 {
						of[at] = uint16(x)
						if got, want := below(limit, of), slices.Max(of) < uint16(min(limit, 1<<16-1)) || limit == 1<<16; got != want {
							t.Fatalf("%d of %d numbers is %d: below %d is %v", at, n, x, limit, got)
						}
					}
				}
			}
		}
	}
}

func TestSquaredClippedReLU(t *testing.T) {
	x := []float32{-1, 0, 0.5, 1, 2, float32(math.NaN())}
	for len(x) < 40 { // whole panels, and a rest
		x = append(x, x[len(x)-6])
	}
	forTiers(t, func(t *testing.T) {
		y, dx, dy := make([]float32, len(x)), make([]float32, len(x)), make([]float32, len(x))
		for i := range dy {
			dy[i] = 3
		}
		SquaredClippedReLU(y, x)
		SquaredClippedReLUBackward(dx, dy, x)
		for i := range x {
			want, slope := [6]float32{0, 0, 0.25, 1, 1}[i%6], [6]float32{2: 3}[i%6]
			if i%6 == 5 {
				if y[i] == y[i] || dx[i] != 0 {
					t.Fatalf("NaN becomes %v, its gradient %v", y[i], dx[i])
				}
			} else if y[i] != want || dx[i] != slope {
				t.Fatalf("activation %v of %v, gradient %v, want %v and %v", y[i], x[i], dx[i], want, slope)
			}
		}
	})
}

// BenchmarkRowLists reports the time of a row of 128 floats.
func BenchmarkRowLists(b *testing.B) {
	c := newRowCase(newRand(b), 128, 3000, 32)
	for name, f := range map[string]func(){
		"sum":      func() { AddRows(c.x, c.table, c.stride, c.rows, nil) },
		"weighted": func() { AddRows(c.x, c.table, c.stride, c.rows, c.weights) },
		"add":      func() { AddToRows(c.table, c.stride, c.rows, c.weights, c.x) },
		"dots":     func() { RowDots(c.weights, c.x, f32s(c.table), c.stride, c.rows) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(c.rows)), "ns/row")
		})
	}
}
