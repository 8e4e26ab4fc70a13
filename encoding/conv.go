package encoding

// Planes of the convolutional policy head, of which the last seven are unused.
const (
	NumConvPlanes     = 80
	NumConvUsed       = 73
	convKnightPlane   = 56
	convPromoPlane    = 64
	convLinesDistance = 7
)

// Steps (dx = files, dy = ranks) of the head's planes.
var (
	convDirections = [8][2]int{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}}
	convJumps      = [8][2]int{{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}}
	convPromoCodes = [3]int{3, 2, 4} // rook, bishop, queen
)

var convPolicyIndex = buildConvPolicy()

// buildConvPolicy fills the table. Planes 0-55: the eight directions from N
// clockwise, distances 1..7 each; 56-63: knight jumps; 64-72: promotions
// north-west, north, north-east, to rook, bishop, queen each.
func buildConvPolicy() *[NumPolicy]uint16 {
	var index [NumPolicy]uint16
	set := func(plane, from, dx, dy, code int) {
		x, y := from&7+dx, from>>3+dy
		if x < 0 || x > 7 || y < 0 || y > 7 {
			return
		}
		index[PolicyIndex(makeMove(from, y*8+x, code))] = uint16(plane*NumSquares + from)
	}
	for from := range NumSquares {
		for d, step := range convDirections {
			for k := 1; k <= convLinesDistance; k++ {
				set(d*convLinesDistance+k-1, from, k*step[0], k*step[1], promoNone)
			}
		}
		for d, step := range convJumps {
			set(convKnightPlane+d, from, step[0], step[1], promoNone)
		}
		if from>>3 != 6 {
			continue
		}
		for dx := -1; dx <= 1; dx++ {
			for k, code := range convPromoCodes {
				set(convPromoPlane+(dx+1)*3+k, from, dx, 1, code)
			}
		}
	}
	return &index
}

// ConvPolicyIndex returns the table policy index -> plane*64 + from square of the
// convolutional head (80 planes, 73 used). The table is shared: do not write to it.
func ConvPolicyIndex() *[NumPolicy]uint16 { return convPolicyIndex }
