package host

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// window is an index of games number first to last-1, game g with g%3+1 rows of
// weight 1, 2, ...
type window struct{ first, last uint64 }

func (w window) NumGames() int { return int(w.last - w.first) }
func (w window) Game(i int) stage.GameInfo {
	seq := w.first + uint64(i)
	n := seq%3 + 1
	return stage.GameInfo{Seq: seq, ID: [16]byte{byte(seq), byte(seq >> 8)}, Ordinal: seq, NumRows: int(n), Plies: 10,
		Weight: n * (n + 1) / 2 * stage.WeightUnit, Age: w.NumGames() - 1 - i}
}
func (w window) Row(_, k int) stage.RowInfo {
	return stage.RowInfo{Ply: int32(2 * k), Weight: uint64(k+1) * stage.WeightUnit}
}
func (w window) Stats(int, int) stage.RowStats { return stage.RowStats{Visits: 800} }
func (w window) Find(game uint64) (int, bool) {
	return int(game - w.first), game >= w.first && game < w.last
}

func (w window) NumRows() (n int) {
	for i := range w.NumGames() {
		n += w.Game(i).NumRows
	}
	return n
}

func (w window) WeightSum() (sum uint64) {
	for i := range w.NumGames() {
		sum += w.Game(i).Weight
	}
	return sum
}

func (w window) RowAt(u uint64) (uint64, int32) {
	for i := 0; ; i++ {
		for k := range w.Game(i).NumRows {
			row := w.Row(i, k)
			if u < row.Weight {
				return w.Game(i).Seq, row.Ply
			}
			u -= row.Weight
		}
	}
}

func (w window) NthRow(n int) (uint64, int32) {
	for i := 0; ; i++ {
		if rows := w.Game(i).NumRows; n < rows {
			return w.Game(i).Seq, w.Row(i, n).Ply
		} else {
			n -= rows
		}
	}
}

// draws makes some draws of 20 rows over a window that slides.
func draws(t *testing.T, s stage.Sampler, n int) [][]stage.RowRef {
	t.Helper()
	var all [][]stage.RowRef
	d := stage.Draw{Seed: 11, Stream: 5, Rows: 20}
	for i := range n {
		d.Index = window{uint64(3 * (i / 2)), uint64(4*(i/2) + 30)}
		refs, state, err := s.Sample(inTime(t), d, nil)
		if err != nil {
			t.Fatalf("draw %d: %v", i+1, err)
		}
		d.State = state
		all = append(all, refs)
	}
	return all
}

func equalDraws(a, b [][]stage.RowRef) bool {
	return slices.EqualFunc(a, b, func(x, y []stage.RowRef) bool { return slices.Equal(x, y) })
}

// sampler makes the sampler picker.
func (b *bench) sampler(settings map[string]string) stage.Sampler {
	b.t.Helper()
	s, err := b.Sampler(b.t.Context(), stage.Choice{Name: "picker", Settings: settings})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// After a death the same rows come as without it, however large the state is.
func TestSamplerResumes(t *testing.T) {
	const n = 20
	want := draws(t, &picker{name: "picker"}, n)
	for pad, deaths := range map[int][]int{0: {1, 8, n}, 100_000: {7}} {
		for _, die := range deaths {
			b := newBench(t, []string{"picker"}, nil)
			s := b.sampler(map[string]string{"pad": strconv.Itoa(pad), "die": strconv.Itoa(die)})
			if got := draws(t, s, n); !equalDraws(got, want) {
				t.Errorf("state of %d bytes, death in draw %d: other rows", pad, die)
			}
			st := b.Stats()[0]
			if st.Restarts != 1 || st.Calls != n || st.Rows != 20*n {
				t.Errorf("state of %d bytes, death in draw %d: statistics %+v", pad, die, st)
			}
		}
	}
}

// A draw that is given up ends for its caller; the plugin goes on, and the next draw
// is that of a plugin that was never asked for the other one.
func TestSamplerCancelled(t *testing.T) {
	b := newBench(t, []string{"picker"}, nil)
	s := b.sampler(map[string]string{"stall": "2"})
	reference := &picker{name: "picker"}
	d := stage.Draw{Seed: 3, Stream: 4, Index: window{0, 9}, Rows: 5}
	_, state, err := s.Sample(inTime(t), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.State = state
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := s.Sample(ctx, d, nil)
		done <- err
	}()
	eventually(t, "the draw stalls", func() bool { _, err := os.Stat(filepath.Join(b.dir, "once-stall")); return err == nil })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	filetest.Write(t, filepath.Join(b.dir, "gate"), "")
	d.Index, d.Rows = window{1, 12}, 7 // another window than the one of that draw
	for i := range 3 {
		got, state, err := s.Sample(inTime(t), d, nil)
		want, wantState, _ := reference.Sample(t.Context(), d, nil)
		if err != nil || !slices.Equal(got, want) || !bytes.Equal(state, wantState) {
			t.Errorf("draw %d after one that was given up: other rows, %v", i, err)
		}
		d.State = state
	}
	if st := b.Stats()[0]; st.Restarts != 0 {
		t.Errorf("%d restarts", st.Restarts)
	}
}

// The stage's own errors are errors of the call, and the plugin goes on.
func TestSamplerRefuses(t *testing.T) {
	b := newBench(t, []string{"picker"}, nil)
	s := b.sampler(nil)
	var e *Error
	if _, _, err := s.Sample(inTime(t), stage.Draw{Index: window{}, Rows: 5}, nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "nothing to pick from") {
		t.Errorf("an empty index: %v", err)
	}
	_, _, err := s.Sample(inTime(t), stage.Draw{State: []byte("short")}, nil)
	if !errors.As(err, &e) || e.Name != "picker" || e.Kind != stage.KindSampler {
		t.Errorf("a wrong state: %v", err)
	}
	dst := []stage.RowRef{{Game: 99}}
	d := stage.Draw{Index: window{0, 9}, Rows: 5}
	refs, state, err := s.Sample(inTime(t), d, dst)
	if err != nil || len(refs) != 6 || refs[0] != dst[0] {
		t.Errorf("%d rows, %v", len(refs), err)
	}
	if st := b.Stats()[0]; st.Restarts != 0 {
		t.Errorf("%d restarts", st.Restarts)
	}
	// It is the plugin's own state: the same stage in this process goes on from it.
	d.State = state
	here, _, _ := (&picker{name: "picker"}).Sample(t.Context(), d, nil)
	if there, _, err := s.Sample(inTime(t), d, nil); err != nil || !slices.Equal(here, there) {
		t.Errorf("other rows from the same state, %v", err)
	}
}

// A sampler that is given up is an error, or uniform takes its place, under its name.
func TestSamplerGivenUp(t *testing.T) {
	for _, goOn := range []bool{false, true} {
		b := newBench(t, []string{"picker"}, func(o *Options) { o.Continue, o.Restarts = goOn, 2 })
		s := b.sampler(map[string]string{"die": "2", "always": "1"})
		d := stage.Draw{Seed: 7, Stream: 1, Index: window{0, 9}, Rows: 5}
		_, state, err := s.Sample(inTime(t), d, nil)
		if err != nil || s.Name() != "picker" {
			t.Fatal(err, s.Name())
		}
		d.State = state
		refs, state, err := s.Sample(inTime(t), d, nil)
		if !goOn {
			if !errors.Is(err, ErrGivenUp) || !strings.Contains(err.Error(), "exit status 8") {
				t.Errorf("error %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		uniform, _ := sample.Definition("uniform").MakeSampler(nil)
		for range 2 {
			d.State = nil // the plugin's, the first time
			want, wantState, _ := uniform.Sample(t.Context(), d, nil)
			if !slices.Equal(refs, want) || !bytes.Equal(state, wantState) {
				t.Errorf("rows %v, want uniform's %v", refs, want)
			}
			if refs, state, err = s.Sample(inTime(t), d, nil); err != nil {
				t.Error(err)
			}
		}
		if s.Name() != "uniform" || !slices.Contains(b.states(), Replaced) {
			t.Errorf("name %s, events %v", s.Name(), b.states())
		}
	}
}
