package monitor

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// publish sends steps from..to and an episode after every fourth.
func publish(b *Bus, from, to int64) {
	for s := from; s <= to; s++ {
		at := time.Unix(1700000000+s, 0)
		b.Publish(&Step{Header: Header{Time: at}, Step: s, Losses: Numbers{"policy_loss": Number(10 / float64(s)), "value_loss": 1}, LR: 0.02})
		if s%4 == 0 {
			b.Publish(&Episode{Header: Header{Time: at}, Episode: s / 4, Plies: int(s), Ends: map[string]int64{"mate": s / 4}})
			b.Publish(&Validation{Header: Header{Time: at}, Step: s, Weights: "raw", Losses: Numbers{"policy_loss": 2}})
		}
	}
}

func open(t *testing.T, dir string, state FilesState) (*Files, *Bus, FilesInfo) {
	t.Helper()
	f, info, err := OpenFiles(FilesOptions{Dir: dir, Job: "job", TensorBoard: true, Now: fixedClock()}, state)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBus(BusOptions{Job: "job", Seq: state.Seq, Now: fixedClock()})
	b.Attach(f)
	return f, b, info
}

func mustSync(t *testing.T, f *Files) FilesState {
	t.Helper()
	s, err := f.Sync()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// steps returns the numbers of the step events in a metrics file.
func steps(t *testing.T, path string) (steps []int64) {
	t.Helper()
	last := uint64(0)
	_, err := Replay(bytes.NewReader(filetest.Read(t, path)), func(e Event) error {
		if n := e.Head().Seq; n <= last {
			t.Errorf("event %d follows %d", n, last)
		} else {
			last = n
		}
		if s, ok := e.(*Step); ok {
			steps = append(steps, s.Step)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func upTo(n int64) (s []int64) {
	for i := int64(1); i <= n; i++ {
		s = append(s, i)
	}
	return s
}

// TestResumeDoublesNothing stops a run at every kind of place after its
// checkpoint and goes on: files are byte for byte those of an undisturbed run.
func TestResumeDoublesNothing(t *testing.T) {
	straight := t.TempDir()
	f, b, _ := open(t, straight, FilesState{})
	publish(b, 1, 8)
	publish(b, 9, 20)
	if err := errors.Join(b.Err(), f.Close()); err != nil {
		t.Fatal(err)
	}
	want := filetest.Read(t, filepath.Join(straight, MetricsName))
	board := eventsPrefix + "1700000000.job" + eventsSuffix
	wantBoard := filetest.Read(t, filepath.Join(straight, board))

	for _, lost := range []int64{8, 9, 13, 20} { // last step before the kill
		for _, tail := range []string{"", "{\"v\":1,\"ty", "\n\n"} {
			dir := t.TempDir()
			f, b, _ := open(t, dir, FilesState{})
			publish(b, 1, 8)
			state := mustSync(t, f)
			publish(b, 9, lost)
			if err := f.flush(); err != nil {
				t.Fatal(err)
			}
			appendTo(t, filepath.Join(dir, MetricsName), tail)
			appendTo(t, filepath.Join(dir, board), tail)
			f, b, info := open(t, dir, state)
			if info.Lost != 0 || len(info.Moved) != 0 {
				t.Errorf("lost %d: %+v", lost, info)
			}
			publish(b, 9, 20)
			if err := errors.Join(b.Err(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if got := filetest.Read(t, filepath.Join(dir, MetricsName)); !bytes.Equal(got, want) {
				t.Errorf("lost %d, tail %q: metrics differ", lost, tail)
			}
			if got := filetest.Read(t, filepath.Join(dir, board)); !bytes.Equal(got, wantBoard) {
				t.Errorf("lost %d, tail %q: event file differs", lost, tail)
			}
		}
	}
	if d := cmp.Diff(upTo(20), steps(t, filepath.Join(straight, MetricsName))); d != "" {
		t.Error(d)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// TestDamagedFiles: what the checkpoint knew may be gone; what is left is kept,
// the loss is told, and the event file is made anew.
func TestDamagedFiles(t *testing.T) {
	begun := func(t *testing.T) (string, FilesState) {
		dir := t.TempDir()
		f, b, _ := open(t, dir, FilesState{})
		publish(b, 1, 8)
		state := mustSync(t, f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return dir, state
	}
	t.Run("metrics cut", func(t *testing.T) {
		dir, state := begun(t)
		path := filepath.Join(dir, MetricsName)
		if err := os.Truncate(path, state.MetricsOffset-5); err != nil {
			t.Fatal(err)
		}
		_, b, info := open(t, dir, state)
		if info.Lost <= 5 {
			t.Errorf("%+v", info)
		}
		publish(b, 9, 9)
	})
	t.Run("offset in a line", func(t *testing.T) {
		dir, state := begun(t)
		state.MetricsOffset -= 5
		_, _, err := OpenFiles(FilesOptions{Dir: dir, TensorBoard: true}, state)
		if bad, ok := errors.AsType[*CorruptError](err); !ok || bad.Offset != state.MetricsOffset || !strings.Contains(err.Error(), "; move the file away") {
			t.Errorf("%v", err)
		}
	})
	for name, hurt := range map[string]func(path string) error{
		"events gone": os.Remove,
		"events cut":  func(path string) error { return os.Truncate(path, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := begun(t)
			path := filepath.Join(dir, state.EventsFile)
			want := filetest.Read(t, path)
			if err := hurt(path); err != nil {
				t.Fatal(err)
			}
			f, _, _ := open(t, dir, state)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			if got := filetest.Read(t, path); !bytes.Equal(got, want) {
				t.Error("the rebuilt event file differs")
			}
		})
	}
	t.Run("another run's files", func(t *testing.T) {
		dir, state := begun(t)
		metrics := filetest.Read(t, filepath.Join(dir, MetricsName))
		f, b, info := open(t, dir, FilesState{})
		publish(b, 1, 2)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		want := []string{filepath.Join(dir, "metrics_old1.jsonl"), filepath.Join(dir, "events_old1")}
		if d := cmp.Diff(want, info.Moved); d != "" {
			t.Error(d)
		}
		if !bytes.Equal(filetest.Read(t, want[0]), metrics) || len(filetest.Read(t, want[1])) != int(state.EventsOffset) {
			t.Error("the old files changed")
		}
		if d := cmp.Diff(upTo(2), steps(t, filepath.Join(dir, MetricsName))); d != "" {
			t.Error(d)
		}
	})
}

// TestMovedAside: of what was moved aside the newest files stay.
func TestMovedAside(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, MetricsName)
	for i := range keptAside + 2 {
		err := errors.Join(os.WriteFile(path, fmt.Appendf(nil, "%d", i), 0o600), os.Chtimes(path, time.Time{}, time.Unix(int64(i), 0)))
		if _, moveErr := moveAside(path, "metrics_old%d.jsonl"); err != nil || moveErr != nil {
			t.Fatal(err, moveErr)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != keptAside {
		t.Errorf("%d files, %v; want %d", len(left), err, keptAside)
	}
	for n, want := range map[int]string{1: "100", 2: "101", 3: "2", keptAside: "99"} {
		if got := filetest.Read(t, filepath.Join(dir, fmt.Sprintf("metrics_old%d.jsonl", n))); string(got) != want {
			t.Errorf("file %d holds that of start %s, want %s", n, got, want)
		}
	}
}

func TestBoardHoldsTheSameScalars(t *testing.T) {
	dir := t.TempDir()
	f, b, _ := open(t, dir, FilesState{})
	publish(b, 1, 8)
	state := mustSync(t, f)
	got, err := readBoard(filepath.Join(dir, state.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	var want []boardScalar
	_, err = Replay(bytes.NewReader(filetest.Read(t, filepath.Join(dir, MetricsName))), func(e Event) error {
		x, scalars := Scalars(e)
		for _, s := range scalars {
			s.Value = float64(float32(s.Value))
			want = append(want, boardScalar{e.Head().Time, x, s})
		}
		return nil
	})
	if err != nil || len(want) < 100 {
		t.Fatal(err, len(want))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestRecordBytes holds framing and encoding against bytes worked out by hand:
// CRC-32C has the check value e3069283 for "123456789".
func TestRecordBytes(t *testing.T) {
	c := uint32(0xe3069283)
	if got, want := maskedCRC([]byte("123456789")), (c>>15|c<<17)+0xa282ead8; got != want {
		t.Errorf("masked CRC %08x, want %08x", got, want)
	}
	event := (&tfEvent{wallTime: 1, step: 300, scalars: []Scalar{{"a", 0.5}}}).append(nil)
	want := "09" + "000000000000f03f" + "10" + "ac02" + "2a0a" + "0a08" + "0a0161" + "15" + "0000003f"
	if got := hex.EncodeToString(event); got != want {
		t.Errorf("event %s, want %s", got, want)
	}
	version := (&tfEvent{wallTime: 1, version: boardVersion}).append(nil)
	if !bytes.Contains(version, append([]byte{3<<3 | 2, 13}, boardVersion...)) {
		t.Errorf("version event %x", version)
	}
	rec := appendRecord(nil, event)
	if len(rec) != len(event)+16 || binary.LittleEndian.Uint64(rec) != uint64(len(event)) || !bytes.Equal(rec[12:len(rec)-4], event) {
		t.Errorf("record %x", rec)
	}
}

// TestRecordDamage: every cut is seen as torn, every flipped bit as damage.
func TestRecordDamage(t *testing.T) {
	rec := appendRecord(nil, []byte("some data"))
	for cut := 1; cut < len(rec); cut++ {
		if err := readRecords(bytes.NewReader(rec[:cut]), func([]byte, int64) error { return nil }); !isTorn(err) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	for bit := range len(rec) * 8 {
		hurt := bytes.Clone(rec)
		hurt[bit/8] ^= 1 << (bit % 8)
		if err := readRecords(bytes.NewReader(hurt), func([]byte, int64) error { return nil }); err == nil {
			t.Errorf("bit %d was not seen", bit)
		}
	}
}

// TestTornPutAside: a last line that is not whole is not put aside: nobody would ever cut it off.
func TestTornPutAside(t *testing.T) {
	for text, want := range map[string]string{"{}\n{\"v\":": "{}\n", "{\"v\":": "", "{}\n": "{}\n"} {
		dir := t.TempDir()
		filetest.Write(t, filepath.Join(dir, MetricsName), text)
		f, _, err := OpenFiles(FilesOptions{Dir: dir}, FilesState{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "metrics_old1.jsonl")); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: put aside %q, %v", text, got, err)
		}
	}
}
