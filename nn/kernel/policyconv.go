package kernel

import "github.com/chessbrain/chessbrain/encoding"

// padSquares is the number of squares of a board with a border of one square.
const padSquares = 100

// policyHalf says whether PolicyConv multiplies ci channels in bf16 in the active
// tier: two channels a word, in whole panels of words.
func policyHalf(ci int, p Precision) bool { return p.here() == BF16 && ci%(2*panel) == 0 }

// policyWords returns the words of a square, or of a tap of an output.
func policyWords(ci int, p Precision) int {
	if policyHalf(ci, p) {
		return ci / 2
	}
	return roundUp(ci, panel)
}

// PackedPolicyConvLen returns the length of weights packed by PackPolicyConv.
func PackedPolicyConvLen(ci, co int, p Precision) int { return 9 * policyWords(ci, p) * co }

// PackPolicyConv packs w [co][ci][3][3] (ky along ranks, rank 1 first) for
// PolicyConv with the same ci, co and precision in the active tier:
// [co][panels of words][9][16], the last panel filled up with zeros.
func PackPolicyConv(dst, w []float32, ci, co int, p Precision) {
	dst, w = dst[:PackedPolicyConvLen(ci, co, p)], w[:co*ci*9]
	clear(dst)
	k, half := policyWords(ci, p), policyHalf(ci, p)
	for o := range co {
		for t := range 9 {
			taps := w[o*ci*9+t:] // input channel i's at 9*i
			for i := range ci {
				if word := i; !half {
					dst[policyWord(o, t, word, k)] = taps[9*i]
				} else if word /= 2; i%2 == 0 {
					dst[policyWord(o, t, word, k)] = halfWord(taps[9*i], taps[9*i+9])
				}
			}
		}
	}
}

// policyWord is the place of a word of output o and tap t in packed weights of k
// words a tap.
func policyWord(o, t, word, k int) int { return (o*k+word/panel*panel)*9 + t*panel + word%panel }

// PolicyConvScratchLen returns the scratch length of PolicyConv.
func PolicyConvScratchLen(ci int, p Precision) int { return padSquares * policyWords(ci, p) }

// PolicyConv computes the logits of the legal moves of the convolutional policy
// head from the input x [boards][64][ci] of its last convolution, a 3x3
// cross-correlation with zero padding 1: some 30 of the 5120 outputs of a
// position. Those of position i are legal[legalStart[i]:legalStart[i+1]], policy
// indices, and logits beside them; conv maps a policy index to plane*64 + from
// square (encoding.ConvPolicyIndex). packed comes from PackPolicyConv, bias has a
// number a plane; scratch has PolicyConvScratchLen(ci, p) floats with any contents.
// BF16 rounds the factors of multiples of 32 channels, and is FP32 for others. A
// logit's bits do not depend on the other moves and boards.
func PolicyConv(logits, x, packed, bias []float32, conv *[encoding.NumPolicy]uint16, legalStart []int32, legal []uint16, boards, ci int, p Precision, scratch []float32) {
	x, packed = x[:boards*64*ci], packed[:PackedPolicyConvLen(ci, len(bias), p)]
	pad, half := scratch[:PolicyConvScratchLen(ci, p)], policyHalf(ci, p)
	if ci == 0 {
		panic("kernel: PolicyConv: no channels")
	}
	k := policyWords(ci, p)
	clear(pad) // the border stays
	for b := range boards {
		if board := x[b*64*ci:][:64*ci]; !half {
			padBoard(pad, board, ci, k)
		} else {
			for r := range 8 { // as padBoard
				toHalf(pad[((r+1)*10+1)*k:], board[r*8*ci:][:8*ci])
			}
		}
		at := policyInput{pad, k * f32, 10 * k * f32, panelBytes}
		at.logits(logits[legalStart[b]:legalStart[b+1]], packed, bias, conv, legal[legalStart[b]:], k, half)
	}
}

// PolicyHasPairs says whether PolicyPairs takes ci channels, to which HasPairs applies.
func PolicyHasPairs(ci int) bool { return policyHalf(ci, BF16) }

// PolicyPairs is PolicyConv in bf16 of pairs x.
func PolicyPairs(logits, x, packed, bias []float32, conv *[encoding.NumPolicy]uint16, legalStart []int32, legal []uint16, boards, ci int) {
	x, packed = x[:PairsLen(boards, ci)], packed[:PackedPolicyConvLen(ci, len(bias), BF16)]
	for b := range boards {
		at := policyInput{x[b/2*channelBlocks(ci)*pairFloats+b%2*panel:], 2 * panelBytes, 20 * panelBytes, pairFloats * f32}
		at.logits(logits[legalStart[b]:legalStart[b+1]], packed, bias, conv, legal[legalStart[b]:], ci/2, true)
	}
}

// policyInput is the input of one board with a border of zeros: its words, and the bytes
// between squares, ranks and panels of channels.
type policyInput struct {
	words              []float32
	square, row, panel int
}

// logits sets y to the logits of as many moves; k is the number of words of a square.
func (p *policyInput) logits(y, packed, bias []float32, conv *[encoding.NumPolicy]uint16, moves []uint16, k int, half bool) {
	var jobs [64]uint64
	for len(y) > 0 {
		n := min(len(jobs), len(y))
		for i, m := range moves[:n] {
			plane, from := int(conv[m]>>6), int(conv[m]&63)
			y[i] = bias[plane]
			// Where its input and its weights begin, in bytes: see policyArgs.
			jobs[i] = uint64(from>>3*p.row+from&7*p.square) | uint64(f32*plane*9*k)<<32
		}
		p.dots(y[:n], packed, jobs[:n], k, half)
		moves, y = moves[n:], y[n:]
	}
}

// dots adds to y[i] the products of job i; k is the number of words of a square, a
// multiple of 16. half says that words are of bf16.
func (p *policyInput) dots(y, packed []float32, jobs []uint64, k int, half bool) {
	f := vectors().policyDots[index(half)]
	if f == nil { // still a fraction of what all outputs would cost
		policyDotsGeneric(y, p.words, packed, jobs, k)
		return
	}
	a := policyArgs{
		y: at(y, 0), x: at(p.words, 0), w: at(packed, 0), jobs: &jobs[0],
		row: uintptr(p.row), square: uintptr(p.square), panel: uintptr(p.panel), panels: uintptr(k / panel), n: uintptr(len(jobs)),
	}
	run(f, &a)
}

// policyDotsGeneric adds to y[i] the fp32 products of job i; k is the number of
// words of a square of pad [10][10][k].
func policyDotsGeneric(y, pad, packed []float32, jobs []uint64, k int) {
	for i, job := range jobs {
		x, w := pad[uint32(job)/4:], packed[job>>32/4:]
		var sum [4]float32
		for p := 0; p < k; p += panel {
			for t := range 9 {
				xs := (*[panel]float32)(x[(t/3*10+t%3)*k+p:])
				ws := (*[panel]float32)(w[9*p+t*panel:])
				for j := 0; j < panel; j += len(sum) {
					for l := range sum {
						sum[l] += xs[j+l] * ws[j+l]
					}
				}
			}
		}
		y[i] += (sum[0] + sum[1]) + (sum[2] + sum[3])
	}
}
