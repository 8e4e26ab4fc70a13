package mcts

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// answer is what a fake network says of a key.
func answer(i uint64) (k key, prior []float32, wdl [3]float32, m float32) {
	k = key{mix(i), mix(^i)}
	prior = make([]float32, 1+mix(i+7)%60)
	for j := range prior {
		prior[j] = float32(mix(i*64+uint64(j))>>40) / (1 << 24)
	}
	return k, prior, [3]float32{float32(i), 1, 2}, float32(i) / 3
}

func TestCacheGivesBackTheSameBits(t *testing.T) {
	const size = 1000
	c := NewCache(size)
	rng := rand.New(rand.NewPCG(1, 2))
	hits := 0
	for range 20 * size {
		i := rng.Uint64N(3 * size)
		k, prior, wdl, m := answer(i)
		got, gotWDL, gotM, ok := c.get(k, len(prior))
		if !ok {
			c.put(k, prior, wdl, m)
			continue
		}
		hits++
		if !slices.Equal(got, prior) || gotWDL != wdl || gotM != m {
			t.Fatalf("position %d came back changed", i)
		}
	}
	if hits == 0 {
		t.Error("no hit")
	}
	if h, misses := c.Counts(); int(h) != hits || int(h+misses) != 20*size {
		t.Errorf("counted %d hits and %d misses, saw %d", h, misses, hits)
	}
}

func TestCacheComparesTheWholeKey(t *testing.T) {
	c := NewCache(100)
	k, prior, wdl, m := answer(1)
	c.put(k, prior, wdl, m)
	for _, other := range []key{{k.hi, k.lo + 1}, {k.hi + 1, k.lo}} {
		if _, _, _, ok := c.get(other, len(prior)); ok {
			t.Error("half a key was enough")
		}
	}
	if _, _, _, ok := c.get(k, len(prior)+1); ok {
		t.Error("another number of moves was accepted")
	}
	if _, _, _, ok := c.get(k, len(prior)); !ok {
		t.Error("the entry is lost")
	}
	c.Clear()
	if _, _, _, ok := c.get(k, len(prior)); ok {
		t.Error("a cleared cache answered")
	}
}

func TestCacheHoldsAboutWhatItPromises(t *testing.T) {
	const size = 4000
	c := NewCache(size)
	for i := range uint64(size) {
		k, prior, wdl, m := answer(i)
		c.put(k, prior, wdl, m)
	}
	held := 0
	for i := range uint64(size) {
		k, prior, _, _ := answer(i)
		if _, _, _, ok := c.get(k, len(prior)); ok {
			held++
		}
	}
	if held < size*3/4 { // the table is a power of two with slots of four
		t.Errorf("%d of %d are held", held, size)
	}
	if allocs := testing.AllocsPerRun(10, func() {
		for i := range uint64(50) {
			c.put(key{i, i}, c.ring[:30], [3]float32{}, 0)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestNoCache(t *testing.T) {
	c := NewCache(0)
	c.Clear()
	if h, m := c.Counts(); c != nil || h != 0 || m != 0 {
		t.Error("no cache counts something")
	}
}

func TestKeysTellMovesApart(t *testing.T) {
	var masks [encoding.NumMasks]uint64
	var scalars encoding.Scalars
	a := chess.MoveList{N: 2, Moves: [256]chess.Move{chess.NewMove(0, 1, 0), chess.NewMove(0, 2, 0)}}
	b := a
	b.Moves[1] = chess.NewMove(0, 3, 0)
	if keyOf(&masks, &scalars, &a, 0) == keyOf(&masks, &scalars, &b, 0) {
		t.Error("one key for two lists of moves")
	}
	if keyOf(&masks, &scalars, &a, 0) != keyOf(&masks, &scalars, &a, 0) {
		t.Error("two keys for one position")
	}
}

// TestKeysOfBoards: a key that counts few boards is the same for two lines to one
// position, not where the position was there before, or where a draw comes near.
func TestKeysOfBoards(t *testing.T) {
	of := func(boards int, fen string, moves ...string) key {
		b, h := encoding.NewBatch(1), chess.NewHistory(chess.StartBoard())
		if fen != "" {
			h.Reset(chesstest.Board(t, fen))
		}
		for _, text := range moves {
			m, err := h.Board().ParseUCI(text)
			if err != nil {
				t.Fatal(err)
			}
			h.Push(m)
		}
		var list chess.MoveList
		h.Board().GenerateMoves(&list)
		encoding.AppendPosition(b, h, &list)
		return keyOf(&b.Masks[0], &b.Scalars[0], &list, boards)
	}
	one := []string{"g1f3", "g8f6", "b1c3", "b8c6"}
	other := []string{"b1c3", "b8c6", "g1f3", "g8f6"}
	for boards, same := range map[int]bool{0: false, 1: true, 2: false, 7: false} {
		if (of(boards, "", one...) == of(boards, "", other...)) != same {
			t.Errorf("%d boards: the same key for two lines: %v", boards, !same)
		}
	}
	if back := []string{"g1f3", "g8f6", "f3g1", "f6g8"}; of(1, "", back...) == of(1, "") {
		t.Error("a repetition has the key of the first time")
	}
	const men = "4k3/8/8/8/8/8/3R4/4K3 w - - "
	if of(1, men+"3 40") != of(1, men+"50 40") || of(1, men+"50 40") == of(1, men+"90 40") || of(0, men+"3 40") == of(0, men+"50 40") {
		t.Error("plies without a capture count as they should not")
	}
	if of(1, "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1") == of(1, "4k3/8/8/8/8/8/8/R3K3 w - - 0 1") {
		t.Error("castling does not count")
	}
}
