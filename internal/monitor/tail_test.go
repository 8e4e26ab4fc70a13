package monitor

import (
	"errors"
	"strings"
	"testing"
)

// TestTail reads a file that grows, that ends in half a line, that was cut back, and that was
// cut back and has grown again.
func TestTail(t *testing.T) {
	var tail Tail
	var got []string
	read := func(text string, lines int) (bool, error) {
		t.Helper()
		return tail.Read(strings.NewReader(text), func(line []byte) (bool, error) {
			if string(line) == "bad\n" {
				return false, errors.New("it is bad")
			}
			got = append(got, strings.TrimSpace(string(line)))
			lines--
			return lines != 0, nil
		})
	}
	for _, c := range []struct {
		text, want string
		lines      int
		fits, end  bool
	}{
		{"", "", -1, true, true},
		{"a\nb\nc", "a b", -1, true, true},
		{"a\nb\ncc\nd\ne\n", "a b cc", 1, true, false},
		{"a\nb\ncc\nd\ne\n", "a b cc d e", -1, true, true},
		{"a\nb\n", "", 0, false, false},
		{"a\nb\ncc\nd\nx\ny\n", "", 0, false, false},
	} {
		if fits := tail.Fits(strings.NewReader(c.text)); fits != c.fits {
			t.Fatalf("%q fits: %v", c.text, fits)
		}
		if !c.fits {
			continue
		}
		if end, err := read(c.text, c.lines); err != nil || end != c.end || strings.Join(got, " ") != c.want {
			t.Fatalf("%q: read %q, end %v, %v", c.text, got, end, err)
		}
	}
	if _, err := read("a\nb\ncc\nd\ne\nbad\n", -1); err == nil || err.Error() != "byte 11: it is bad" || tail.Offset() != 11 {
		t.Errorf("at %d: %v", tail.Offset(), err)
	}
	if _, err := read("a\nb\ncc\nd\ne\n"+strings.Repeat("x", MaxLine+1), -1); err == nil {
		t.Error("a line without an end was taken")
	}
}
