package importer

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// errNotTags says that the bytes of a game's Extra are not tags of PGN.
var errNotTags = errors.New("no PGN tags")

// decodeTags returns the tags that AppendTags wrote, nil of no bytes. Bytes of
// another kind, or damaged ones, are errNotTags.
func decodeTags(extra []byte) ([][2]string, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	if len(extra) < len(tagsMagic) || string(extra[:len(tagsMagic)]) != tagsMagic {
		return nil, fmt.Errorf("%w: they do not begin with %q", errNotTags, tagsMagic)
	}
	rest := extra[len(tagsMagic):]
	number := func() (int, error) {
		v, n := binary.Uvarint(rest)
		if n <= 0 || v > uint64(len(rest)-n) { // no count or length is beyond the bytes that follow it
			return 0, fmt.Errorf("%w: byte %d is not a count that fits", errNotTags, len(extra)-len(rest))
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
		return nil, fmt.Errorf("%w: %d tags and %d bytes after them", errNotTags, count, len(rest))
	}
	return tags, nil
}

func TestTagsGolden(t *testing.T) {
	tags := [][2]string{{"White", "A"}, {"X", ""}}
	got := AppendTags(nil, tags)
	if want := "50474e31" + "02" + "05" + "5768697465" + "01" + "41" + "01" + "58" + "00"; hex.EncodeToString(got) != want {
		t.Errorf("bytes %x, want %s", got, want)
	}
	back, err := decodeTags(got)
	if err != nil || !reflect.DeepEqual(back, tags) {
		t.Errorf("%v, %v", back, err)
	}
	if AppendTags(nil, nil) != nil {
		t.Error("no tags have bytes")
	}
	if back, err := decodeTags(nil); back != nil || err != nil {
		t.Errorf("no bytes: %v, %v", back, err)
	}
	for n := 1; n < len(got); n++ { // cut at every byte
		if _, err := decodeTags(got[:n]); !errors.Is(err, errNotTags) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
	for _, bad := range []string{"PGN1\x00", "PGN1\xff\xff\xff\xff\xff\xff\xff\xff\x01", "V6\x00\x00", string(got) + "x"} {
		if _, err := decodeTags([]byte(bad)); !errors.Is(err, errNotTags) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzDecodeTags(f *testing.F) {
	f.Add(AppendTags(nil, [][2]string{{"White", "A"}, {"X", ""}}))
	f.Fuzz(func(t *testing.T, extra []byte) {
		tags, err := decodeTags(extra)
		if err != nil || tags == nil {
			return
		}
		// Equal but for longer spellings of the counts.
		if again := AppendTags(nil, tags); len(again) == len(extra) && !bytes.Equal(again, extra) {
			t.Fatalf("%x comes back as %x", extra, again)
		}
	})
}
