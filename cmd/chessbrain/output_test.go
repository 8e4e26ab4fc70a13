package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestConsole: nothing that a terminal obeys comes through, also none of an 8-bit one, and
// text does, however it is cut into writes.
func TestConsole(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\n":               "a\tb\n",
		"\x1b[31m\r\x7f":       "?[31m??",
		"\u009b31m \x9b31m":    "?31m ?31m",
		"{\xc1 } \xff\xe2\x82": "{? } ???",
		"für 5 € ♞":            "für 5 € ♞",
	} {
		for _, step := range []int{1, 2, len(in)} {
			path := filepath.Join(t.TempDir(), "out")
			file, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			c := &console{stream: stream{file: file}}
			for left := in + "."; left != ""; {
				n := min(step, len(left))
				if wrote, err := c.Write([]byte(left[:n])); err != nil || wrote != n {
					t.Fatalf("wrote %d of %d bytes, %v", wrote, n, err)
				}
				left = left[n:]
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != want+"." {
				t.Errorf("%q, %d bytes at once: %q, %v, want %q", in, step, got, err, want)
			}
			file.Close()
		}
	}
}
