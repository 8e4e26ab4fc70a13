package importer

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// tagsMagic opens the tags in record.Game.Extra.
const tagsMagic = "PGN1"

// ErrNotTags says that the bytes of a game's Extra are not tags of PGN.
var ErrNotTags = errors.New("no PGN tags")

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

// DecodeTags returns the tags that AppendTags wrote, nil of no bytes. Bytes of
// another kind, or damaged ones, are ErrNotTags.
func DecodeTags(extra []byte) ([][2]string, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	if len(extra) < len(tagsMagic) || string(extra[:len(tagsMagic)]) != tagsMagic {
		return nil, fmt.Errorf("%w: they do not begin with %q", ErrNotTags, tagsMagic)
	}
	rest := extra[len(tagsMagic):]
	number := func() (int, error) {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > uint64(len(rest)-n) { // no count or length is beyond the bytes that follow it
			return 0, fmt.Errorf("%w: byte %d is not a count that fits", ErrNotTags, len(extra)-len(rest))
		}
		rest = rest[n:]
		return int(v), nil
	}
	count, err := number()
	if err != nil {
		return nil, err
	}
	var tags [][2]string
	for range count {
		var t [2]string
		for i := range t {
			n, err := number()
			if err != nil {
				return nil, err
			}
			t[i], rest = string(rest[:n]), rest[n:]
		}
		tags = append(tags, t)
	}
	if count == 0 || len(rest) > 0 {
		return nil, fmt.Errorf("%w: %d tags and %d bytes after them", ErrNotTags, count, len(rest))
	}
	return tags, nil
}
