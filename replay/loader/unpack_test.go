package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/record"
)

// allOf stands for a chunk of n positions, all plies.
func allOf(n int) *positions { return &positions{num: n} }

// By rate p, 1/p uses of a chunk take every position exactly once, pass after
// pass; so do n/count uses by count.
func TestPickCovers(t *testing.T) {
	for _, c := range []struct {
		p    picker
		n    int
		uses uint32 // of a pass
	}{
		{picker{rate: 1}, 83, 1}, {picker{rate: .5}, 83, 2}, {picker{rate: .25}, 40, 4}, {picker{rate: .1}, 83, 10}, {picker{rate: 1. / 3}, 7, 3},
		{picker{rate: .03125}, 120, 32}, {picker{count: 1}, 83, 83}, {picker{count: 8}, 80, 10}, {picker{count: 3}, 3, 1}, {picker{count: 1}, 1, 1},
	} {
		for key := range uint64(3) {
			for pass := range uint32(4) {
				var got []int
				for use := range c.uses {
					one := c.p.pick(nil, allOf(c.n), key, pass*c.uses+use)
					if !slices.IsSorted(one) {
						t.Errorf("rate %v, count %d: %v does not ascend", c.p.rate, c.p.count, one)
					}
					got = append(got, one...)
				}
				slices.Sort(got)
				if len(got) != c.n || len(slices.Compact(got)) != c.n {
					t.Fatalf("rate %v, count %d, pass %d: %d positions of %d", c.p.rate, c.p.count, pass, len(got), c.n)
				}
			}
		}
	}
}

// A rate that does not divide 1 carries over: every position comes as often as
// whole passes went by, or once more.
func TestPickCarriesOver(t *testing.T) {
	p := picker{seed: 5, rate: .3}
	var counts [50]int
	for use := range uint32(15) { // 4.5 passes
		for _, ply := range p.pick(nil, allOf(50), 77, use) {
			counts[ply]++
		}
	}
	for ply, n := range counts {
		if n != 4 && n != 5 {
			t.Errorf("position %d came %d times in 4.5 passes", ply, n)
		}
	}
	a, b := p.pick(nil, allOf(50), 77, 9), p.pick(nil, allOf(50), 77, 9)
	if !slices.Equal(a, b) || slices.Equal(a, p.pick(nil, allOf(50), 78, 9)) || slices.Equal(a, (&picker{seed: 6, rate: .3}).pick(nil, allOf(50), 77, 9)) {
		t.Error("the choice is not one of seed, chunk and use")
	}
}

// Over many chunks each position is taken equally often in each use, by rate and
// by count: p = 1e-6 (see chiLimit).
func TestPickUniform(t *testing.T) {
	for _, p := range []picker{{seed: 1, rate: .1}, {seed: 2, count: 1}, {seed: 3, count: 4}, {seed: 4, rate: .7}} {
		for _, use := range []uint32{0, 7} {
			var counts [13]int
			for key := range uint64(40_000) {
				for _, ply := range p.pick(nil, allOf(13), chance.Mix(0, key), use) {
					counts[ply]++
				}
			}
			if x := chiSquare(counts[:]); x > chiLimit(12) {
				t.Errorf("rate %v, count %d, use %d: chi-square %.1f, at most %.1f: %v", p.rate, p.count, use, x, chiLimit(12), counts)
			}
		}
	}
}

// With weights positions come in their proportion.
func TestPickWeights(t *testing.T) {
	weights := []float64{.5, 2, 1, 1.5, .25, .75}
	x := &positions{num: len(weights)}
	sum := 0.0
	for _, w := range weights {
		sum += w
		x.sums = append(x.sums, float32(sum))
	}
	for _, p := range []picker{{seed: 1, rate: .2}, {seed: 2, count: 2}, {seed: 3, rate: 1}} {
		counts, total := make([]float64, len(weights)), 0.0
		for key := range uint64(4000) {
			for use := range uint32(10) {
				for _, ply := range p.pick(nil, x, chance.Mix(0, key), use) {
					counts[ply]++
					total++
				}
			}
		}
		chi := 0.0
		for k, w := range weights {
			want := total * w / sum
			chi += (counts[k] - want) * (counts[k] - want) / want
		}
		if chi > chiLimit(len(weights)-1) {
			t.Errorf("rate %v, count %d: chi-square %.1f: %v", p.rate, p.count, chi, counts)
		}
	}
}

// The diff-focus weight, by hand: (6*|.5-.25| + .75) / (6 + 1.5) = .3;
// (.3*2 + .05)^.5 = .806226; capped at tau.
func TestPositionWeight(t *testing.T) {
	w := PositionWeight{Enabled: true, Focus: chance.Focus{QWeight: 6, PolicyScale: 1.5, Alpha: 2, Beta: .05, Gamma: .5, Tau: 1}}
	p := record.Ply{Best: encoding.QDM{Q: .5}, Orig: encoding.QDM{Q: .25}, KLD: .75}
	if got, want := w.Of(&p), math.Sqrt(.65); math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	p.KLD = 50
	if got := w.Of(&p); got != 1 {
		t.Errorf("%v above tau", got)
	}
	p.KLD, p.Orig = 0, encoding.UnknownQDM
	if got, want := w.Of(&p), math.Sqrt(.05); math.Abs(got-want) > 1e-12 {
		t.Errorf("of what is not known: %v, want %v", got, want)
	}
	if got := (PositionWeight{}).Of(&p); got != 1 {
		t.Errorf("disabled: %v", got)
	}
	for name, change := range map[string]func(*PositionWeight){
		"q_weight": func(w *PositionWeight) { w.QWeight = -1 }, "alpha": func(w *PositionWeight) { w.Alpha = math.NaN() }, "tau": func(w *PositionWeight) { w.Tau = 0 },
		"both 0": func(w *PositionWeight) { w.QWeight, w.PolicyScale = 0, 0 }, "beta": func(w *PositionWeight) { w.Beta = 0 },
	} {
		bad := w
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
}

// unpackAll runs an unpacker over games and returns all frames.
func unpackAll(t testing.TB, c ChunkUnpacker, seed uint64, games []*Game) ([]Frame, *Quarantine) {
	t.Helper()
	in, out, q := NewQueue[*Game](len(games), Block), NewQueue[Frame](4, Block), &Quarantine{}
	u, err := newChunkUnpacker(&build{config: &StageConfig{Name: "u", ChunkUnpacker: &c}, options: &Options{Seed: seed, ShortTerm: .5}, quarantine: q, in: []anyQueue{in}, out: []anyQueue{out}})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range games {
		if err := in.Put(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	return runFrames(t, u, out), q
}

// runFrames runs a stage to its end and returns what it gave.
func runFrames(t testing.TB, s Stage, out *Queue[Frame]) (frames []Frame) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		err := s.Run(context.Background())
		out.Close()
		done <- err
	}()
	for {
		f, err := out.Get(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		frames = append(frames, f)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return frames
}

// Rate 1 gives all rows of all chunks in order, whatever the threads, from
// records and from the store; they are those of the decoded games.
func TestUnpackerEqualsReplayer(t *testing.T) {
	var plain, stored []*Game
	var want []*encoding.TrainBatch
	for i := range 12 {
		rec := randomRecord(t, uint64(i), 10+40*(i%4), true)
		b, _ := rowsOf(t, rec, .5)
		want = append(want, b)
		packed, err := Transcode(rec, PositionWeight{}, .5)
		if err != nil {
			t.Fatal(err)
		}
		if packed.num != b.N {
			t.Fatalf("%d positions, want %d", packed.num, b.N)
		}
		plain = append(plain, &Game{Key: uint64(i), Rec: rec})
		stored = append(stored, &Game{Key: uint64(i), Packed: packed})
	}
	for _, threads := range []int{1, 3} {
		for _, games := range [][]*Game{plain, stored} {
			frames, _ := unpackAll(t, ChunkUnpacker{Threads: threads, PositionSamplingRate: 1, Prefetch: 2}, 1, games)
			got, at := encoding.NewTrainBatch(len(frames)), 0
			for _, b := range want {
				for i := range b.N {
					if err := frames[at].AppendTo(got); err != nil || !sameRow(got, at, b, i) {
						t.Fatalf("%d threads: row %d differs, %v", threads, at, err)
					}
					at++
				}
			}
			if at != len(frames) {
				t.Errorf("%d frames, want %d", len(frames), at)
			}
		}
	}
}

// A chunk that cannot be unpacked is named and does not stop the others.
func TestUnpackerQuarantine(t *testing.T) {
	bad := randomRecord(t, 3, 20, false)
	bad.Plies[7].Move = bad.Plies[7].Move ^ 0xfff
	games := []*Game{{Source: "a", Index: 4, Rec: bad}, {Source: "b", Rec: randomRecord(t, 4, 20, false)}}
	frames, q := unpackAll(t, ChunkUnpacker{Threads: 2, PositionSamplingRate: 1}, 1, games)
	list, total := q.List()
	if len(frames) != 20 || total != 1 || list[0].Name != "a[4]" {
		t.Errorf("%d frames, quarantine %v", len(frames), list)
	}
}

func TestUnpackerSettings(t *testing.T) {
	for name, c := range map[string]ChunkUnpacker{
		"threads": {PositionSamplingRate: 1}, "position_sampling_rate": {Threads: 1}, "position_sampling_rate: 1.5": {Threads: 1, PositionSamplingRate: 1.5},
		"position_count": {Threads: 1, PositionCount: -1}, "prefetch": {Threads: 1, PositionCount: 1, Prefetch: -1},
		"tau": {Threads: 1, PositionCount: 1, PositionWeight: PositionWeight{Enabled: true, Focus: chance.Focus{QWeight: 1, Beta: 1}}},
	} {
		b := &build{config: &StageConfig{Name: "u", ChunkUnpacker: &c}, options: &Options{}, in: []anyQueue{NewQueue[*Game](1, Block)}, out: []anyQueue{NewQueue[Frame](1, Block)}}
		if _, err := newChunkUnpacker(b); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Leela's records give straight the rows that decoding them field by field
// gives, and the same as the game that they were written of.
func TestV6Rows(t *testing.T) {
	for seed := range uint64(8) {
		rec := randomRecord(t, seed, 60, seed%2 == 0)
		raw, err := lc0.AppendRecords(nil, rec, lc0.Form{Version: 6})
		if err != nil {
			t.Fatal(err)
		}
		rows := new(leelaRows)
		frames, err := rows.frames(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := rowsOf(t, rec, 0)
		if len(frames) != want.N {
			t.Fatalf("seed %d: %d rows, want %d", seed, len(frames), want.N)
		}
		got := encoding.NewTrainBatch(want.N)
		for i, f := range frames {
			if err := f.AppendTo(got); err != nil {
				t.Fatal(err)
			}
			if got.Masks[i] != want.Masks[i] || got.Scalars[i] != want.Scalars[i] || !samePolicy(got, i, want, i) {
				t.Fatalf("seed %d, row %d: other input or policy", seed, i)
			}
		}
		records, err := lc0.DecodeRecords(raw)
		if err != nil {
			t.Fatal(err)
		}
		checkV6Rows(t, fmt.Sprintf("seed %d", seed), records, got)
	}
}

// samePolicy compares policies whose moves may lie in different orders.
func samePolicy(a *encoding.TrainBatch, i int, b *encoding.TrainBatch, j int) bool {
	all := map[uint16]float32{}
	for k, idx := range a.LegalOf(i) {
		all[idx] = a.PolicyOf(i)[k]
	}
	for k, idx := range b.LegalOf(j) {
		if p, ok := all[idx]; !ok || p != b.PolicyOf(j)[k] {
			return false
		}
	}
	return len(all) == len(b.LegalOf(j))
}

// checkV6Rows holds rows against records decoded by package lc0.
func checkV6Rows(t *testing.T, name string, records []lc0.Record, got *encoding.TrainBatch) {
	t.Helper()
	i := 0
	for k := range records {
		r := &records[k]
		if r.Invariance&lc0.Placeholder != 0 {
			continue
		}
		if got.Masks[i] != r.Planes || got.Scalars[i].Rule50 != r.Rule50 || got.Scalars[i].BlackToMove != r.SideOrEP || got.Weight[i] != 1 {
			t.Fatalf("%s, record %d: other input", name, k)
		}
		for c, v := range [4]uint8{got.Scalars[i].OurOOO, got.Scalars[i].OurOO, got.Scalars[i].TheirOOO, got.Scalars[i].TheirOO} {
			if v != min(r.Castling[c], 1) {
				t.Fatalf("%s, record %d: castling right %d is %d", name, k, c, v)
			}
		}
		n := 0
		for idx, p := range r.Probabilities {
			if p >= 0 {
				if got.LegalOf(i)[n] != uint16(idx) || got.PolicyOf(i)[n] != p {
					t.Fatalf("%s, record %d: other policy", name, k)
				}
				n++
			}
		}
		want := [...]encoding.QDM{encoding.TargetResult: {Q: r.ResultQ, D: r.ResultD, M: r.PliesLeft}, encoding.TargetRoot: r.Root, encoding.TargetBest: r.Best,
			encoding.TargetPlayed: r.Played, encoding.TargetOrig: r.Orig, encoding.TargetST: encoding.UnknownQDM}
		for target, v := range want {
			if w := got.Targets[i][target]; !sameFloat(w.Q, v.Q) || !sameFloat(w.D, v.D) || !sameFloat(w.M, v.M) {
				t.Fatalf("%s, record %d, target %d: %v, want %v", name, k, target, w, v)
			}
		}
		i++
	}
	if i != got.N {
		t.Fatalf("%s: %d rows of %d records", name, got.N, i)
	}
}

// Bad records are refused by name, and other formats handed over.
func TestV6RowsRefuses(t *testing.T) {
	good, err := lc0.AppendRecords(nil, randomRecord(t, 1, 5, false), lc0.Form{Version: 6})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"version is 9":   func(b []byte) []byte { b[0] = 9; return b },
		"probability of": func(b []byte) []byte { copy(b[8356+8:], "\x00\x00\xc0\x7f"); return b },
		"sum to":         func(b []byte) []byte { copy(b[8:7440], slices.Repeat([]byte{0, 0, 0x80, 0xbf}, 1858)); return b },
		"root_q":         func(b []byte) []byte { b[8280+3] = 0x7f; return b },
		"q_st":           func(b []byte) []byte { b[8352+3] = 0x7f; return b },
		"castling":       func(b []byte) []byte { b[8272] = 3; return b },
		"side_to_move":   func(b []byte) []byte { b[8276] = 2; return b },
		"rule50":         func(b []byte) []byte { b[8277] = 101; return b },
		"two men":        func(b []byte) []byte { copy(b[7440:], b[7448:7456]); return b },
		"ends after":     func(b []byte) []byte { return b[:len(b)-1] },
	} {
		if _, err := new(leelaRows).frames(nil, change(slices.Clone(good))); !errors.Is(err, lc0.ErrCorruptRecord) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, v := range []byte{3, 4, 5} {
		other := slices.Clone(good)
		other[0] = v
		if _, err := new(leelaRows).frames(nil, other); !errors.Is(err, lc0.ErrIndirect) {
			t.Errorf("version %d: %v", v, err)
		}
	}
	other := slices.Clone(good)
	other[4] = 3
	if _, err := new(leelaRows).frames(nil, other); !errors.Is(err, lc0.ErrIndirect) {
		t.Errorf("input format 3: %v", err)
	}
}

// FuzzV6Rows: no panic; what is accepted unpacks.
func FuzzV6Rows(f *testing.F) {
	raw, err := lc0.AppendRecords(nil, randomRecord(f, 1, 2, false), lc0.Form{Version: 6})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := new(leelaRows)
		r.reader.ShortTerm = .5
		frames, _ := r.frames(nil, data)
		b := encoding.NewTrainBatch(1)
		for _, frame := range frames {
			if err := frame.AppendTo(b); err != nil {
				t.Fatal(err)
			}
		}
	})
}
