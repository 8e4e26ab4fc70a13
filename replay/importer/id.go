package importer

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/chessbrain/chessbrain/chess/pgn"
)

// idDomain separates the ids of imported games from other hashes.
const idDomain = "chessbrain pgn game 1\x00"

// GameID returns the id of a PGN game: the first 16 bytes of the SHA-256 of
// "chessbrain pgn game 1" and of the start FEN, the result and every tag's name
// and value (sorted by name), each followed by a zero byte, and the moves as
// little-endian 16-bit words (record.Ply.Move). Comments, variations and the way
// the text is set do not count: an annotated copy is the same game. A copy with
// other tags is another one.
func GameID(g *pgn.Game) [16]byte {
	buf := append([]byte(idDomain), g.Start.ShredderFEN()...)
	buf = append(append(append(buf, 0), g.Result...), 0)
	tags := slices.Clone(g.Tags)
	slices.SortStableFunc(tags, func(a, b [2]string) int { return slices.Compare([]byte(a[0]), []byte(b[0])) })
	for _, t := range tags {
		buf = append(append(buf, t[0]...), 0)
		buf = append(append(buf, t[1]...), 0)
	}
	for _, m := range g.Moves {
		buf = binary.LittleEndian.AppendUint16(buf, uint16(m))
	}
	sum := sha256.Sum256(buf)
	return [16]byte(sum[:16])
}

// tagsMagic opens the tags in record.Game.Extra.
const tagsMagic = "PGN1"

// AppendTags appends the tags of a PGN game as the bytes that an imported game
// keeps in record.Game.Extra:
//
//	magic   4   "PGN1"
//	number      varint: tags that follow, in file order
//	tag         name: varint length, bytes | value: varint length, bytes
//
// varint is the unsigned base-128 form. No tags are no bytes at all.
func AppendTags(dst []byte, tags [][2]string) []byte {
	if len(tags) == 0 {
		return dst
	}
	dst = append(dst, tagsMagic...)
	dst = binary.AppendUvarint(dst, uint64(len(tags)))
	for _, t := range tags {
		for _, s := range t {
			dst = binary.AppendUvarint(dst, uint64(len(s)))
			dst = append(dst, s...)
		}
	}
	return dst
}
