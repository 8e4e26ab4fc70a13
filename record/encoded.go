package record

import (
	"encoding/binary"
	"math"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Encoded is a game in its bytes, laid open for a [Seeker]: where the moves, the
// ply table and the entries are. It aliases the bytes, which must not change.
// The zero value is a game without plies. Safe for concurrent use.
type Encoded struct {
	start   string // FEN, "" = the normal start
	src     []byte // the whole game, checksum included
	moves   int    // offset of the moves
	entries int    // offset of the plies' entries
	results int    // offset of the results of single plies, 0 = there are none
	plies   int
	end     EndReason
	result  int8
}

// Open lays open the game at the start of src, which has been through [Append]
// or [Decode]: checksum, header and table are checked, the moves are not played.
// Bytes of other origin are to be decoded first. Errors are Decode's.
func Open(src []byte) (Encoded, error) {
	body, size, v, err := frame(src)
	if err != nil {
		return Encoded{}, err
	}
	d := decoder{cursor: cursor{src: src[:size-crcSize], pos: body}}
	var g Game
	e := Encoded{src: src[:size:size], plies: d.header(&g)}
	e.start, e.end, e.result = g.Start, g.End, g.WhiteResult
	e.moves = d.pos
	d.take(2*e.plies, "moves")
	table := d.take(2*e.plies, "ply table")
	e.entries = d.pos
	for i := 0; i < len(table); i += 2 {
		d.take(int(binary.LittleEndian.Uint16(table[i:])), "ply")
	}
	if v == versionResults {
		e.results = d.pos
		d.take(resultBytes*e.plies, "results")
	}
	d.bytes(MaxBytes, "extra")
	if d.err == nil && d.pos != len(d.src) {
		d.fail(d.pos, nil, "%d bytes after the end of the game", len(d.src)-d.pos)
	}
	if d.err != nil {
		return Encoded{}, d.final()
	}
	return e, nil
}

// Bytes returns the game's bytes, which must not be changed.
func (e *Encoded) Bytes() []byte { return e.src }

// Decode returns the game as [Decode] does.
func (e *Encoded) Decode() (*Game, error) {
	g, _, err := Decode(e.src)
	return g, err
}

// move returns the move played at ply.
func (e *Encoded) move(ply int) chess.Move {
	return chess.Move(binary.LittleEndian.Uint16(e.src[e.moves+2*ply:]))
}

// entry returns the bytes of the plies' entries from that of ply on, which is
// the first of them, and its length.
func (e *Encoded) entry(ply int) (rest []byte, n int) {
	table := e.src[e.moves+2*e.plies : e.entries]
	at := e.entries
	for t := table[:2*ply]; len(t) >= 2; t = t[2:] {
		at += int(t[0]) | int(t[1])<<8
	}
	return e.src[at : len(e.src)-crcSize], int(binary.LittleEndian.Uint16(table[2*ply:]))
}

// Plies calls yield with what the game says of each position, in order, without
// its policy: Counts and Probs stay nil. Errors are *CorruptError.
func (e *Encoded) Plies(yield func(ply int, p *Ply) bool) error {
	if e.plies == 0 {
		return nil
	}
	rest, _ := e.entry(0)
	var p Ply
	for i := range e.plies {
		n := e.entrySize(i)
		p = Ply{Move: e.move(i)}
		if _, err := p.readValues(rest[:n]); err != nil {
			return err
		}
		if !yield(i, &p) {
			return nil
		}
		rest = rest[n:]
	}
	return nil
}

// readValues reads an entry up to the policy, whose bytes it returns.
func (p *Ply) readValues(entry []byte) (policy []byte, err error) {
	if len(entry) < minPlyEntry {
		return nil, &CorruptError{Reason: "ply entry is too short", err: ErrTruncated}
	}
	p.Flags = PlyFlags(entry[0])
	visits, n := binary.Uvarint(entry[1:])
	if n <= 0 || visits > math.MaxUint32 || len(entry) < minPlyEntry-1+n {
		return nil, &CorruptError{Offset: 1, Reason: "ply entry: visits are no number"}
	}
	p.Visits = uint32(visits)
	b := entry[1+n:]
	_ = b[4*14]
	p.Weight, p.KLD = float(b, 0), float(b, 1)
	for i, v := range [...]*encoding.QDM{&p.Root, &p.Best, &p.Played, &p.Orig} {
		*v = encoding.QDM{Q: float(b, 2+3*i), D: float(b, 3+3*i), M: float(b, 4+3*i)}
	}
	p.Kind = PolicyKind(b[4*14])
	return b[4*14+1:], nil
}

// float returns the i-th float32 of b.
func float(b []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
}
