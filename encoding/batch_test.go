package encoding

import "testing"

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
