package syzygy

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

// orderOf returns an order of the men of an ending that tables may have.
func orderOf(m material) (order []man) {
	lead := man{uint8(m.leadSide()), chess.Pawn}
	rest := man{lead.side ^ 1, chess.Pawn}
	first := []man{lead, rest, ourKing, theirKing}
	if !m.hasPawns() {
		first = []man{ourKing, theirKing}
		for side := range m {
			for pt, n := range m[side] {
				if n == 1 && len(first) == 2 {
					first = append(first, man{uint8(side), chess.PieceType(pt)})
				}
			}
		}
	}
	for side := range m {
		for pt := range m[side] {
			if x := (man{uint8(side), chess.PieceType(pt)}); !slices.Contains(first, x) {
				first = append(first, x)
			}
		}
	}
	for _, x := range first {
		n := 1
		if x.piece != chess.King {
			n = int(m[x.side][x.piece])
		}
		for range n {
			order = append(order, x)
		}
	}
	return order
}

// images returns the symmetric images of a placement: 2 with pawns, else 8.
func images(p placement, pawns bool) (all []placement) {
	each := func(p placement, f func(uint8) uint8) (q placement) {
		for side := range p {
			for pt, set := range p[side] {
				for ; set != 0; set &= set - 1 {
					q[side][pt] |= 1 << f(uint8(bits.TrailingZeros64(set)))
				}
			}
		}
		return q
	}
	for t := range uint8(8) {
		if pawns && t > 1 {
			break
		}
		all = append(all, each(p, func(sq uint8) uint8 {
			if t&1 != 0 {
				sq ^= 7
			}
			if t&2 != 0 {
				sq ^= 56
			}
			if t&4 != 0 {
				sq = transpose(sq)
			}
			return sq
		}))
	}
	return all
}

// canonicalImage is the least of the images.
func canonicalImage(p placement, pawns bool) placement {
	key := func(p placement) []byte {
		b, _ := binary.Append(nil, binary.BigEndian, p)
		return b
	}
	return slices.MinFunc(images(p, pawns), func(a, b placement) int { return bytes.Compare(key(a), key(b)) })
}

// TestIndexNumbersPositions moves the men of random positions of up to seven men
// about: an index is below the size, the same for all images of a position and for
// no other position.
func TestIndexNumbersPositions(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, name := range []string{"KQvK", "KPvK", "KRRvK", "KBNvK", "KPvKP", "KPPvK", "KNNvKBB", "KQQvKRR", "KRPvKP", "KPPvKPP",
		"KPPPPPvK", "KPPPvKPP", "KQRBNPvK", "KQPPvKRP", "KQQQQQvK", "KNNNvKNN", "KRBPvKRP"} {
		m, err := parseMaterial(name)
		if err != nil {
			t.Fatal(err)
		}
		ranks := [2]int{0, 15}
		if len(name) > 4 {
			ranks[0] = rng.IntN(2) // with three men there may be one group only
		}
		if m[0][chess.Pawn] > 0 && m[1][chess.Pawn] > 0 {
			ranks[1] = 1 - ranks[0]
		}
		var layouts [4]layout
		for file := range layouts {
			if layouts[file], err = newLayout(m, orderOf(m), ranks, file); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		type slot struct {
			file  int
			index uint64
		}
		taken := map[slot]placement{}
		for range 20 {
			for _, p := range neighbours(rng, orderOf(m)) {
				canon := canonicalImage(p, m.hasPawns())
				for _, q := range images(p, m.hasPawns()) {
					at := slot{}
					if m.hasPawns() {
						at.file = q.leadFile(m.leadSide())
					}
					at.index = layouts[at.file].index(&q)
					if size := layouts[at.file].size; at.index >= size {
						t.Fatalf("seed %d: %s: %x has index %d of %d", seed, name, q, at.index, size)
					}
					if other, ok := taken[at]; ok && other != canon {
						t.Fatalf("seed %d: %s: %x and %x share index %v", seed, name, canon, other, at)
					}
					taken[at] = canon
				}
			}
		}
		seen := map[placement]slot{}
		for at, p := range taken {
			if other, ok := seen[p]; ok && !leadSymmetric(p, &layouts[0]) {
				t.Fatalf("seed %d: %s: %x has indices %v and %v", seed, name, p, at, other)
			}
			seen[p] = at
		}
	}
}

// leadSymmetric says whether the format leaves open which of two images is meant, so
// that both have an index: the leading pieces are their own image, or there is
// a pawn on the mirror image of the leading pawn's square.
func leadSymmetric(p placement, l *layout) bool {
	var lead placement
	for _, x := range l.order[:l.groups[0].men] {
		lead[x.side][x.piece] = p[x.side][x.piece]
	}
	if l.pawns {
		pawns := lead[l.order[0].side][chess.Pawn]
		return pawns>>(leadPawn(pawns)^7)&1 != 0
	}
	return slices.Contains(images(lead, false)[1:], lead)
}

// neighbours returns a random position with kings apart and those that differ from
// it by one man.
func neighbours(rng *rand.Rand, order []man) (all []placement) {
	squares := make([]uint8, len(order))
	valid := func() (p placement, ok bool) {
		var men uint64
		for i, x := range order {
			sq := squares[i]
			if men>>sq&1 != 0 || x.piece == chess.Pawn && (sq < 8 || sq > 55) {
				return p, false
			}
			men |= 1 << sq
			p[x.side][x.piece] |= 1 << sq
		}
		a, b := bits.TrailingZeros64(p[0][chess.King]), bits.TrailingZeros64(p[1][chess.King])
		return p, !touch(uint8(a), uint8(b))
	}
	for len(all) == 0 {
		for i := range squares {
			squares[i] = uint8(rng.IntN(64))
		}
		if p, ok := valid(); ok {
			all = append(all, p)
		}
	}
	for i := range squares {
		was := squares[i]
		for sq := range uint8(64) {
			squares[i] = sq
			if p, ok := valid(); ok {
				all = append(all, p)
			}
		}
		squares[i] = was
	}
	return all
}

// TestIndexIsFull: three different men use every index.
func TestIndexIsFull(t *testing.T) {
	used := map[uint64]bool{}
	for a := range uint8(64) {
		for b := range uint8(64) {
			for c := range uint8(64) {
				if a != b && a != c && b != c {
					used[leadingPieces([]uint8{a, b, c}, 3)] = true
				}
			}
		}
	}
	if len(used) != 31332 || numTriples != 31332 {
		t.Errorf("%d indices of three men, want 31332", len(used))
	}
	highest := 0
	for _, row := range kings {
		for _, n := range row {
			if n != noKings {
				highest = max(highest, int(n))
			}
		}
	}
	if highest != 461 {
		t.Errorf("the highest number of two kings is %d, want 461", highest)
	}
	if leadSize[1] != [4]uint64{6, 6, 6, 6} || leadSize[2] != [4]uint64{252, 180, 108, 36} {
		t.Errorf("leading pawns: %v, %v", leadSize[1], leadSize[2])
	}
	// Of the pairs of pawn squares, 24 are their own mirror image.
	if sum := leadSize[2][0] + leadSize[2][1] + leadSize[2][2] + leadSize[2][3]; sum != 576 {
		t.Errorf("two leading pawns: %d, want 576 = (48*47/2 + 24) / 2", sum)
	}
}

// TestRefusedLayouts: orders that no table has are refused.
func TestRefusedLayouts(t *testing.T) {
	rook, bishop := man{0, chess.Rook}, man{0, chess.Bishop}
	for _, c := range []struct {
		name  string
		order []man
		ranks [2]int
	}{
		{"KQvK", []man{ourKing, rook, theirKing}, [2]int{0, 15}},
		{"KQvK", []man{ourKing, ourKing, theirKing}, [2]int{0, 15}},
		{"KQvK", []man{ourKing, ourQueen, theirKing}, [2]int{3, 15}},
		{"KPvK", []man{ourKing, ourPawn, theirKing}, [2]int{0, 15}},
		{"KRRvK", []man{ourKing, rook, theirKing, rook}, [2]int{0, 15}},
		{"KRRBvK", []man{ourKing, rook, bishop, theirKing, rook}, [2]int{0, 15}},
		{"KPvKP", []man{ourPawn, ourKing, theirKing, {1, chess.Pawn}}, [2]int{0, 1}},
		{"KPvKP", []man{ourPawn, {1, chess.Pawn}, ourKing, theirKing}, [2]int{0, 0}},
	} {
		m, err := parseMaterial(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newLayout(m, c.order, c.ranks, 0); err == nil {
			t.Errorf("%s: order %v, factors %v accepted", c.name, c.order, c.ranks)
		}
	}
}
