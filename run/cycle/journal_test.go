package cycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run"
)

// someLines are a journal of one cycle with its figures.
func someLines() []Entry {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	return []Entry{
		{Cycle: 1, Stage: Whole, Event: Begin, Time: at},
		{Cycle: 1, Stage: SelfPlay, Event: Begin, Time: at, Net: "random", Figures: map[string]float64{FigureProcess: 1, FigureGames: 500}},
		{Cycle: 1, Stage: SelfPlay, Event: End, Time: at.Add(time.Minute), Seconds: 60, Net: "random", Figures: map[string]float64{FigureProcess: 1, FigureGames: 500}},
		{Cycle: 1, Stage: Shuffle, Event: Skip, Time: at.Add(time.Hour), Reason: "have 1 rows, need 2"},
	}
}

// TestJournalTorn: of a file that ends anywhere, the whole lines are read, and the
// next line follows them.
func TestJournalTorn(t *testing.T) {
	want := someLines()
	root := t.TempDir()
	j, none, err := OpenJournal(root)
	if err != nil || len(none) != 0 {
		t.Fatalf("a new journal has %v, %v", none, err)
	}
	for _, e := range want {
		if err := j.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, run.CyclesName)
	data := filetest.Read(t, path)
	for size := range len(data) + 1 {
		whole := bytes.Count(data[:size], []byte("\n"))
		filetest.Write(t, path, data[:size])
		if got, err := ReadJournal(root); err != nil || len(got) != whole {
			t.Fatalf("%d bytes: %d lines read, want %d: %v", size, len(got), whole, err)
		}
		if size%7 != 0 { // opening syncs
			continue
		}
		j, got, err := OpenJournal(root)
		if err != nil || len(got) != whole || whole > 0 && !reflect.DeepEqual(got, want[:whole]) {
			t.Fatalf("%d bytes: opened with %v: %v", size, got, err)
		}
		if err := errors.Join(j.Add(want[0]), j.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadJournal(root); err != nil || len(got) != whole+1 || !reflect.DeepEqual(got[whole], want[0]) {
			t.Fatalf("%d bytes: after one more line %v: %v", size, got, err)
		}
	}
}

// TestJournalRefuses: a line that is no entry is damage, wherever it stands, and is
// never written.
func TestJournalRefuses(t *testing.T) {
	const good = `{"cycle":1,"stage":"gc","event":"begin","time":"2026-01-02T03:04:05Z"}` + "\n"
	for name, line := range map[string]string{
		"no JSON":       "nonsense",
		"empty":         "",
		"no cycle":      `{"stage":"gc","event":"begin"}`,
		"foreign stage": `{"cycle":1,"stage":"dance","event":"begin"}`,
		"foreign event": `{"cycle":1,"stage":"gc","event":"pause"}`,
		"no time":       `{"cycle":1,"stage":"gc","event":"begin","time":"yesterday"}`,
	} {
		root := t.TempDir()
		filetest.Write(t, filepath.Join(root, run.CyclesName), good+line+"\n"+good)
		for what, open := range map[string]func() error{
			"ReadJournal": func() error { _, err := ReadJournal(root); return err },
			"OpenJournal": func() error { _, _, err := OpenJournal(root); return err },
		} {
			err := open()
			if corrupt, ok := errors.AsType[*fsx.CorruptError](err); !ok || !strings.Contains(corrupt.Reason, "line 2 at byte") {
				t.Errorf("%s: %s says %v, want damage in line 2", name, what, err)
			}
		}
	}
	j, _, err := OpenJournal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Add(Entry{Cycle: 0, Stage: GC, Event: Begin}); err == nil {
		t.Error("a line of cycle 0 was written")
	}
}

// FuzzJournal: no bytes make the reader panic; what it reads can be written and read
// again.
func FuzzJournal(f *testing.F) {
	var seed []byte
	for _, e := range someLines() {
		line, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		seed = append(append(seed, line...), '\n')
	}
	f.Add(seed)
	f.Add([]byte("{}\n"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, ends, err := journalForm.Parse(data)
		if err != nil {
			return
		}
		whole := append([]int64{0}, ends...)[len(ends)]
		if whole < 0 || whole > int64(len(data)) || bytes.Count(data[:whole], []byte("\n")) != len(entries) {
			t.Fatalf("%d entries in %d of %d bytes", len(entries), whole, len(data))
		}
		NewState(entries).Next()
		for _, e := range entries {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := journalForm.Parse(append(line, '\n'))
			if err != nil || len(again) != 1 {
				t.Fatalf("%s: %v", line, err)
			}
			if second, err := json.Marshal(again[0]); err != nil || string(second) != string(line) {
				t.Fatalf("%s is read as %s: %v", line, second, err)
			}
		}
	})
}
