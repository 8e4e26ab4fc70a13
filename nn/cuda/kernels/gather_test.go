package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// playedRows returns positions of random games with policies and targets, some of them
// not known: with castling rights, with pawns, without either, and one with 218 moves.
func playedRows(t *testing.T, r *rand.Rand) *encoding.TrainBatch {
	t.Helper()
	b := encoding.NewTrainBatch(0)
	for _, fen := range []string{
		"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
		"r1bq1b1r/pppkpppp/2n2n2/3p4/3P4/2N2N2/PPPKPPPP/R1BQ1B1R w - - 6 5",
		"8/8/3k4/8/6q1/8/1R1K4/5N2 b - - 3 9",
		"8/PP4k1/8/8/8/8/1K4pp/8 w - - 0 1",
		"R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
	} {
		start, err := chess.ParseFEN(fen)
		must(t, err)
		h := chess.NewHistory(start)
		var list chess.MoveList
		for range 6 {
			h.Board().GenerateMoves(&list)
			i := encoding.AppendTrainPosition(b, h, &list)
			fillTargets(b, i, r)
			if list.N == 0 {
				break
			}
			h.Push(list.Moves[r.IntN(list.N)])
		}
	}
	return b
}

// fillTargets draws what a row should learn.
func fillTargets(b *encoding.TrainBatch, i int, r *rand.Rand) {
	if r.IntN(3) > 0 {
		b.Ahead[i] = encoding.Ahead{Known: r.IntN(3) > 0, Material: int8(r.IntN(41) - 20), Survive: r.Uint64(), From: chess.Square(r.IntN(64)), To: chess.Square(r.IntN(64))}
	}
	for j := range b.PolicyOf(i) {
		b.PolicyOf(i)[j] = r.Float32()
	}
	for k := range b.Targets[i] {
		if r.IntN(3) > 0 {
			b.Targets[i][k] = encoding.QDM{Q: 2*r.Float32() - 1, D: r.Float32(), M: 200 * r.Float32()}
		}
	}
}

// randomRows returns rows of any masks, scalars and policy indices, from none to 256.
func randomRows(r *rand.Rand, n int) *encoding.TrainBatch {
	b := encoding.NewTrainBatch(n)
	for k := range n {
		i := b.Grow([]int{0, 1, 31, 32, 33, WindowMoves}[k%6])
		for p := range b.Masks[i] {
			b.Masks[i][p] = r.Uint64()
		}
		any := func() uint8 { return uint8(r.Uint32()) }
		b.Scalars[i] = encoding.Scalars{OurOOO: any(), OurOO: any(), TheirOOO: any(), TheirOO: any(), BlackToMove: any(), Rule50: any()}
		for j := range b.LegalOf(i) {
			b.LegalOf(i)[j] = uint16(r.IntN(encoding.NumPolicy))
		}
		fillTargets(b, i, r)
	}
	return b
}

// shown is a row of a window, and its symmetry.
type shown struct {
	slot int
	as   encoding.Transform
}

// TestGather holds gathered rows against those that encoding copies and transforms,
// bit for bit: of random games under all that encoding allows, and of random rows,
// whose last slot is there twice, under all eight.
func TestGather(t *testing.T) {
	r := fresh(t)
	played, random := playedRows(t, r), randomRows(r, 13)
	var ofGames, ofRandom []shown
	symmetries := map[encoding.Transform]int{}
	for i := range played.N {
		symmetries[played.NumSymmetries(i)]++
		for as := range played.NumSymmetries(i) {
			ofGames = append(ofGames, shown{i, as})
		}
	}
	if symmetries[1] == 0 || symmetries[2] == 0 || symmetries[8] == 0 || !slices.ContainsFunc(ofGames, func(s shown) bool { return len(played.LegalOf(s.slot)) == 218 }) {
		t.Errorf("rows by number of symmetries: %v, want some of 1, 2 and 8, and one with 218 moves", symmetries)
	}
	for i := range random.N {
		for as := range encoding.NumTransforms {
			ofRandom = append(ofRandom, shown{i, as})
		}
	}
	r.Shuffle(len(ofGames), func(i, j int) { ofGames[i], ofGames[j] = ofGames[j], ofGames[i] })
	eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
		checkGather(t, d, k, s, played, ofGames)
		checkGather(t, d, k, s, random, append(ofRandom, ofRandom[len(ofRandom)-1]))
		for _, n := range []int{1, 7, 8, 9} {
			checkGather(t, d, k, s, random, ofRandom[8:8+n])
		}
	})
}

// aheadOf returns what became of rows as kernels have it.
func aheadOf(rows []encoding.Ahead) (list []Ahead) {
	for _, a := range rows {
		k := Ahead{Survive: a.Survive, Material: int16(a.Material), Reply: a.ReplyIndex(), From: uint16(a.From), To: uint16(a.To)}
		if !a.Known {
			k.Material = NoMaterial
		}
		list = append(list, k)
	}
	return list
}

// checkGather runs the kernel on a window with the rows of b.
func checkGather(t *testing.T, d driver.Device, k *Set, s driver.Stream, b *encoding.TrainBatch, rows []shown) {
	t.Helper()
	legal, policy := make([]uint16, b.N*WindowMoves), make([]float32, b.N*WindowMoves)
	for i := range b.N {
		copy(legal[i*WindowMoves:], b.LegalOf(i))
		copy(policy[i*WindowMoves:], b.PolicyOf(i))
	}
	want := encoding.NewTrainBatch(0)
	kept := make([]uint32, len(rows))
	for i, row := range rows {
		want.AppendRow(b, row.slot)
		want.ApplySymmetry(i, row.as)
		kept[i] = uint32(row.slot)*uint32(encoding.NumTransforms) + uint32(row.as)
	}
	n, moves := len(rows), len(want.Legal)
	a := GatherArgs{
		Kept: uploadOf(t, d, s, kept), Start: uploadOf(t, d, s, want.LegalStart), Images: uploadOf(t, d, s, encoding.PolicyImages()[:]),
		WindowMasks: uploadOf(t, d, s, b.Masks[:b.N]), WindowScalars: uploadOf(t, d, s, b.Scalars[:b.N]), WindowTargets: uploadOf(t, d, s, b.Targets[:b.N]), WindowAhead: uploadOf(t, d, s, aheadOf(b.Ahead[:b.N])),
		WindowLegal: uploadOf(t, d, s, legal), WindowPolicy: uploadOf(t, d, s, policy),
		Masks: alloc(t, d, n*encoding.NumMasks*8), Scalars: alloc(t, d, 6*n), Targets: alloc(t, d, 72*n), Ahead: alloc(t, d, 16*n),
		Legal: alloc(t, d, max(1, 2*moves)), Policy: alloc(t, d, max(1, 4*moves)), Rows: int32(n),
	}
	run(t, k, s, Gather(a))
	same(t, rows, "masks", downloadOf[[encoding.NumMasks]uint64](t, s, a.Masks, n), want.Masks[:n])
	same(t, rows, "ahead", downloadOf[Ahead](t, s, a.Ahead, n), aheadOf(want.Ahead[:n]))
	same(t, rows, "scalars", downloadOf[encoding.Scalars](t, s, a.Scalars, n), want.Scalars[:n])
	bits := func(q [encoding.NumTargets]encoding.QDM) (u [encoding.NumTargets][3]uint32) {
		for k, v := range q {
			u[k] = [3]uint32{math.Float32bits(v.Q), math.Float32bits(v.D), math.Float32bits(v.M)}
		}
		return u
	}
	var targets [][encoding.NumTargets][3]uint32
	for _, q := range want.Targets[:n] {
		targets = append(targets, bits(q))
	}
	same(t, rows, "targets", downloadOf[[encoding.NumTargets][3]uint32](t, s, a.Targets, n), targets)
	gotLegal, gotPolicy := downloadOf[uint16](t, s, a.Legal, moves), downloadOf[float32](t, s, a.Policy, moves)
	for i, row := range rows {
		from, to := want.LegalStart[i], want.LegalStart[i+1]
		if !slices.Equal(gotLegal[from:to], want.LegalOf(i)) {
			t.Errorf("row %d (%+v): legal moves %d, want %d", i, row, gotLegal[from:to], want.LegalOf(i))
		}
		if !slices.Equal(gotPolicy[from:to], want.PolicyOf(i)) {
			t.Errorf("row %d (%+v): policy %v, want %v", i, row, gotPolicy[from:to], want.PolicyOf(i))
		}
	}
}

// same compares row by row.
func same[V comparable](t *testing.T, rows []shown, what string, got, want []V) {
	t.Helper()
	for i, v := range want {
		if got[i] != v {
			t.Errorf("row %d (%+v): %s %v, want %v", i, rows[i], what, got[i], v)
			return
		}
	}
}

// TestGatherConstants: the kernel's sizes are those of encoding and of chess.
func TestGatherConstants(t *testing.T) {
	if encoding.NumMasks != 104 || encoding.NumTargets != 6 || encoding.NumPolicy != 1858 || encoding.NumTransforms != 8 || chess.MaxMoves != WindowMoves ||
		encoding.FlipFiles != 1 || encoding.MirrorRanks != 2 || encoding.Transpose != 4 {
		t.Error("gather.cu is written for other sizes")
	}
}
