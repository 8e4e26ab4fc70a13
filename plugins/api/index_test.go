package api

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// plainIndex is a stage.Index of lists, with every question answered the slow way.
type plainIndex []plainGame

type plainGame struct {
	info  stage.GameInfo // but Age
	rows  []stage.RowInfo
	stats []stage.RowStats
}

func (x plainIndex) NumGames() int { return len(x) }

func (x plainIndex) NumRows() (n int) {
	for _, g := range x {
		n += len(g.rows)
	}
	return n
}

func (x plainIndex) WeightSum() (sum uint64) {
	for _, g := range x {
		sum += g.info.Weight
	}
	return sum
}

func (x plainIndex) Game(i int) stage.GameInfo {
	info := x[i].info
	info.Age = len(x) - 1 - i
	return info
}

func (x plainIndex) Row(i, k int) stage.RowInfo    { return x[i].rows[k] }
func (x plainIndex) Stats(i, k int) stage.RowStats { return x[i].stats[k] }

func (x plainIndex) RowAt(u uint64) (uint64, int32) {
	for _, g := range x {
		for _, r := range g.rows {
			if u < r.Weight {
				return g.info.Seq, r.Ply
			}
			u -= r.Weight
		}
	}
	panic("beyond the sum")
}

func (x plainIndex) NthRow(n int) (uint64, int32) {
	for _, g := range x {
		if n < len(g.rows) {
			return g.info.Seq, g.rows[n].Ply
		}
		n -= len(g.rows)
	}
	panic("beyond the rows")
}

func (x plainIndex) Find(game uint64) (int, bool) {
	i := slices.IndexFunc(x, func(g plainGame) bool { return g.info.Seq == game })
	return max(i, 0), i >= 0
}

// randomPlainGame returns a game of 1 to 200 plies.
func randomPlainGame(rng *rand.Rand, seq uint64) plainGame {
	g := plainGame{info: stage.GameInfo{Seq: seq, Ordinal: rng.Uint64(), Plies: 1 + rng.IntN(200)}}
	for i := range g.info.ID {
		g.info.ID[i] = byte(rng.Uint32())
	}
	for ply := range g.info.Plies {
		if rng.IntN(3) > 0 && !(ply == g.info.Plies-1 && len(g.rows) == 0) {
			continue
		}
		g.rows = append(g.rows, stage.RowInfo{Ply: int32(ply), Weight: 1 + rng.Uint64N(3*stage.WeightUnit)})
		g.stats = append(g.stats, stage.RowStats{QDiff: rng.Float32(), KLD: rng.Float32(), Visits: rng.Uint32()})
		g.info.Weight += g.rows[len(g.rows)-1].Weight
	}
	g.info.NumRows = len(g.rows)
	return g
}

// sameIndex compares an index with the plain one, each answer.
func sameIndex(t *testing.T, rng *rand.Rand, got stage.Index, want plainIndex) {
	t.Helper()
	if got.NumGames() != want.NumGames() || got.NumRows() != want.NumRows() || got.WeightSum() != want.WeightSum() {
		t.Fatalf("%d games, %d rows, weight %d; want %d, %d, %d", got.NumGames(), got.NumRows(), got.WeightSum(),
			want.NumGames(), want.NumRows(), want.WeightSum())
	}
	for i, g := range want {
		if got.Game(i) != want.Game(i) {
			t.Fatalf("game %d is %+v, want %+v", i, got.Game(i), want.Game(i))
		}
		for k := range g.rows {
			if got.Row(i, k) != g.rows[k] || got.Stats(i, k) != g.stats[k] {
				t.Fatalf("row %d of game %d is %+v %+v, want %+v %+v", k, i, got.Row(i, k), got.Stats(i, k), g.rows[k], g.stats[k])
			}
		}
		if at, ok := got.Find(g.info.Seq); at != i || !ok {
			t.Fatalf("game %d found at %d: %v", i, at, ok)
		}
		if _, ok := got.Find(g.info.Seq + 1); ok != (i+1 < len(want) && want[i+1].info.Seq == g.info.Seq+1) {
			t.Fatalf("game %d found: %v", g.info.Seq+1, ok)
		}
	}
	for range min(20, want.NumRows()) {
		u, n := rng.Uint64N(want.WeightSum()), rng.IntN(want.NumRows())
		game, ply := got.RowAt(u)
		if wantGame, wantPly := want.RowAt(u); game != wantGame || ply != wantPly {
			t.Fatalf("row at %d: game %d ply %d, want %d %d", u, game, ply, wantGame, wantPly)
		}
		game, ply = got.NthRow(n)
		if wantGame, wantPly := want.NthRow(n); game != wantGame || ply != wantPly {
			t.Fatalf("row %d: game %d ply %d, want %d %d", n, game, ply, wantGame, wantPly)
		}
	}
}

// A plugin's index follows a window that slides, jumps, empties and is replaced;
// only what is new travels.
func TestIndexDeltas(t *testing.T) {
	rng := freshRand(t)
	var sender indexSender
	idx := &Index{}
	var window plainIndex
	seq := uint64(rng.IntN(1000))
	push := func(n int) {
		for range n {
			window = append(window, randomPlainGame(rng, seq))
			seq += 1 + uint64(rng.IntN(2)*rng.IntN(5))
		}
	}
	first := true
	for step := range 120 {
		added, resets := 0, 0
		wantAdded, wantReset := 0, false
		before := len(window)
		switch rng.IntN(12) {
		case 0: // another window
			window = nil
			push(rng.IntN(5))
			wantAdded, wantReset = len(window), before > 0
		case 1: // the numbers stay, a game does not
			if before == 0 {
				continue
			}
			i := rng.IntN(before)
			window = slices.Clone(window)
			window[i] = randomPlainGame(rng, window[i].info.Seq)
			wantAdded, wantReset = before, true
		case 2: // nothing
		case 3: // all games leave
			window, wantReset = nil, before > 0
			push(3)
			wantAdded = 3
		default:
			gone := rng.IntN(min(before, 6) + 1)
			window = slices.Clone(window[gone:])
			push(rng.IntN(8))
			wantAdded = len(window) - (before - gone)
			wantReset = before > 0 && (gone == before || len(window) == 0)
		}
		if before == 0 && len(window) > 0 || first {
			wantReset = true
		}
		first = false
		previous, kept := idx, snapshot(idx)
		err := sendIndex(&sender, window, func(u *pluginpb.IndexUpdate) (err error) {
			added += len(u.Seq)
			if u.Reset_ {
				resets++
			}
			idx, err = idx.Update(throughWire(t, u))
			return err
		})
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		sameIndex(t, rng, idx, window)
		if added != wantAdded || (resets > 0) != wantReset {
			t.Fatalf("step %d: %d games travelled with %d resets, want %d and %v", step, added, resets, wantAdded, wantReset)
		}
		if !slices.Equal(kept, snapshot(previous)) {
			t.Fatalf("step %d: the index before the update was changed", step)
		}
	}
}

func snapshot(x *Index) []stage.GameInfo {
	var out []stage.GameInfo
	for i := range x.NumGames() {
		out = append(out, x.Game(i))
	}
	return out
}

func throughWire(t testing.TB, u *pluginpb.IndexUpdate) *pluginpb.IndexUpdate {
	t.Helper()
	wire, err := proto.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	if len(wire) > 2*BatchBytes {
		t.Errorf("a message of %d bytes", len(wire))
	}
	var out pluginpb.IndexUpdate
	if err := proto.Unmarshal(wire, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// A large window travels in several messages; where one of them
// fails, the last one too, everything is sent again.
func TestIndexMessages(t *testing.T) {
	rng := freshRand(t)
	var window plainIndex
	for seq := range uint64(3000) {
		window = append(window, randomPlainGame(rng, seq))
	}
	var sender indexSender
	broken := errors.New("broken")
	for fails := 1; ; fails++ {
		idx, parts := &Index{}, 0
		err := sendIndex(&sender, window, func(u *pluginpb.IndexUpdate) (err error) {
			if u.Reset_ != (parts == 0) {
				t.Errorf("message %d: reset %v", parts, u.Reset_)
			}
			if parts++; parts == fails {
				return broken
			}
			idx, err = idx.Update(throughWire(t, u))
			return err
		})
		if parts == fails {
			if !errors.Is(err, broken) {
				t.Fatalf("message %d: got %v", parts, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		sameIndex(t, rng, idx, window)
		if parts < 2 || parts != fails-1 {
			t.Errorf("%d messages, %d attempts", parts, fails)
		}
		return
	}
}

// sendIndex sends all of an update, as a sampler does.
func sendIndex(s *indexSender, idx stage.Index, send func(*pluginpb.IndexUpdate) error) error {
	last, err := s.update(idx, send)
	if err == nil && last != nil {
		err = send(last)
	}
	if err != nil {
		*s = indexSender{}
	}
	return err
}

// Updates that do not fit are refused, and say what.
func TestIndexFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*pluginpb.IndexUpdate)
	}{
		{"id", func(u *pluginpb.IndexUpdate) { u.Id = u.Id[1:] }},
		{"ordinal", func(u *pluginpb.IndexUpdate) { u.Ordinal = nil }},
		{"plies", func(u *pluginpb.IndexUpdate) { u.Plies = append(u.Plies, 3) }},
		{"rows", func(u *pluginpb.IndexUpdate) { u.NumRows = u.NumRows[:1] }},
		{"rows too many", func(u *pluginpb.IndexUpdate) { u.NumRows[0] = math.MaxUint32 }},
		{"no rows", func(u *pluginpb.IndexUpdate) { u.NumRows[0], u.NumRows[1] = 0, 3 }},
		{"row_ply", func(u *pluginpb.IndexUpdate) { u.RowPly = u.RowPly[1:] }},
		{"row_weight", func(u *pluginpb.IndexUpdate) { u.RowWeight = nil }},
		{"row_q_diff", func(u *pluginpb.IndexUpdate) { u.RowQDiff = nil }},
		{"row_kld", func(u *pluginpb.IndexUpdate) { u.RowKld = nil }},
		{"row_visits", func(u *pluginpb.IndexUpdate) { u.RowVisits = nil }},
		{"old number", func(u *pluginpb.IndexUpdate) { u.Seq[0] = 4 }},
		{"descending numbers", func(u *pluginpb.IndexUpdate) { u.Seq[1] = u.Seq[0] }},
		{"ply beyond the game", func(u *pluginpb.IndexUpdate) { u.RowPly[1] = u.Plies[0] }},
		{"descending plies", func(u *pluginpb.IndexUpdate) { u.RowPly[1] = u.RowPly[0] }},
		{"huge ply", func(u *pluginpb.IndexUpdate) { u.RowPly[2], u.Plies[1] = math.MaxUint32-1, math.MaxUint32 }},
		{"weight 0", func(u *pluginpb.IndexUpdate) { u.RowWeight[2] = 0 }},
		{"weights overflow", func(u *pluginpb.IndexUpdate) { u.RowWeight[2] = math.MaxUint64 }},
		{"NaN", func(u *pluginpb.IndexUpdate) { u.RowQDiff[0] = float32(math.NaN()) }},
		{"infinite", func(u *pluginpb.IndexUpdate) { u.RowKld[0] = float32(math.Inf(1)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, err := (&Index{}).Update(&pluginpb.IndexUpdate{Seq: []uint64{4}, Id: make([]byte, 16), Ordinal: []uint64{1}, Plies: []uint32{1},
				NumRows: []uint32{1}, RowPly: []uint32{0}, RowWeight: []uint64{5}, RowQDiff: []float32{0}, RowKld: []float32{0}, RowVisits: []uint32{0}})
			if err != nil {
				t.Fatal(err)
			}
			u := &pluginpb.IndexUpdate{Seq: []uint64{5, 6}, Id: make([]byte, 32), Ordinal: []uint64{1, 2}, Plies: []uint32{4, 2}, NumRows: []uint32{2, 1},
				RowPly: []uint32{1, 3, 0}, RowWeight: []uint64{1, 2, 3}, RowQDiff: make([]float32, 3), RowKld: make([]float32, 3), RowVisits: make([]uint32, 3)}
			if next, err := base.Update(throughWire(t, u)); err != nil || next.NumRows() != 4 || next.WeightSum() != 11 {
				t.Fatalf("without the fault: %v", err)
			}
			c.change(u)
			if _, err := base.Update(u); err == nil {
				t.Error("it was accepted")
			}
			if base.NumGames() != 1 || base.WeightSum() != 5 {
				t.Error("the index was changed")
			}
		})
	}
}
