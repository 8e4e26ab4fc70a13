package run

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// TestOrdinals compares the set with a map on random insertions.
func TestOrdinals(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var set Ordinals
		truth := map[uint64]bool{}
		for range 60 {
			n := rng.Uint64N(40)
			if got := set.Add(n); got == truth[n] {
				t.Fatalf("Add(%d) = %v, was there: %v", n, got, truth[n])
			}
			truth[n] = true
			if set.Len() != len(truth) {
				t.Fatalf("Len %d, want %d", set.Len(), len(truth))
			}
			for k := uint64(0); k < 42; k++ {
				if set.Has(k) != truth[k] {
					t.Fatalf("Has(%d) = %v after %v", k, set.Has(k), set.Ranges)
				}
			}
			for i := 1; i < len(set.Ranges); i++ {
				if set.Ranges[i-1][1] >= set.Ranges[i][0] {
					t.Fatalf("ranges touch: %v", set.Ranges)
				}
			}
		}
	}
}

func TestJournalTornAndWrong(t *testing.T) {
	path := t.TempDir() + "/journal"
	j, old, err := OpenJournal(path)
	if err != nil || len(old) != 0 {
		t.Fatalf("new journal: %v %v", old, err)
	}
	for i := range 3 {
		if err := j.Enter(Entry{Episode: int64(i + 1), Ordinal: uint64(10 + i), Step: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, entries, err := OpenJournal(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if want := bytes.Count(whole[:cut], []byte("\n")); len(entries) != want {
			t.Fatalf("cut at %d: %d entries, want %d", cut, len(entries), want)
		}
		if err := j.Enter(Entry{Episode: 99}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j, entries, err = OpenJournal(path)
		if err != nil || entries[len(entries)-1].Episode != 99 {
			t.Fatalf("cut at %d, then appended: %v %v", cut, entries, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("{\"episode\":1}\nnonsense\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenJournal(path); err == nil {
		t.Fatal("a wrong line in the middle was taken")
	}
}

// A bit that a disk flips is seen: no game enters twice, and none under another number.
func TestJournalBits(t *testing.T) {
	path := t.TempDir() + "/journal"
	j, _, err := OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := j.Enter(Entry{Episode: int64(i + 1), Game: fmt.Sprintf("%032x", 99<<i), Ordinal: uint64(10 + i), Step: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 * (len(whole) - 1) { // without the newline of the last line, which is a torn one then
		whole[i/8] ^= 1 << (i % 8)
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		whole[i/8] ^= 1 << (i % 8)
		got, _, err := ReadJournal(path)
		if _, refused := errors.AsType[*fsx.CorruptError](err); refused {
			continue
		}
		for k := range got { // the name of the checksum's field was hit: the rest stands
			got[k].Sum = want[k].Sum
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("bit %d: %v, %v", i, got, err)
		}
	}
}
