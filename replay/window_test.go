package replay

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

func TestWindow(t *testing.T) {
	const plies = 10
	rows := testRows(plies)
	w := NewWindow(5 * rows)
	games := testGames(0, 1000, plies)
	for i, g := range games {
		if !w.Add(g) || w.Add(g) {
			t.Fatalf("game %d: added wrongly", i)
		}
		n := min(i+1, 5)
		if w.Games() != n || w.Rows() != n*rows {
			t.Fatalf("after game %d: %d games, %d rows", i, w.Games(), w.Rows())
		}
	}
	if got := w.OrdinalList(); !slices.Equal(got, []uint64{995, 996, 997, 998, 999}) {
		t.Errorf("ordinals %v", got)
	}
	if w.Version() != 1000 {
		t.Errorf("version %d after 1000 changes", w.Version())
	}
	if len(w.entries) > 100 || len(w.ids) != 5 {
		t.Errorf("the window keeps %d entries and %d ids for 5 games", len(w.entries), len(w.ids))
	}
	small := NewWindow(1)
	small.Add(games[0])
	if small.Add(games[1]); small.Games() != 1 || small.OrdinalList()[0] != 1 {
		t.Errorf("a window smaller than a game holds %v", small.OrdinalList())
	}
}

// TestRowsForTraining: positions without a policy or weight are in no window.
func TestRowsForTraining(t *testing.T) {
	g := testGame(3, 30)
	w := NewWindow(1000)
	w.Add(g)
	v := w.View()
	if v.NumRows() != testRows(30) {
		t.Errorf("%d rows, want %d", v.NumRows(), testRows(30))
	}
	sum := 0.0
	for k := range v.NumRows() {
		row := v.Row(0, k)
		p := g.Plies[row.Ply]
		if p.Kind == record.PolicyNone || p.Weight == 0 || row.Weight != uint64(p.Weight*stage.WeightUnit) {
			t.Errorf("row %d: %+v of ply %+v", k, row, p)
		}
		sum += float64(p.Weight)
	}
	if w.WeightSum() != sum || v.Game(0).Weight != v.WeightSum() {
		t.Errorf("weights %v, %v, want %v", w.WeightSum(), v.Game(0).Weight, sum)
	}
	none := testGame(4, 9).Clone()
	for i := range none.Plies {
		none.Plies[i].Weight = 0
	}
	nan := float32(math.NaN())
	for _, weight := range []float32{0, -1, nan} {
		none.Plies[0].Weight = weight
		if w.Add(none) {
			t.Errorf("a game whose only weight is %v was added", weight)
		}
	}
}

// TestViewIndex holds RowAt and NthRow against a plain walk over all rows, in a
// window that has moved on, so that sums do not begin at 0.
func TestViewIndex(t *testing.T) {
	w := NewWindow(60)
	for _, g := range testGames(0, 40, 11) {
		w.Add(g)
	}
	v := w.View()
	u, n := uint64(0), 0
	for i := range v.NumGames() {
		info := v.Game(i)
		if j, ok := v.Find(info.Seq); !ok || j != i || info.Age != v.NumGames()-1-i {
			t.Errorf("game %d: Find(%d) = %d, %v; age %d", i, info.Seq, j, ok, info.Age)
		}
		for k := range info.NumRows {
			row := v.Row(i, k)
			for _, at := range []uint64{u, u + row.Weight - 1} {
				if game, ply := v.RowAt(at); game != info.Seq || ply != row.Ply {
					t.Fatalf("RowAt(%d) = game %d ply %d, want %d, %d", at, game, ply, info.Seq, row.Ply)
				}
			}
			if game, ply := v.NthRow(n); game != info.Seq || ply != row.Ply {
				t.Fatalf("NthRow(%d) = game %d ply %d, want %d, %d", n, game, ply, info.Seq, row.Ply)
			}
			u, n = u+row.Weight, n+1
		}
	}
	if u != v.WeightSum() || n != v.NumRows() {
		t.Errorf("sums %d, %d; the view says %d, %d", u, n, v.WeightSum(), v.NumRows())
	}
	for _, seq := range []uint64{v.Game(0).Seq - 1, v.Game(v.NumGames()-1).Seq + 1} {
		if _, ok := v.Find(seq); ok {
			t.Errorf("Find(%d) of a game that is not there", seq)
		}
	}
}

// TestViewStays: a view does not change while the window does.
func TestViewStays(t *testing.T) {
	w := NewWindow(50)
	games := testGames(0, 300, 10)
	w.Add(games[0])
	w.Add(games[1])
	v := w.View()
	rows, sum := v.NumRows(), v.WeightSum()
	for _, g := range games[2:] {
		w.Add(g)
	}
	if v.NumRows() != rows || v.WeightSum() != sum || v.NumGames() != 2 || v.GameRecord(0) != games[0] || v.GameRecord(1) != games[1] {
		t.Error("the view changed with its window")
	}
}

func TestWindowSection(t *testing.T) {
	w := NewWindow(60)
	games := map[[16]byte]*record.Game{}
	for _, g := range testGames(0, 30, 11) {
		w.Add(g)
		games[g.ID] = g
	}
	lookup := func(id [16]byte) *record.Game { return games[id] }
	var state bytes.Buffer
	if err := w.Section("window", lookup).Save(&state); err != nil {
		t.Fatal(err)
	}
	loaded := NewWindow(60)
	section := loaded.Section("window", lookup)
	if err := section.Load(bytes.NewReader(state.Bytes()), section.Version); err != nil {
		t.Fatal(err)
	}
	a, b := w.View(), loaded.View()
	if a.NumRows() != b.NumRows() || a.WeightSum() != b.WeightSum() || !slices.Equal(w.IDs(), loaded.IDs()) {
		t.Error("the loaded window differs")
	}
	for u := uint64(0); u < a.WeightSum(); u += stage.WeightUnit / 2 {
		ag, ap := a.RowAt(u)
		if bg, bp := b.RowAt(u); ag != bg || ap != bp {
			t.Fatalf("RowAt(%d) differs: %d %d, %d %d", u, ag, ap, bg, bp)
		}
	}
	next := testGame(77, 11)
	w.Add(next)
	loaded.Add(next)
	if x, y := w.View(), loaded.View(); x.Game(x.NumGames()-1) != y.Game(y.NumGames()-1) {
		t.Error("the next game gets another number")
	}

	delete(games, loaded.IDs()[1])
	var missing *MissingGamesError
	before := loaded.IDs()
	if err := section.Load(bytes.NewReader(state.Bytes()), section.Version); !errors.As(err, &missing) || missing.Missing != 1 {
		t.Errorf("a game is missing: %v", err)
	}
	for _, bad := range [][]byte{nil, state.Bytes()[:20], append(state.Bytes(), 1)} {
		if err := section.Load(bytes.NewReader(bad), section.Version); err == nil {
			t.Errorf("a damaged section of %d bytes was loaded", len(bad))
		}
	}
	if err := section.Load(bytes.NewReader(state.Bytes()), 99); err == nil {
		t.Error("an unknown version was loaded")
	}
	if !slices.Equal(before, loaded.IDs()) {
		t.Error("a failed load changed the window")
	}
}

// TestWindowConcurrent adds, views and counts at once (race detector).
func TestWindowConcurrent(t *testing.T) {
	games := testGames(0, 200, 8)
	w := NewWindow(100)
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for i := part; i < len(games); i += 4 {
				w.Add(games[i])
			}
		})
		group.Go(func() {
			for range 300 {
				if v := w.View(); v.NumRows() > 0 {
					game, _ := v.RowAt(v.WeightSum() - 1)
					if _, ok := v.Find(game); !ok {
						t.Error("a row's game is not in the view")
					}
				}
				w.OrdinalList()
			}
		})
	}
	group.Wait()
	if w.Version() != 200 {
		t.Errorf("%d games were added", w.Version())
	}
}

// TestResize: both windows grow and shrink with the next game.
func TestResize(t *testing.T) {
	const plies = 10
	rows := testRows(plies)
	s := NewSplit(8*rows, 0.2)
	next := uint64(0)
	hold := func(train, validation int) {
		t.Helper()
		for _, g := range testGames(next, next+100, plies) {
			s.Window(g.ID).Add(g)
		}
		next += 100
		if s.Train.Games() != train || s.Validation.Games() != validation {
			t.Errorf("%d and %d games, want %d and %d", s.Train.Games(), s.Validation.Games(), train, validation)
		}
	}
	hold(8, 2)
	s.Resize(4 * rows)
	if s.Train.Games() != 8 {
		t.Errorf("%d games before the next one comes", s.Train.Games())
	}
	hold(4, 1)
	s.Resize(16 * rows)
	hold(16, 4)
}

// TestSplit: each game is on one side as a whole, by its id alone.
func TestSplit(t *testing.T) {
	const share, n = 0.2, 600
	s := NewSplit(1<<20, share)
	for _, g := range testGames(0, n, 3) {
		s.Window(g.ID).Add(g)
		if in := slices.Contains(s.Validation.IDs(), g.ID); in != record.IsValidation(g.ID, share) {
			t.Fatalf("game %x is on the wrong side", g.ID)
		}
	}
	if s.Train.Games()+s.Validation.Games() != n {
		t.Errorf("%d + %d games of %d", s.Train.Games(), s.Validation.Games(), n)
	}
	// The share of 600 hashes is within 5 standard deviations of 0.2.
	if got, sd := float64(s.Validation.Games()), math.Sqrt(n*share*(1-share)); math.Abs(got-n*share) > 5*sd {
		t.Errorf("%v validation games, want %v +- %v", got, n*share, 5*sd)
	}
}
