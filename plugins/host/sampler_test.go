package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

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

// draws makes some draws of 20 rows over a window that slides, and saves and
// loads the state on the way.
func draws(t *testing.T, s stage.Sampler, n int) [][]stage.RowRef {
	t.Helper()
	s.(stage.Seeder).Seed(11, 5)
	var all [][]stage.RowRef
	for i := range n {
		if i == n/3 {
			reload(t, s)
		}
		refs, err := s.Sample(inTime(t), window{uint64(3 * i), uint64(4*i + 30)}, 20, nil)
		if err != nil {
			t.Fatalf("draw %d: %v", i+1, err)
		}
		all = append(all, refs)
	}
	return all
}

// reload saves the state and loads it again.
func reload(t *testing.T, s stage.Sampler) {
	t.Helper()
	var state bytes.Buffer
	if err := s.Section().Save(&state); err != nil {
		t.Fatal(err)
	}
	if err := s.Section().Load(&state, s.Section().Version); err != nil {
		t.Fatal(err)
	}
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

// After a death the same rows come as without it, also where the state is too
// large to come with each answer and draws have to be made again.
func TestSamplerResumes(t *testing.T) {
	const n = 50
	want := draws(t, &picker{name: "picker"}, n)
	for pad, deaths := range map[int][]int{0: {1, 17, 50}, 100_000: {2, 18, 45}} {
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
			if strings.Contains(b.log(), "does not come with each answer") != (pad > 0) {
				t.Errorf("state of %d bytes: the log is wrong about it", pad)
			}
		}
	}
}

// A draw that is given up does not count, whether its state is known or not.
func TestSamplerCancelled(t *testing.T) {
	for _, pad := range []string{"0", "100000"} {
		b := newBench(t, []string{"picker"}, nil)
		s := b.sampler(map[string]string{"stall": "2", "pad": pad})
		reference := &picker{name: "picker"}
		for _, sampler := range []stage.Sampler{s, reference} {
			sampler.(stage.Seeder).Seed(3, 4)
			if _, err := sampler.Sample(inTime(t), window{0, 9}, 5, nil); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := s.Sample(ctx, window{0, 9}, 5, nil)
			done <- err
		}()
		eventually(t, "the draw stalls", func() bool { _, err := os.Stat(filepath.Join(b.dir, "once-stall")); return err == nil })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if err := os.WriteFile(filepath.Join(b.dir, "gate"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for i := range 3 { // over another window than the one of that draw
			got, err := s.Sample(inTime(t), window{1, 12}, 7, nil)
			if want, _ := reference.Sample(t.Context(), window{1, 12}, 7, nil); err != nil || !slices.Equal(got, want) {
				t.Errorf("state of %s bytes: draw %d after one that was given up: other rows, %v", pad, i, err)
			}
		}
		if st := b.Stats()[0]; st.Restarts != 0 {
			t.Errorf("%d restarts", st.Restarts)
		}
	}
}

// The stage's own errors are errors of the call, and the plugin goes on.
func TestSamplerRefuses(t *testing.T) {
	b := newBench(t, []string{"picker"}, nil)
	s := b.sampler(nil)
	var e *Error
	if _, err := s.Sample(inTime(t), window{}, 5, nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "nothing to pick from") {
		t.Errorf("an empty index: %v", err)
	}
	for _, version := range []int{3, 4} {
		err := s.Section().Load(strings.NewReader("short"), version)
		if !errors.As(err, &e) || e.Name != "picker" || e.Kind != stage.KindSampler {
			t.Errorf("a wrong state: %v", err)
		}
	}
	dst := []stage.RowRef{{Game: 99}}
	refs, err := s.Sample(inTime(t), window{0, 9}, 5, dst)
	if err != nil || len(refs) != 6 || refs[0] != dst[0] {
		t.Errorf("%d rows, %v", len(refs), err)
	}
	if st := b.Stats()[0]; st.Restarts != 0 {
		t.Errorf("%d restarts", st.Restarts)
	}
	var state bytes.Buffer
	if err := s.Section().Save(&state); err != nil || s.Section().Name != "picker" || s.Section().Version != 3 {
		t.Errorf("section %+v, %v", s.Section(), err)
	}
	// It is the plugin's own state: the same stage in this process goes on from it.
	same := &picker{name: "picker"}
	if err := same.Section().Load(&state, 3); err != nil {
		t.Fatal(err)
	}
	here, _ := same.Sample(t.Context(), window{0, 9}, 5, nil)
	if there, err := s.Sample(inTime(t), window{0, 9}, 5, nil); err != nil || !slices.Equal(here, there) {
		t.Errorf("other rows from the same state, %v", err)
	}
}

// A sampler that is given up is an error, or uniform takes its place.
func TestSamplerGivenUp(t *testing.T) {
	for _, goOn := range []bool{false, true} {
		b := newBench(t, []string{"picker"}, func(o *Options) { o.Continue, o.Restarts = goOn, 2 })
		s := b.sampler(map[string]string{"die": "2", "always": "1"})
		s.(stage.Seeder).Seed(7, 1)
		if _, err := s.Sample(inTime(t), window{0, 9}, 5, nil); err != nil {
			t.Fatal(err)
		}
		refs, err := s.Sample(inTime(t), window{0, 9}, 5, nil)
		if !goOn {
			if !errors.Is(err, ErrGivenUp) || !strings.Contains(err.Error(), "exit status 8") {
				t.Errorf("error %v", err)
			}
			if err := s.Section().Save(io.Discard); err != nil {
				t.Errorf("the state after the last answer is known: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		uniform, _ := sample.Definition("uniform").MakeSampler(nil)
		uniform.(stage.Seeder).Seed(7, 1)
		want, _ := uniform.Sample(t.Context(), window{0, 9}, 5, nil)
		if !slices.Equal(refs, want) {
			t.Errorf("rows %v, want uniform's %v", refs, want)
		}
		if s.Section().Name != "uniform" || !slices.Contains(b.states(), Replaced) {
			t.Errorf("section %s, events %v", s.Section().Name, b.states())
		}
	}
}
