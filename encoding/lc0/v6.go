package lc0

import (
	"cmp"

	"github.com/chessbrain/chessbrain/encoding"
)

// Lengths of the training records in bytes.
const (
	V3Size = 8276
	V4Size = 8292
	V5Size = 8308
	V6Size = 8356
	V7Size = 8396
)

// The versions that are known.
const (
	firstVersion = 3
	v5Version    = 5
	v6Version    = 6
	v7Version    = 7
)

// RecordSize returns the length in bytes of a record of a version, 0 if the
// version is not known.
func RecordSize(version uint32) int {
	if version < firstVersion || version > v7Version {
		return 0
	}
	return [...]int{V3Size, V4Size, V5Size, V6Size, V7Size}[version-firstVersion]
}

// Invariance holds the flags of a record, from version 5 on.
type Invariance uint8

// The flags.
const (
	Flip        Invariance = 1 << iota // the three transforms of formats 3 up
	Mirror                             //
	Transpose                          //
	BestProven                         // best_q is of a proven move
	MaxLength                          // the length limit cut the game
	Adjudicated                        // a resignation, a table or the limit ended the game
	Placeholder                        // the record tells only how the game went on: lc0's rescorer reads it and drops it
	BlackToMove                        // formats 3 up
)

// transforms are the bits of Invariance that are an encoding.Transform.
const transforms = Flip | Mirror | Transpose

// Record is one record of Leela's training data, versions 3 to 7: a position of
// a game. All values are from the view of the side to move. What a version does
// not hold is NaN, or encoding.NoPolicyIndex; the fields say from which version
// on they are there.
type Record struct {
	Version       uint32                      // 3 to 7; 0 is written as 6
	InputFormat   uint32                      // 5 up (before: 1). 1 classical, 2 castling as rook files, 3 up canonical
	Probabilities [encoding.NumPolicy]float32 // policy target by index, sum 1; -1 = illegal (0 in some files before version 5)
	Planes        [encoding.NumMasks]uint64   // bit i = square i (the file has the bits of each byte reversed)
	Castling      [4]uint8                    // we O-O-O, we O-O, they O-O-O, they O-O: 0 or 1; 1 << rook file from format 2 on
	SideOrEP      uint8                       // formats 1, 2: 1 = black to move; 3 up: file of en passant as a bit, a = 1
	Rule50        uint8                       // plies since a capture or pawn move
	Invariance    Invariance                  // 5 up; an unused move count before
	Root          encoding.QDM                // 4 up, M 5 up: the search's value of the position
	Best          encoding.QDM                // 4 up, M 5 up: of the best move
	Played        encoding.QDM                // 6 up: of the move played
	Orig          encoding.QDM                // 6 up: the raw network's; NaN = not known
	PliesLeft     float32                     // 5 up: to the end of the game, as the last search saw it
	ResultQ       float32                     // +1 won, 0 drawn, -1 lost; a rescorer may leave means
	ResultD       float32                     // 1 = drawn
	Visits        uint32                      // 6 up: root visits, its own evaluation included; 0 = not known
	PlayedIdx     uint16                      // 6 up: policy index of the move played
	BestIdx       uint16                      // 6 up: policy index of the best move
	PolicyKLD     float32                     // 6 up: KL(visits, raw policy) in nats + 2^-126; 0 = not known
	QST           float32                     // 6 up: short-term value that a rescorer sets; 0 in self-play
	DST           float32                     // 7: short-term draw probability
	OppPlayedIdx  uint16                      // 7: policy index of the opponent's reply; 65535 = there was none
	NextPlayedIdx uint16                      // 7: policy index of our move after that; 65535 = there was none
	Reserved      [8]float32                  // 7: kept as it is
}

// version returns r.Version, 6 where it is not set.
func (r *Record) version() uint32 { return cmp.Or(r.Version, v6Version) }

// canonical says whether the board is turned as formats 3 up have it.
func (r *Record) canonical() bool { return r.InputFormat >= formatCanonical }

// transform is the symmetry under which the record shows its board and moves.
func (r *Record) transform() encoding.Transform {
	if !r.canonical() {
		return 0
	}
	return encoding.Transform(r.Invariance & transforms)
}

// blackToMove says whose turn it is.
func (r *Record) blackToMove() bool {
	if r.canonical() {
		return r.Invariance&BlackToMove != 0
	}
	return r.SideOrEP == 1
}

// reverseInBytes turns masks into Leela's form and back: byte r is rank r, its
// most significant bit the a-file.
func reverseInBytes(m uint64) uint64 {
	const ones, pairs, fours = 0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f
	m = m>>1&ones | m&ones<<1
	m = m>>2&pairs | m&pairs<<2
	return m>>4&fours | m&fours<<4
}
