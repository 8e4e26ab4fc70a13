package importer

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
)

func TestTagsGolden(t *testing.T) {
	tags := [][2]string{{"White", "A"}, {"X", ""}}
	got := AppendTags(nil, tags)
	if want := "50474e31" + "02" + "05" + "5768697465" + "01" + "41" + "01" + "58" + "00"; hex.EncodeToString(got) != want {
		t.Errorf("bytes %x, want %s", got, want)
	}
	back, err := DecodeTags(got)
	if err != nil || !reflect.DeepEqual(back, tags) {
		t.Errorf("%v, %v", back, err)
	}
	if AppendTags(nil, nil) != nil {
		t.Error("no tags have bytes")
	}
	if back, err := DecodeTags(nil); back != nil || err != nil {
		t.Errorf("no bytes: %v, %v", back, err)
	}
	for n := 1; n < len(got); n++ { // cut at every byte
		if _, err := DecodeTags(got[:n]); !errors.Is(err, ErrNotTags) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
	for _, bad := range []string{"PGN1\x00", "PGN1\xff\xff\xff\xff\xff\xff\xff\xff\x01", "V6\x00\x00", string(got) + "x"} {
		if _, err := DecodeTags([]byte(bad)); !errors.Is(err, ErrNotTags) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzDecodeTags(f *testing.F) {
	f.Add(AppendTags(nil, [][2]string{{"White", "A"}, {"X", ""}}))
	f.Fuzz(func(t *testing.T, extra []byte) {
		tags, err := DecodeTags(extra)
		if err != nil || tags == nil {
			return
		}
		// Equal but for longer spellings of the counts.
		if again := AppendTags(nil, tags); len(again) == len(extra) && !bytes.Equal(again, extra) {
			t.Fatalf("%x comes back as %x", extra, again)
		}
	})
}
