package selfplay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/record"
)

// An unfinished game in bytes, little-endian:
//
//	+------+---------+----------+-------------------+---------------+--------+
//	| CBUG | version | length n | gameState, packed | record.Append | CRC-32C|
//	| 4    | u8      | u32      | stateSize         | n - stateSize | u32    |
//	+------+---------+----------+-------------------+---------------+--------+
//
// The sum covers all that stands before it. It is not for other versions of the
// program: a game that cannot be read is begun anew from its seed.
const (
	unfinishedMagic   = "CBUG"
	unfinishedVersion = 1
	unfinishedHead    = len(unfinishedMagic) + 1 + 4
	crcSize           = 4
)

var (
	stateSize  = binary.Size(gameState{})
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// MarshalBinary returns the game's bytes.
func (u Unfinished) MarshalBinary() ([]byte, error) {
	if u.rec == nil {
		return nil, fmt.Errorf("encode unfinished game: %w: it is empty", ErrUnfinished)
	}
	out := append([]byte(unfinishedMagic), unfinishedVersion, 0, 0, 0, 0)
	out, err := binary.Append(out, binary.LittleEndian, &u.state)
	if err == nil {
		out, err = record.Append(out, u.rec)
	}
	if err != nil {
		return nil, fmt.Errorf("encode unfinished game %d: %w", u.rec.Ordinal, err)
	}
	binary.LittleEndian.PutUint32(out[len(unfinishedMagic)+1:], uint32(len(out)-unfinishedHead))
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli)), nil
}

// UnmarshalBinary sets u to the one game that src is. All moves are legal, the counters
// are possible, and a game that is not marked finished is not over. It keeps no
// reference to src. Errors wrap ErrUnfinished.
func (u *Unfinished) UnmarshalBinary(src []byte) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrUnfinished, fmt.Sprintf(format, args...))
	}
	if len(src) < unfinishedHead || string(src[:len(unfinishedMagic)]) != unfinishedMagic {
		return fail("it does not begin like one")
	}
	if v := src[len(unfinishedMagic)]; v != unfinishedVersion {
		return fail("version %d, this program reads %d", v, unfinishedVersion)
	}
	size, end := int64(binary.LittleEndian.Uint32(src[len(unfinishedMagic)+1:])), len(src)-crcSize
	if size < int64(stateSize) || size != int64(end-unfinishedHead) {
		return fail("%d bytes, %d are there", size, len(src)-unfinishedHead)
	}
	if got, want := crc32.Checksum(src[:end], castagnoli), binary.LittleEndian.Uint32(src[end:]); got != want {
		return fail("checksum is %#08x, the bytes have %#08x", want, got)
	}
	body := src[unfinishedHead:end]
	var read Unfinished
	if _, err := binary.Decode(body, binary.LittleEndian, &read.state); err != nil {
		return fail("%v", err)
	}
	rec, used, err := record.Decode(body[stateSize:])
	if err != nil {
		return fail("%v", err)
	}
	if used != len(body)-stateSize {
		return fail("%d bytes after the record", len(body)-stateSize-used)
	}
	read.rec = rec
	if err := read.validate(); err != nil {
		return fail("game %d: %v", rec.Ordinal, err)
	}
	if again, err := read.MarshalBinary(); err != nil || !bytes.Equal(again, src) {
		return fail("game %d is not in its only form", rec.Ordinal)
	}
	*u = read
	return nil
}

// validate says what is wrong with u, whose record is valid.
func (u *Unfinished) validate() error {
	s := &u.state
	for i := range s.Streams {
		var p rand.PCG
		if err := p.UnmarshalBinary(s.Streams[i][:]); err != nil {
			return fmt.Errorf("random stream %d: %w", i+1, err)
		}
	}
	if s.Resigner < -1 || s.Resigner > 1 {
		return fmt.Errorf("colour %d resigned", s.Resigner)
	}
	r := &s.Resign
	if !(r.Q >= -1 && r.Q <= 0 && r.PlayThrough >= 0 && r.PlayThrough <= 1) {
		return fmt.Errorf("resign rule with q %v and play-through %v", r.Q, r.PlayThrough)
	}
	if u.Finished() {
		return nil
	}
	start, err := u.rec.StartBoard()
	if err != nil {
		return err
	}
	h := chess.NewHistory(start)
	lineOf(h, u.rec)
	if over := gameOver(h); over != chess.NotOver {
		return fmt.Errorf("nothing is left to play: %s", over)
	}
	return nil
}
