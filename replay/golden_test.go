package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/sample"
)

var update = flag.Bool("update", false, "write golden files")

const goldenSource = "testdata/source.golden"

// goldenSteps are two batches of a source after each of some games, with the position
// after them.
func goldenSteps(t *testing.T, src interface {
	Next(context.Context, *encoding.TrainBatch) error
}, w *Window, from, to uint64, position func() []byte) (lines []string) {
	t.Helper()
	for i := from; i < to; i++ {
		w.Add(testGame(100+i, 15))
		sum := sha256.Sum256([]byte(strings.Join(draw(t, src, 2), "\n")))
		lines = append(lines, fmt.Sprintf("rows %x position %s", sum[:8], bytes.TrimSpace(position())))
	}
	return lines
}

// TestGoldenSource: for a seed a source gives the rows of the golden file with each
// built-in sampler, alone and with batches prepared ahead, and goes on from the
// positions in the file, which checkpoints hold.
func TestGoldenSource(t *testing.T) {
	const steps = 4
	var got []string
	for _, d := range sample.Definitions() {
		for _, ahead := range []bool{false, true} {
			sampler, err := d.MakeSampler(nil)
			if err != nil {
				t.Fatal(err)
			}
			w := NewWindow(60)
			src := NewSource(w, sampler, 7, 1)
			if !ahead {
				got = append(got, d.Name)
				got = append(got, goldenSteps(t, src, w, 0, steps, func() []byte { return saved(t, src.Section()) })...)
				continue
			}
			p := Prefetch(src, 2)
			lines := goldenSteps(t, p, w, 0, steps, func() []byte { return saved(t, p.Section()) })
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if want := got[len(got)-steps:]; strings.Join(lines, "\n") != strings.Join(want, "\n") {
				t.Errorf("%s, prepared ahead:\n%s\nwant\n%s", d.Name, strings.Join(lines, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	text := strings.Join(got, "\n") + "\n"
	if *update {
		filetest.Write(t, goldenSource, text)
	}
	want := filetest.Read(t, goldenSource)
	if text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestGoldenPositions: a checkpoint of before goes on with the rows of before.
func TestGoldenPositions(t *testing.T) {
	data := filetest.Read(t, goldenSource)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for i, d := range sample.Definitions() {
		block := lines[5*i : 5*i+5]
		if block[0] != d.Name {
			t.Fatalf("%q, want %s", block[0], d.Name)
		}
		for step := 1; step < 4; step++ {
			sampler, err := d.MakeSampler(nil)
			if err != nil {
				t.Fatal(err)
			}
			w := NewWindow(60)
			for k := range uint64(step) {
				w.Add(testGame(100+k, 15))
			}
			src := NewSource(w, sampler, 7, 1)
			_, position, _ := strings.Cut(block[step], " position ")
			if err := src.Section().Load(strings.NewReader(position), 1); err != nil {
				t.Fatal(err)
			}
			lines := goldenSteps(t, src, w, uint64(step), 4, func() []byte { return saved(t, src.Section()) })
			if got, want := strings.Join(lines, "\n"), strings.Join(block[step+1:], "\n"); got != want {
				t.Errorf("%s from step %d:\n%s\nwant\n%s", d.Name, step, got, want)
			}
		}
	}
}
