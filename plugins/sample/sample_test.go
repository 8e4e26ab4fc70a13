package sample

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// subject is a sampler with settings.
type subject struct {
	name     string
	settings map[string]string
}

func (s subject) String() string { return fmt.Sprintf("%s %v", s.name, s.settings) }

var subjects = []subject{
	{"uniform", nil},
	{"hanse", nil},
	{"hanse", map[string]string{"by": "weights", "gamma": "0.7", "threshold": "2"}},
	{"position-selector", nil},
	{"position-selector", map[string]string{"positions": "final"}},
	{"position-selector", map[string]string{"positions": "penultimate"}},
	{"position-selector", map[string]string{"positions": "every", "every": "3", "offset": "1"}},
	{"diff-focus", nil},
	{"diff-focus", map[string]string{"gamma": "1.7", "tau": "9"}},
	{"prioritized", map[string]string{"beta_rows": "300"}},
	{"prioritized", map[string]string{"by": "q_diff", "alpha": "1"}},
}

// chain is a sampler whose draws each begin where the one before ended.
type chain struct {
	stage.Sampler
	at stage.Draw // of the next draw, without Index and Rows
}

// sampler returns the subject, seeded.
func (s subject) sampler(t testing.TB, seed uint64) *chain {
	t.Helper()
	sampler, err := Definition(s.name).MakeSampler(s.settings)
	if err != nil {
		t.Fatal(err)
	}
	return &chain{sampler, stage.Draw{Seed: seed, Stream: 4}}
}

// next appends n rows to dst.
func (c *chain) next(idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	d := c.at
	d.Index, d.Rows = idx, n
	refs, state, err := c.Sample(context.Background(), d, dst)
	if err == nil {
		c.at.State = state
	}
	return refs, err
}

// drawn returns n rows.
func drawn(t testing.TB, c *chain, idx stage.Index, n int) []stage.RowRef {
	t.Helper()
	refs, err := c.next(idx, n, nil)
	if err != nil || len(refs) != n {
		t.Fatalf("%s: %d rows, %v; want %d", c.Name(), len(refs), err, n)
	}
	return refs
}

// saved returns the state.
func saved(t testing.TB, c *chain) []byte {
	t.Helper()
	if _, err := c.next(nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	return c.at.State
}

// load lets c go on from a state, if it is one.
func load(c *chain, state []byte) error {
	_, again, err := c.Sample(context.Background(), stage.Draw{State: state}, nil)
	if err == nil {
		c.at.State = again
	}
	return err
}

// inside returns what draws.
func (c *chain) inside() drawer { return c.Sampler.(function).drawer }

// follow lets the sampler take an index in without a draw.
func (c *chain) follow(t testing.TB, idx stage.Index) {
	t.Helper()
	var err error
	switch s := c.inside().(type) {
	case *hanse:
		s.update(idx)
	case *equal:
		err = s.table.update(idx)
	case *prioritized:
		err = s.table.update(idx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDefinitions(t *testing.T) {
	var names []string
	for _, d := range Definitions() {
		names = append(names, d.Name)
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
		if s, err := d.MakeSampler(nil); err != nil || s.Name() != d.Name || Definition(d.Name).Doc != d.Doc {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	if want := []string{"diff-focus", "hanse", "position-selector", "prioritized", "uniform"}; !slices.Equal(names, want) {
		t.Errorf("there are %v, want %v", names, want)
	}
	if _, err := stage.Find(Definitions(), stage.KindSampler, "unifrom"); err == nil {
		t.Error("an unknown name was accepted")
	}
}

func TestSettingsRefused(t *testing.T) {
	for _, c := range []struct {
		subject
		want []string
	}{
		{subject{"position-selector", map[string]string{"positions": "last"}}, []string{"positions", `"last"`, "penultimate"}},
		{subject{"position-selector", map[string]string{"every": "4"}}, []string{"every", "4", "positions = every", "all"}},
		{subject{"position-selector", map[string]string{"positions": "final", "offset": "1"}}, []string{"offset", "final"}},
		{subject{"position-selector", map[string]string{"positions": "every", "every": "0"}}, []string{"every", "1 to 10000"}},
		{subject{"diff-focus", map[string]string{"q_weight": "0", "pol_scale": "0"}}, []string{"q_weight", "pol_scale", "both 0"}},
		{subject{"diff-focus", map[string]string{"beta": "0"}}, []string{"beta", "1e-06"}},
		{subject{"hanse", map[string]string{"gamma": "-1"}}, []string{"gamma", "0 to 100"}},
		{subject{"hanse", map[string]string{"by": "plies"}}, []string{"by", "positions, weights"}},
		{subject{"prioritized", map[string]string{"beta": "1.5"}}, []string{"beta", "0 to 1"}},
		{subject{"prioritized", map[string]string{"epsilon": "0"}}, []string{"epsilon", "1e-09"}},
		{subject{"uniform", map[string]string{"x": "1"}}, []string{`"x"`, "none"}},
	} {
		_, err := Definition(c.name).MakeSampler(c.settings)
		for _, want := range append(c.want, c.name) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q in it", c.subject, err, want)
			}
		}
	}
}

func TestSampleErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := randomGames(fresh(t), 30, 20)
	for _, subject := range subjects {
		s := subject.sampler(t, 1)
		dst := []stage.RowRef{{Game: 7}}
		if refs, err := s.next(l.window(3, 3), 1, dst); !errors.Is(err, ErrNoRows) || len(refs) != 1 {
			t.Errorf("%v: empty index: %v, %d rows", subject, err, len(refs))
		}
		if refs, _, err := s.Sample(ctx, stage.Draw{Index: l.window(0, 30), Rows: 1}, dst); !errors.Is(err, context.Canceled) || len(refs) != 1 {
			t.Errorf("%v: cancelled: %v, %d rows", subject, err, len(refs))
		}
		if refs, err := s.next(l.window(0, 30), 2, dst); err != nil || len(refs) != 3 || refs[0].Game != 7 {
			t.Errorf("%v: %v, %v", subject, refs, err)
		}
	}
}

// Every row that is drawn is in the window, and weighs more than nothing in the
// loss; seeds decide.
func TestRowsAreInTheWindow(t *testing.T) {
	rng := fresh(t)
	w := randomGames(rng, 60, 25).window(11, 57)
	for _, subject := range subjects {
		refs := drawn(t, subject.sampler(t, 1), w, 500)
		for _, ref := range refs {
			i, ok := w.Find(ref.Game)
			if !ok || !slices.ContainsFunc(w.games[w.lo+i].rows, func(r stage.RowInfo) bool { return r.Ply == ref.Ply }) {
				t.Fatalf("%v: row %+v is not in the window", subject, ref)
			}
			if !(ref.Weight > 0 && ref.Weight < 1e6) {
				t.Fatalf("%v: weight of %+v", subject, ref)
			}
		}
		if again := drawn(t, subject.sampler(t, 1), w, 500); !slices.Equal(again, refs) {
			t.Errorf("%v: the same seed gives other rows", subject)
		}
		if other := drawn(t, subject.sampler(t, 2), w, 500); slices.Equal(other, refs) {
			t.Errorf("%v: another seed gives the same rows", subject)
		}
		used := subject.sampler(t, 2)
		drawn(t, used, w, 500)
		used.at = stage.Draw{Seed: 1, Stream: 4}
		if again := drawn(t, used, w, 500); !slices.Equal(again, refs) {
			t.Errorf("%v: seeded anew it gives other rows", subject)
		}
	}
}

// A state that is damaged is refused by the sampler's name; the state given stays.
func TestDamagedState(t *testing.T) {
	w := randomGames(fresh(t), 40, 20).window(5, 40)
	for _, subject := range subjects {
		s := subject.sampler(t, 9)
		drawn(t, s, w, 300)
		state := saved(t, s)
		for n := range len(state) - 1 {
			if err := load(s, state[:n+1]); err == nil || !strings.Contains(err.Error(), subject.name) {
				t.Errorf("%v: %d of %d bytes: %v", subject, n+1, len(state), err)
			}
		}
		if load(s, append(slices.Clone(state), 0)) == nil {
			t.Errorf("%v: a byte too many was loaded", subject)
		}
		before := slices.Clone(state)
		if drawn(t, s, w, 9); !bytes.Equal(state, before) {
			t.Errorf("%v: a draw wrote into the state that it began with", subject)
		}
	}
}
