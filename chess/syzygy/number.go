package syzygy

import (
	"cmp"
	"slices"
)

// The numbers of the groups of a layout. Squares are turned in place, all men
// together, so that the men behind a group see the same board.

// leadingPawns moves the leading pawn first and onto the files a to d, mirroring
// all men, and numbers the leading pawns.
func leadingPawns(sq []uint8, lead int) uint64 {
	best := 0
	for i := range lead {
		if pawnOrder[sq[i]] > pawnOrder[sq[best]] {
			best = i
		}
	}
	sq[0], sq[best] = sq[best], sq[0]
	if sq[0]&7 > 3 {
		flip(sq, 7)
	}
	n := leadIndex[lead][sq[0]]
	rest := sq[1:lead]
	slices.SortFunc(rest, func(a, b uint8) int { return cmp.Compare(pawnOrder[a], pawnOrder[b]) })
	for i, s := range rest {
		n += binomial[i+1][pawnOrder[s]]
	}
	return n
}

// leadingPieces turns the board so that the first man stands in the triangle
// a1-d1-d4 and the first of the leading men off the diagonal below it, and
// numbers the leading men.
func leadingPieces(sq []uint8, lead int) uint64 {
	if sq[0]&7 > 3 {
		flip(sq, 7)
	}
	if sq[0]>>3 > 3 {
		flip(sq, 56)
	}
	for i := range lead {
		if off := offDiagonal(sq[i]); off != 0 {
			if off > 0 {
				for j := range sq {
					sq[j] = transpose(sq[j])
				}
			}
			break
		}
	}
	if lead == 2 {
		return uint64(kings[triangle[sq[0]]][sq[1]])
	}
	return tripleNumber(sq[0], sq[1], sq[2])
}

// tripleNumber numbers three different men, below numTriples: those with the
// first off the diagonal, then with the second off it, then the third, then none.
func tripleNumber(a, b, c uint8) uint64 {
	skipB := over(b, a)
	skipC := over(c, a) + over(c, b)
	restC := uint64(c) - skipC
	rankA, rankB, rankC := uint64(a>>3), uint64(b>>3)-skipB, uint64(c>>3)-skipC
	const first, second, third = 6 * 63 * 62, 4 * 28 * 62, 4 * 7 * 28
	switch {
	case offDiagonal(a) != 0:
		return (uint64(triangle[a])*63+uint64(b)-skipB)*62 + restC
	case offDiagonal(b) != 0:
		return first + (rankA*28+uint64(below[b]))*62 + restC
	case offDiagonal(c) != 0:
		return first + second + (rankA*7+rankB)*28 + uint64(below[c])
	}
	return first + second + third + (rankA*7+rankB)*6 + rankC
}

// over is 1 where a > b, else 0.
func over(a, b uint8) uint64 {
	if a > b {
		return 1
	}
	return 0
}

// groupNumber numbers men of one kind among the squares that the men before
// them leave free; low squares at the bottom are not counted.
func groupNumber(before, sq []uint8, low uint8) uint64 {
	slices.Sort(sq)
	n := uint64(0)
	for i, s := range sq {
		rank := s - low
		for _, t := range before {
			if s > t {
				rank--
			}
		}
		n += binomial[i+1][rank&63]
	}
	return n
}

// flip mirrors all squares: 7 the files, 56 the ranks.
func flip(sq []uint8, by uint8) {
	for i := range sq {
		sq[i] ^= by
	}
}
