package shuffle

import (
	"cmp"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/replay"
)

// WindowOptions are the numbers of KataGo's window (v1.17, shuffle.py): how many
// of the newest rows are trained on, given how many there are.
type WindowOptions struct {
	MinRows   int64   `json:"min_rows"`              // below this many usable rows nothing is shuffled; the window is never smaller
	MaxRows   int64   `json:"max_rows"`              // the window is never larger; 0 = no limit
	KeepRows  int64   `json:"keep_target_rows"`      // about this many rows of the window are kept; 0 = all
	Expand    float64 `json:"expand_window_per_row"` // rows by which the window grows with each new row, at the beginning
	Exponent  float64 `json:"taper_window_exponent"` // in (0,1]: growth of the window as a power of the rows; 1 = linear
	Scale     int64   `json:"taper_window_scale"`    // rows at which the taper begins to bite; 0 = MinRows
	AddToData int64   `json:"add_to_data_rows"`      // rows that once were there and are gone, counted in the formula
}

// DefaultWindow returns KataGo's numbers: min-rows 250 000, expansion 0.4 a row,
// exponent 0.65, scale = min-rows, no upper limit, all rows kept.
func DefaultWindow() WindowOptions {
	return WindowOptions{MinRows: 250_000, Expand: 0.4, Exponent: 0.65}
}

// FormulaText is the window's formula as the documentation and --help show it.
const FormulaText = `off    = taper-window-scale, or min-rows where that is 0
x      = usable - min-rows + off + add-to-data-rows
window = (x^e - off^e) / (e * off^(e-1)) * expand-window-per-row + min-rows     e = taper-window-exponent
want   = window in whole rows, at least min-rows, at most max-rows`

// Validate says which number is out of range.
func (o WindowOptions) Validate() error {
	for _, v := range []struct {
		name  string
		value int64
		low   int64
	}{
		{"min-rows", o.MinRows, 1}, {"max-rows", o.MaxRows, 0}, {"keep-target-rows", o.KeepRows, 0},
		{"taper-window-scale", o.Scale, 0}, {"add-to-data-rows", o.AddToData, 0},
	} {
		if v.value < v.low || v.value > 1<<50 {
			return fmt.Errorf("%s %d: want %d to %d", v.name, v.value, v.low, int64(1)<<50)
		}
	}
	return cmp.Or(
		replay.Wrong(o.MaxRows > 0 && o.MaxRows < o.MinRows,
			"max-rows %d is below min-rows %d: raise it, or 0 for no limit", o.MaxRows, o.MinRows),
		replay.Wrong(!(o.Expand >= 0 && o.Expand <= 1e6), "expand-window-per-row %g: want 0 to 1e6", o.Expand),
		replay.Wrong(!(o.Exponent > 0 && o.Exponent <= 1),
			"taper-window-exponent %g: want above 0, at most 1", o.Exponent))
}

// offset is the formula's off.
func (o WindowOptions) offset() float64 { return float64(cmp.Or(o.Scale, o.MinRows)) }

// Want returns the size of the window in rows where usable rows are there.
// usable must be at least MinRows.
func (o WindowOptions) Want(usable int64) int64 {
	off, e := o.offset(), o.Exponent
	x := float64(usable-o.MinRows+o.AddToData) + off
	w := (math.Pow(x, e)-math.Pow(off, e))/(e*math.Pow(off, e-1))*o.Expand + float64(o.MinRows)
	want := max(int64(min(w, 1<<60)), o.MinRows)
	if o.MaxRows > 0 {
		want = min(want, o.MaxRows)
	}
	return want
}

// Usable returns the rows that the formula counts: those of real nets, and of
// the random bootstrap net's at most MinRows.
func (o WindowOptions) Usable(real, random int64) int64 { return real + min(random, o.MinRows) }

// KeepShare returns the probability with which each of used rows is kept.
func (o WindowOptions) KeepShare(used int64) float64 {
	if o.KeepRows == 0 || used <= o.KeepRows {
		return 1
	}
	return float64(o.KeepRows) / float64(used)
}

// Explain writes the formula with the numbers of usable rows.
func (o WindowOptions) Explain(usable int64) string {
	off := o.offset()
	return fmt.Sprintf("x = %d - %d + %.0f + %d = %.0f\nwindow = (x^%g - %.0f^%g) / (%g * %.0f^%g) * %g + %d = %d rows",
		usable, o.MinRows, off, o.AddToData, float64(usable-o.MinRows+o.AddToData)+off,
		o.Exponent, off, o.Exponent, o.Exponent, off, o.Exponent-1, o.Expand, o.MinRows, o.Want(usable))
}
