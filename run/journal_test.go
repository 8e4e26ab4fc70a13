package run

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// writeJournal writes a journal of three games at path and returns its bytes.
func writeJournal(t *testing.T, path string) []byte {
	t.Helper()
	j, old, err := OpenJournal(path)
	if err != nil || len(old) != 0 {
		t.Fatalf("new journal: %v %v", old, err)
	}
	for i := range 3 {
		if err := j.Enter(Entry{Episode: int64(i + 1), Game: fmt.Sprintf("%032x", 99<<i), Ordinal: uint64(10 + i), Step: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return filetest.Read(t, path)
}

func TestJournalTornAndWrong(t *testing.T) {
	path := t.TempDir() + "/journal"
	whole := writeJournal(t, path)
	for cut := range len(whole) + 1 {
		filetest.Write(t, path, whole[:cut])
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
	filetest.Write(t, path, "{\"episode\":1}\nnonsense\n{}\n")
	if _, _, err := OpenJournal(path); err == nil {
		t.Fatal("a wrong line in the middle was taken")
	}
}

// A bit that a disk flips is seen: no game enters twice, and none under another number.
func TestJournalBits(t *testing.T) {
	path := t.TempDir() + "/journal"
	whole := writeJournal(t, path)
	want, _, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 * (len(whole) - 1) { // without the newline of the last line, which is a torn one then
		whole[i/8] ^= 1 << (i % 8)
		filetest.Write(t, path, whole)
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
