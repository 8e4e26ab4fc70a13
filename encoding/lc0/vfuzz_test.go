package lc0

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// What decodes, of any version, is appended as the same bytes.
func FuzzReadRecords(f *testing.F) {
	six := bytesOf(f, mate(f), Form{Version: v6Version})
	seven := bytesOf(f, mate(f), Form{Version: 7, InputFormat: 3})
	f.Add(six[:V6Size])
	f.Add(zipped(f, six))
	f.Add(six[:V6Size+9])
	f.Add(seven[:V7Size])
	for version := byte(3); version <= 5; version++ {
		f.Add(downgraded(six, version)[:RecordSize(uint32(version))])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := readChunk(data)
		if err != nil && !errors.Is(err, ErrCorruptRecord) {
			t.Fatalf("an error of another kind: %v", err)
		}
		if isGzip(data) {
			return
		}
		if back := appendAll(records); !bytes.Equal(back, data[:len(back)]) {
			t.Fatal("the bytes differ")
		}
		if other, err2 := DecodeRecords(data); len(other) != len(records) || (err == nil) != (err2 == nil) {
			t.Fatalf("%d records read, %d decoded; %v, %v", len(records), len(other), err, err2)
		}
	})
}

// edited applies edits of five bytes each, record, offset (2), value, how, to a
// chunk.
func edited(raw []byte, size int, edits []byte) []byte {
	raw = bytes.Clone(raw)
	for ; len(edits) >= 5; edits = edits[5:] {
		at := int(binary.LittleEndian.Uint16(edits[1:])) % size
		if edits[4]&1 == 0 {
			at = 7440 + at%(size-7440) // not a probability
		}
		at += int(edits[0]) % (len(raw) / size) * size
		if raw[at] = edits[3]; edits[4]&2 != 0 {
			raw[at] ^= 1 << (edits[4] >> 5)
		}
	}
	return raw
}

// A game made of any records is valid and gives their bytes again; a GameReader
// says the same of them.
func FuzzGame(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte{0, 0, 0, 0, 0})
	f.Add(uint8(1), uint8(1), []byte{0, 0x46, 0x03, 1, 0, 3, 0x3c, 0x03, 1, 0})
	f.Add(uint8(7), uint8(2), []byte{1, 0, 1, 7, 2})
	f.Add(uint8(5), uint8(11), []byte{2, 0x10, 0x20, 8, 2, 0, 0, 0, 0, 3})
	var chunks [][]byte
	var sizes []int
	rng := rand.New(rand.NewPCG(6, 6))
	for _, fen := range starts {
		start := chesstest.Board(f, fen)
		g := line(rng, start, 12, 0)
		if start.Castles960() {
			g.Flags = record.Chess960
		}
		for _, form := range []Form{{InputFormat: 2}, {InputFormat: 3}, {InputFormat: 5, Version: 7}} {
			raw := bytesOf(f, g, form)
			chunks, sizes = append(chunks, raw), append(sizes, RecordSize(max(form.Version, 6)))
		}
	}
	var reader GameReader
	f.Fuzz(func(t *testing.T, which, version uint8, edits []byte) {
		k := int(which) % len(chunks)
		raw := edited(chunks[k], sizes[k], edits)
		if v := 3 + version%4; sizes[k] == V6Size && v < 6 {
			raw = downgraded(raw, v)
		}
		direct, directErr := reader.Game(raw)
		records, err := DecodeRecords(raw)
		if err != nil {
			if !errors.Is(err, ErrCorruptRecord) || directErr == nil || directErr.Error() != err.Error() {
				t.Fatalf("an error of another kind: %v; %v", err, directErr)
			}
			return
		}
		g, err := Game(records)
		if (err == nil) != (directErr == nil) || err == nil && direct.ID != g.ID {
			t.Fatalf("the reader made %v (%v) of it, want %v (%v)", direct, directErr, g, err)
		}
		if err != nil {
			if !errors.Is(err, ErrNoGame) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		stored, err := record.Append(nil, g)
		if err != nil {
			t.Fatalf("the game is not valid: %v", err)
		}
		if g, _, err = record.Decode(stored); err != nil {
			t.Fatal(err)
		}
		back := bytesOf(t, g, Form{})
		if records[0].Version >= 6 && !bytes.Equal(back, raw) && !nanDiffers(raw, records) {
			t.Fatalf("the bytes differ: %v", differences(raw, back))
		}
	})
}

// nanDiffers says whether a value is a NaN of another form than the usual one,
// or the probability of an illegal move -0, which a game does not keep.
func nanDiffers(raw []byte, records []Record) bool {
	for i := range records {
		r := records[i]
		for j, p := range r.Probabilities {
			if p == 0 {
				r.Probabilities[j] = 0
			}
		}
		for _, v := range r.values() {
			if *v != *v {
				*v = encoding.UnknownQDM.Q
			}
		}
		size := RecordSize(r.Version)
		if !bytes.Equal(r.Append(nil), raw[i*size:][:size]) {
			return true
		}
	}
	return false
}

// Any bytes in a game's Extra give an error or records, never a panic.
func FuzzExtra(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 7))
	start := chesstest.Board(f, starts[5])
	g := line(rng, start, 8, 0)
	raw := bytesOf(f, g, Form{InputFormat: 3, Version: 7})
	records, err := DecodeRecords(raw)
	if err != nil {
		f.Fatal(err)
	}
	records[1].PlayedIdx, records[2].BestIdx, records[3].Planes[60] = 5, 4, 77
	imported, err := Game(records[2:])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(imported.Extra)
	f.Add([]byte(extraMagic + "\x01\x06\x03\x00\x00\x01\x00\x06\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parseExtra(data)
		if err != nil {
			return
		}
		if x.version != 0 && len(x.append(nil)) > len(data) {
			t.Fatalf("%d bytes became %d", len(data), len(x.append(nil)))
		}
		for _, game := range []*record.Game{g.Clone(), imported.Clone()} {
			game.Extra = data
			if _, err := AppendRecords(nil, game, Form{}); err != nil && !errors.Is(err, ErrCorruptRecord) {
				t.Fatal(err)
			}
		}
	})
}
