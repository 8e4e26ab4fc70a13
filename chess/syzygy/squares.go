package syzygy

// Numberings of squares that the format fixes. Squares are a1 = 0 to h8 = 63.
// A table stores positions up to symmetry: without pawns the first man stands in
// the triangle a1-d1-d4 and the first man off the long diagonal below it; with
// pawns the leading pawn stands on the files a to d.
var (
	// binomial[k][n] is the number of ways to choose k of n squares.
	binomial = makeBinomial()
	// triangle numbers a1-d1-d4: 0-5 below the diagonal, 6-9 on it.
	triangle        = makeTriangle()
	triangleSquares = [10]uint8{1, 2, 3, 10, 11, 19, 0, 9, 18, 27} // in this order
	// below numbers the 28 squares below the diagonal a1-h8.
	below = makeBelow()
	// kings numbers the 462 placements of two kings: [triangle of the first][second],
	// noKings where they touch or a symmetric placement stands for it.
	kings = makeKings()
	// pawnOrder ranks pawn squares; the leading pawn is the one with the highest:
	// a2 47, h2 46, a3 45, ... d7 1, e7 0.
	pawnOrder = makePawnOrder()
	// leadIndex[n][square] is the first index of n leading pawns with the foremost
	// (by pawnOrder) on square, leadSize[n][file] the number of indices of a file.
	leadIndex, leadSize = makeLead()
)

const (
	numKings   = 462   // placements of two kings without pawns
	numTriples = 31332 // placements of three different men without pawns
	noKings    = 0xffff
	maxGroup   = 6 // men of one kind, one more than seven-man tables have
)

// offDiagonal is 0 on a1-h8, positive above and negative below.
func offDiagonal(sq uint8) int { return int(sq>>3) - int(sq&7) }

// transpose mirrors a square at a1-h8.
func transpose(sq uint8) uint8 { return sq>>3 | sq<<3&63 }

func makeBinomial() (b [maxGroup + 1][64]uint64) {
	for n := range 64 {
		b[0][n] = 1
		for k := 1; k <= maxGroup && k <= n; k++ {
			b[k][n] = b[k-1][n-1] + b[k][n-1] // 0 above the diagonal
		}
	}
	return b
}

func makeTriangle() (t [64]uint8) {
	for n, sq := range triangleSquares {
		t[sq] = uint8(n)
	}
	return t
}

func makeBelow() (t [64]uint8) {
	n := uint8(0)
	for sq := range uint8(64) {
		if offDiagonal(sq) < 0 {
			t[sq] = n
			n++
		}
	}
	return t
}

// makeKings numbers first the placements with a king off the diagonal, by the
// triangle of the first, then those with both on it.
func makeKings() (t [10][64]uint16) {
	n := uint16(0)
	for pass := range 2 {
		for first, a := range triangleSquares {
			for b := range uint8(64) {
				onDiagonal := offDiagonal(a) == 0 && offDiagonal(b) == 0
				symmetric := offDiagonal(a) == 0 && offDiagonal(b) > 0
				switch {
				case touch(a, b) || symmetric:
					t[first][b] = noKings
				case onDiagonal == (pass == 1):
					t[first][b] = n
					n++
				}
			}
		}
	}
	return t
}

// touch says whether two squares are equal or neighbours.
func touch(a, b uint8) bool {
	file, rank := int(a&7)-int(b&7), int(a>>3)-int(b>>3)
	return file*file <= 1 && rank*rank <= 1
}

func makePawnOrder() (t [64]uint8) {
	n := uint8(47)
	for file := range uint8(4) {
		for rank := uint8(1); rank < 7; rank++ {
			t[rank*8+file] = n
			t[rank*8+7-file] = n - 1
			n -= 2
		}
	}
	return t
}

func makeLead() (index [maxGroup][64]uint64, size [maxGroup][4]uint64) {
	for n := 1; n < maxGroup; n++ {
		for file := range uint8(4) {
			for rank := uint8(1); rank < 7; rank++ {
				sq := rank*8 + file
				index[n][sq] = size[n][file]
				size[n][file] += binomial[n-1][pawnOrder[sq]]
			}
		}
	}
	return index, size
}
