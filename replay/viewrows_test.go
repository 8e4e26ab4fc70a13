package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/record"
)

// keeper reads rows once and keeps them, as a device does.
type keeper struct {
	rows map[uint64]*encoding.TrainBatch
	read int
}

// spell gives the rows of a batch that names them.
func (k *keeper) spell(t *testing.T, b *encoding.TrainBatch) *encoding.TrainBatch {
	t.Helper()
	first, end := b.Kept.Of.Range()
	for n := first; n < end; {
		if k.rows[n] != nil {
			n++
			continue
		}
		chunk := encoding.NewTrainBatch(0)
		next, err := b.Kept.Of.ReadRows(chunk, n)
		if err != nil || next != n+uint64(chunk.N) || chunk.N == 0 {
			t.Fatalf("%d rows from %d to %d: %v", chunk.N, n, next, err)
		}
		for i := range chunk.N {
			row := encoding.NewTrainBatch(1)
			row.AppendRow(chunk, i)
			k.rows[n+uint64(i)] = row
		}
		k.read += chunk.N
		n = next
	}
	out := encoding.NewTrainBatch(b.N)
	for i, n := range b.Kept.Number {
		if n < first || n >= end {
			t.Fatalf("row %d is not among those from %d to %d", n, first, end)
		}
		out.AppendRow(k.rows[n], 0)
		out.Weight[i] = b.Weight[i]
		if len(b.Kept.Draw) > 0 {
			out.ApplySymmetry(i, encoding.DrawTransform(b.Kept.Draw[i], out.NumSymmetries(i)))
		}
	}
	return out
}

// load fills a window with those of games that a saved one lists.
func load(t *testing.T, w *Window, position []byte, games []*record.Game) {
	t.Helper()
	s := w.Section("window", func(id [16]byte) *record.Game {
		for _, g := range games {
			if g.ID == id {
				return g
			}
		}
		return nil
	})
	if err := s.Load(bytes.NewReader(position), s.Version); err != nil {
		t.Fatal(err)
	}
}

// TestNamedRows: a source that names rows gives those that it would have spelled
// out, while games come and go and the window is loaded anew; each row is read once.
func TestNamedRows(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const plies = 120 // long enough that nobody may castle any more: half of the rows have a symmetry
	for _, symmetric := range []bool{false, true} {
		w := testWindow(0, 9)
		w.maxRows = 6 * testRows(plies)
		games := testGames(0, 12, plies)
		spelled, plain := NewSource(w, sample.NewUniform(), seed, 1), NewSource(w, sample.NewUniform(), seed, 1)
		plain.Keep = w.maxRows
		for _, s := range []*Source{spelled, plain} {
			s.ShortTerm = 0.75
			if symmetric {
				s.Symmetries = true
			}
		}
		named := Prefetch(plain, 2)
		defer named.Close()
		k, cameIn := &keeper{rows: map[uint64]*encoding.TrainBatch{}}, 0
		a, b := encoding.NewTrainBatch(testBatch), encoding.NewTrainBatch(testBatch)
		for i := range 2 * len(games) {
			if i%2 == 0 {
				w.Add(games[i/2])
			}
			a.Reset()
			b.Reset()
			if err := spelled.Next(context.Background(), a); err != nil {
				t.Fatal(err)
			}
			if err := named.Next(context.Background(), b); err != nil {
				t.Fatal(err)
			}
			if b.Kept.Of == nil || b.N != testBatch {
				t.Fatalf("batch %d: %d rows, named: %v", i, b.N, b.Kept.Of != nil)
			}
			if want, got := fmt.Sprint(rowsOf(a)), fmt.Sprint(rowsOf(k.spell(t, b))); got != want {
				t.Fatalf("symmetries %v, batch %d:\n%.300s, want\n%.300s", symmetric, i, got, want)
			}
			if i == len(games) { // an even one: no game comes before all rows are read again
				load(t, w, saved(t, w.Section("window", nil)), games)
				cameIn += w.Rows()
			}
		}
		if cameIn += len(games) * testRows(plies); k.read != cameIn {
			t.Errorf("%d rows were read, %d came into the window", k.read, cameIn)
		}
		if string(saved(t, spelled.Section())) != string(saved(t, named.Section())) {
			t.Error("the positions differ")
		}
	}
}

// TestRowNumbers: a number means one row, also when the window is filled anew, and
// rows that have left it are refused.
func TestRowNumbers(t *testing.T) {
	w := NewWindow(2 * testRows(12))
	games := testGames(0, 4, 12)
	for _, g := range games[:2] {
		w.Add(g)
	}
	position := saved(t, w.Section("window", nil))
	old := &viewRows{view: w.View()}
	for _, g := range games[2:] {
		w.Add(g)
	}
	rows := uint64(testRows(12))
	check := func(what string, v *viewRows, wantFrom, wantTo uint64) {
		t.Helper()
		if from, to := v.Range(); from != wantFrom || to != wantTo {
			t.Errorf("%s: rows %d to %d, want %d to %d", what, from, to, wantFrom, wantTo)
		}
	}
	check("at first", old, 0, 2*rows)
	check("two games later", &viewRows{view: w.View()}, 2*rows, 4*rows)
	for _, n := range []uint64{2*rows - 1, 4 * rows} {
		if _, err := (&viewRows{view: w.View()}).ReadRows(encoding.NewTrainBatch(0), n); err == nil || !strings.Contains(err.Error(), "is not among") {
			t.Errorf("row %d: %v", n, err)
		}
	}
	for _, n := range []uint64{0, rows - 1, rows} { // the old view still has them
		if next, err := old.ReadRows(encoding.NewTrainBatch(0), n); err != nil || next != (n/rows+1)*rows {
			t.Errorf("row %d of the old view: next %d, %v", n, next, err)
		}
	}
	load(t, w, position, games)
	check("filled anew", &viewRows{view: w.View()}, 4*rows, 6*rows)
}

// TestNamedRowsLimit: the rows of a window that is too large are spelled out.
func TestNamedRowsLimit(t *testing.T) {
	w := testWindow(3, 9)
	for keep, want := range map[int]bool{0: false, w.Rows() - 1: false, w.Rows(): true} {
		src := NewSource(w, sample.NewUniform(), 1, 1)
		src.Keep = keep
		b := encoding.NewTrainBatch(testBatch)
		if err := src.Next(context.Background(), b); err != nil || (b.Kept.Of != nil) != want {
			t.Errorf("%d rows are kept of %d: named %v, %v", keep, w.Rows(), b.Kept.Of != nil, err)
		}
	}
}

// TestShowSymmetries: the symmetry of a row depends on how many came before it, not
// on the batch that it comes in, and rows of one batch have different ones.
func TestShowSymmetries(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	source := func() *Source {
		src := NewSource(testWindow(9, 120), sample.NewUniform(), seed, 1)
		src.Symmetries = true
		return src
	}
	const n = 64
	whole, half, plain := encoding.NewTrainBatch(n), encoding.NewTrainBatch(n/2), encoding.NewTrainBatch(n)
	if err := errors.Join(source().Next(t.Context(), whole), NewSource(testWindow(9, 120), sample.NewUniform(), seed, 1).Next(t.Context(), plain)); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for src := source(); len(rows) < n; {
		half.Reset()
		if err := src.Next(t.Context(), half); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, rowsOf(half)...)
	}
	if !slices.Equal(rows, rowsOf(whole)) {
		t.Error("rows depend on the size of the batches")
	}
	could, same := 0, 0
	for i, row := range rowsOf(plain) {
		if plain.NumSymmetries(i) > 1 {
			if could++; row == rows[i] {
				same++
			}
		}
	}
	if could < 16 || same == 0 || same == could {
		t.Errorf("of %d rows with a symmetry %d are shown as they are", could, same)
	}
}
