package encoding

import (
	"fmt"
	"slices"
	"testing"
)

func TestQDMToWDL(t *testing.T) {
	for _, c := range []struct {
		v       QDM
		w, d, l float32
	}{
		{QDM{Q: 1}, 1, 0, 0},
		{QDM{Q: -1}, 0, 0, 1},
		{QDM{D: 1}, 0, 1, 0},
		{QDM{Q: 0.25, D: 0.5}, 0.375, 0.5, 0.125},
	} {
		if w, d, l := c.v.WDL(); w != c.w || d != c.d || l != c.l {
			t.Errorf("%+v: %g %g %g, want %g %g %g", c.v, w, d, l, c.w, c.d, c.l)
		}
	}
	if w, d, l := UnknownQDM.WDL(); w == w || d == d || l == l {
		t.Error("an unknown value has a WDL")
	}
}

// A batch that is used again shows nothing of its former rows, and rows beyond
// the capacity keep those before them.
func TestBatchReuse(t *testing.T) {
	b := NewTrainBatch(2)
	for round := range 3 {
		b.Reset()
		for i := range 5 {
			if row := b.Grow(i); row != i || len(b.LegalOf(i)) != i || len(b.PriorOf(i)) != i || len(b.PolicyOf(i)) != i {
				t.Fatalf("round %d row %d: got row %d with %d moves", round, i, row, len(b.LegalOf(i)))
			}
			if b.Masks[i] != [NumMasks]uint64{} || b.Scalars[i] != (Scalars{}) || b.Weight[i] != 1 {
				t.Fatalf("round %d row %d is not fresh", round, i)
			}
			for j := range b.LegalOf(i) {
				if b.LegalOf(i)[j] != 0 || b.PriorOf(i)[j] != 0 || b.PolicyOf(i)[j] != 0 {
					t.Fatalf("round %d row %d: move %d is not fresh", round, i, j)
				}
				b.LegalOf(i)[j], b.PriorOf(i)[j], b.PolicyOf(i)[j] = uint16(i), 1, 1
			}
			b.Masks[i][7], b.Scalars[i].Rule50, b.Weight[i] = 7, 7, 7
		}
		for i := range 5 {
			if b.Masks[i][7] != 7 || i > 0 && b.LegalOf(i)[0] != uint16(i) {
				t.Fatalf("round %d: row %d was lost", round, i)
			}
		}
	}
}

func TestBatchDoesNotAllocateOnceGrown(t *testing.T) {
	b := NewTrainBatch(0)
	fill := func() {
		b.Reset()
		for range 8 {
			b.Grow(40)
		}
	}
	fill()
	if n := testing.AllocsPerRun(20, fill); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// A copy is equal in memory of its own, also in a batch that was larger, smaller or
// named its rows before; rows that are appended to it are fresh.
func TestCopyFrom(t *testing.T) {
	shown := func(b *TrainBatch) string {
		text := fmt.Sprint(b.N, b.Weight[:b.N], b.LegalStart, b.Legal, b.Policy, b.Kept)
		if b.Kept.Of == nil {
			text += fmt.Sprint(b.Masks[:b.N], b.Scalars[:b.N], b.Targets[:b.N], b.WDL[:b.N], b.M[:b.N], len(b.Prior))
		}
		return text
	}
	contents := func(rows int) *TrainBatch {
		b := NewTrainBatch(0)
		for i := range rows {
			b.Grow(i + 1)
			b.Masks[i][3], b.Scalars[i].Rule50, b.Targets[i][1].Q, b.Weight[i] = 7, uint8(i), 0.5, float32(rows)
			b.LegalOf(i)[0], b.PolicyOf(i)[0] = uint16(9+i), 0.25
		}
		return b
	}
	named := NewTrainBatch(0)
	named.Kept.Of = struct{ RowReader }{}
	for i := range 4 {
		named.AppendKept(uint64(10+i), float32(i))
		named.Kept.Draw = append(named.Kept.Draw, uint64(i))
	}
	sources := []*TrainBatch{contents(3), named, contents(5), contents(0), named, contents(2)}
	for capacity := range 7 {
		b := NewTrainBatch(capacity)
		for i, src := range sources {
			want := shown(src)
			b.CopyFrom(src)
			if got := shown(b); got != want {
				t.Fatalf("room for %d, copy %d:\n%s, want\n%s", capacity, i, got, want)
			}
			b.Grow(1)
			b.DropLast()
			for k := range b.N {
				b.Weight[k]++
			}
			clear(b.Kept.Number)
			clear(b.Legal)
			if got := shown(src); got != want {
				t.Fatalf("room for %d, copy %d shares memory with its source", capacity, i)
			}
		}
		b.Reset()
		for range 6 {
			b.Grow(1)
		}
		if b.Kept.Of != nil || slices.ContainsFunc(b.Masks[:6], func(m [NumMasks]uint64) bool { return m != [NumMasks]uint64{} }) || len(b.WDL) < 6 || len(b.M) < 6 {
			t.Errorf("room for %d: a batch that is used again is not fresh", capacity)
		}
	}
}
