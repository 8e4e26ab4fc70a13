package encoding

// Planes after the masks.
const (
	planeCastling = NumMasks     // four planes: ours O-O-O, O-O, theirs O-O-O, O-O
	planeBlack    = NumMasks + 4 // all ones if black is to move
	planeRule50   = NumMasks + 5
	planeOnes     = NumMasks + 7 // 110 is zeros
)

// Rule50Scale divides plane 109: our own nets are trained on rule50/99.
const Rule50Scale = 99

// ExpandPlanes writes the 112 planes as numbers into dst, planes first
// ([112][64], square a1 = 0), for one position of format 1. Plane 109 is
// rule50/99. It is the plain form that the kernels' expansion is tested
// against. len(dst) must be at least 112*64.
func ExpandPlanes(dst []float32, masks *[NumMasks]uint64, s *Scalars) {
	dst = dst[:NumPlanes*NumSquares]
	for p, m := range masks {
		for sq := range NumSquares {
			dst[p*NumSquares+sq] = float32(m >> sq & 1)
		}
	}
	constants := [NumPlanes - NumMasks]float32{
		float32(s.OurOOO), float32(s.OurOO), float32(s.TheirOOO), float32(s.TheirOO),
		float32(s.BlackToMove), float32(s.Rule50) / Rule50Scale, 0, 1,
	}
	for i, v := range constants {
		plane := dst[(NumMasks+i)*NumSquares:][:NumSquares]
		for sq := range plane {
			plane[sq] = v
		}
	}
}
