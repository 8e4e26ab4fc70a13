package shuffle

import (
	"math/bits"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/replay"
)

// Boards of a packed row: the eight history boards, newest first. Pieces are
// numbered as the planes of a board, 0..11; the older boards are written as what
// differs from the board after it, mostly one move.
//
//	u8   number of boards n, 0..8; the rest are empty
//	u8   bit t = board t occurred before (its plane 12 is all ones)
//	u8   bit t-1 = board t differs from board t-1 by one plain move
//	     newest board, if n > 0: u64 occupied squares, then a nibble for the piece
//	     of each, lowest square first, low nibble first
//	     board t = 1..n-1: a plain move as u16 from | to<<6 | taken<<12 (15 =
//	     nothing): the piece on to stood on from, and taken stood on to; or u8
//	     number of squares that differ, and for each u16 square | piece<<6
const (
	numPieces = encoding.PlanesPerBoard - 1
	noPiece   = 15
	allOnes   = ^uint64(0)
)

// pieces are the piece planes of one board.
type pieces = [numPieces]uint64

// appendBoards packs the masks. ok is false, and dst as it came, for masks that
// are no boards: two pieces on a square, half a repetition plane.
func appendBoards(dst []byte, masks *[encoding.NumMasks]uint64) (_ []byte, ok bool) {
	n, repeated, err := replay.CountBoards(masks)
	if err != nil {
		return dst, false
	}
	at := len(dst)
	dst = append(dst, uint8(n), repeated, 0)
	if n == 0 {
		return dst, true
	}
	dst = replay.AppendMen(dst, piecesOf(masks, 0)[:])
	for t := 1; t < n; t++ {
		var plain bool
		if dst, plain = appendOlder(dst, piecesOf(masks, t-1), piecesOf(masks, t)); plain {
			dst[at+2] |= 1 << (t - 1)
		}
	}
	return dst, true
}

func piecesOf(masks *[encoding.NumMasks]uint64, t int) *pieces {
	return (*pieces)(masks[t*encoding.PlanesPerBoard:])
}

// pieceAt returns the piece on a square, noPiece if there is none.
func pieceAt(p *pieces, square int) int {
	for k, m := range p {
		if m>>square&1 != 0 {
			return k
		}
	}
	return noPiece
}

// appendOlder writes the board before newer.
func appendOlder(dst []byte, newer, older *pieces) (_ []byte, plain bool) {
	differ := uint64(0)
	for k := range newer {
		differ |= newer[k] ^ older[k]
	}
	if move, ok := plainMove(newer, older, differ); ok {
		return le.AppendUint16(dst, move), true
	}
	dst = append(dst, uint8(bits.OnesCount64(differ)))
	for ; differ != 0; differ &= differ - 1 {
		square := bits.TrailingZeros64(differ)
		dst = le.AppendUint16(dst, uint16(square|pieceAt(older, square)<<6))
	}
	return dst, false
}

// plainMove returns the move that led from older to newer, where exactly one
// piece moved and at most the one on its target vanished.
func plainMove(newer, older *pieces, differ uint64) (uint16, bool) {
	if bits.OnesCount64(differ) != 2 {
		return 0, false
	}
	from, to := bits.TrailingZeros64(differ), 63-bits.LeadingZeros64(differ)
	if pieceAt(newer, from) != noPiece {
		from, to = to, from
	}
	moved := pieceAt(newer, to)
	if pieceAt(newer, from) != noPiece || moved == noPiece || pieceAt(older, from) != moved {
		return 0, false
	}
	return uint16(from | to<<6 | pieceAt(older, to)<<12), true
}

// boards unpacks what appendBoards wrote; masks come zeroed.
func (d *decoder) boards(masks *[encoding.NumMasks]uint64) {
	n, repeated, plain := int(d.U8()), d.U8(), d.U8()
	if n > encoding.HistoryLen {
		d.Fail("%d history boards", n)
	}
	if repeated>>n != 0 || plain>>max(0, n-1) != 0 {
		d.Fail("marks beyond the %d boards", n)
	}
	for t := 0; t < n && d.Err == nil; t++ {
		p := piecesOf(masks, t)
		if t == 0 {
			d.Men(p[:])
		} else {
			*p = *piecesOf(masks, t-1)
			d.older(p, plain>>(t-1)&1 != 0)
		}
		if repeated>>t&1 != 0 {
			masks[t*encoding.PlanesPerBoard+numPieces] = allOnes
		}
	}
}

// older turns p, a copy of the newer board, into the one before it.
func (d *decoder) older(p *pieces, plain bool) {
	if plain {
		m := int(d.U16())
		from, to, taken := m&63, m>>6&63, m>>12
		moved := pieceAt(p, to)
		if moved == noPiece || pieceAt(p, from) != noPiece || taken >= numPieces && taken != noPiece {
			d.Fail("history move %#04x", m)
			return
		}
		p[moved] ^= 1<<from | 1<<to
		if taken != noPiece {
			p[taken] |= 1 << to
		}
		return
	}
	count := int(d.U8())
	if count > encoding.NumSquares {
		d.Fail("%d squares differ", count)
	}
	for ; count > 0 && d.Err == nil; count-- {
		v := int(d.U16())
		square, piece := v&63, v>>6
		if piece >= numPieces && piece != noPiece {
			d.Fail("piece %d", piece)
			return
		}
		for k := range p {
			p[k] &^= 1 << square
		}
		if piece != noPiece {
			p[piece] |= 1 << square
		}
	}
}
