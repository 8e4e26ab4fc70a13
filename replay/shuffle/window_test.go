package shuffle

import (
	"strings"
	"testing"
)

// TestWindowTable holds the numbers of KataGo's formula (docs/ALGORITHMS.md,
// section 2): window sizes of two settings.
func TestWindowTable(t *testing.T) {
	large := DefaultWindow()
	small := WindowOptions{MinRows: 100_000, Scale: 50_000, Expand: 0.4, Exponent: 0.65}
	for _, c := range []struct {
		usable       int64
		large, small int64 // 0 = not in the table
	}{
		{100_000, 0, 100_000},
		{200_000, 0, 132_072},
		{250_000, 250_000, 0},
		{500_000, 337_564, 197_574},
		{1_000_000, 474_967, 277_827},
		{2_000_000, 690_576, 0},
		{5_000_000, 1_174_494, 679_160},
		{10_000_000, 1_788_252, 1_029_451},
		{50_000_000, 4_912_926, 2_809_758},
		{100_000_000, 7_654_480, 0},
	} {
		if got := large.Want(c.usable); c.large != 0 && got != c.large {
			t.Errorf("min 250k: window of %d rows is %d, want %d", c.usable, got, c.large)
		}
		if got := small.Want(c.usable); c.small != 0 && got != c.small {
			t.Errorf("min 100k, scale 50k: window of %d rows is %d, want %d", c.usable, got, c.small)
		}
	}
}

func TestWindowLimits(t *testing.T) {
	o := DefaultWindow()
	o.MaxRows = 300_000
	if got := o.Want(500_000); got != 300_000 {
		t.Errorf("window %d, want max-rows", got)
	}
	o = DefaultWindow()
	o.AddToData = 250_000
	if got := o.Want(250_000); got != 337_564 {
		t.Errorf("window with add-to-data-rows is %d, want that of 500 000", got)
	}
	o = WindowOptions{MinRows: 100, Expand: 0.5, Exponent: 1}
	if got := o.Want(1100); got != 600 { // 1000 new rows, half a row each
		t.Errorf("linear window is %d, want 600", got)
	}
}

func TestUsableAndKeep(t *testing.T) {
	o := DefaultWindow()
	for _, c := range []struct{ real, random, want int64 }{{0, 1_000_000, 250_000}, {40, 100, 140}, {900_000, 300_000, 1_150_000}} {
		if got := o.Usable(c.real, c.random); got != c.want {
			t.Errorf("usable of %d real and %d random rows is %d, want %d", c.real, c.random, got, c.want)
		}
	}
	if o.KeepShare(1000) != 1 {
		t.Error("all rows are kept by default")
	}
	o.KeepRows = 600_000
	if got := o.KeepShare(1_200_000); got != 0.5 {
		t.Errorf("keep share %v, want 0.5", got)
	}
	if got := o.KeepShare(500_000); got != 1 {
		t.Errorf("keep share %v, want 1", got)
	}
}

func TestWindowValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*WindowOptions)
		says   string
	}{
		{func(o *WindowOptions) { o.MinRows = 0 }, "min-rows"},
		{func(o *WindowOptions) { o.MaxRows = 10 }, "max-rows 10 is below min-rows"},
		{func(o *WindowOptions) { o.KeepRows = -1 }, "keep-target-rows"},
		{func(o *WindowOptions) { o.Exponent = 0 }, "taper-window-exponent"},
		{func(o *WindowOptions) { o.Exponent = 1.5 }, "taper-window-exponent"},
		{func(o *WindowOptions) { o.Expand = -1 }, "expand-window-per-row"},
	} {
		o := DefaultWindow()
		c.change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: error %v, want one about %s", o, err, c.says)
		}
	}
	if err := DefaultWindow().Validate(); err != nil {
		t.Error(err)
	}
}

func TestExplainShowsNumbers(t *testing.T) {
	text := DefaultWindow().Explain(500_000)
	for _, part := range []string{"x = 500000 - 250000 + 250000 + 0 = 500000", "= 337564 rows"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}
