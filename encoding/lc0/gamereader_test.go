package lc0

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/record"
)

// randomPolicy returns the bytes of a policy that need not be one of chess: runs
// of -1, between them any of a few values, bad ones only if wanted.
func randomPolicy(rng *rand.Rand, bad bool) (raw []byte) {
	negativeZero := float32(math.Copysign(0, -1))
	values := []float32{-1, 0, negativeZero, 1, .25, rng.Float32()}
	if bad {
		values = append(values, 1.5, -.5, float32(math.NaN()), float32(math.Inf(1)))
	}
	for run := 0; len(raw) < 4*encoding.NumPolicy; run-- {
		v := float32(-1)
		if run == 0 {
			v = values[rng.IntN(len(values))]
			run = rng.IntN(40) / (1 + rng.IntN(40)) // short ones too
		}
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return raw
}

// The pass that skips over illegal moves finds what looking at each probability
// finds, wherever it stands.
func TestDecodePolicy(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	var r Record
	for round := range 400 {
		raw := randomPolicy(rng, round%3 == 0)
		if round < 80 { // one alone, at both ends
			raw = randomPolicy(rng, false)
			for i := range encoding.NumPolicy {
				binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(-1))
			}
			at := round
			if round >= 40 {
				at = encoding.NumPolicy - 1 - (round - 40)
			}
			binary.LittleEndian.PutUint32(raw[4*at:], math.Float32bits(.5))
		}
		want := policyScan{bad: -1}
		got := r.decodePolicy(raw)
		for i := range encoding.NumPolicy {
			bits := binary.LittleEndian.Uint32(raw[4*i:])
			p := math.Float32frombits(bits)
			if math.Float32bits(r.Probabilities[i]) != bits {
				t.Fatalf("seed %d, round %d: probability %d is %v, want %v", seed, round, i, r.Probabilities[i], p)
			}
			inRange := p >= 0 && p <= 1
			if inRange {
				want.sum += float64(p)
			}
			if !inRange && p != -1 && want.bad < 0 {
				want.bad, want.worst = i, bits
			}
			if p == 0 {
				want.zeros++
			} else if p != -1 {
				want.others++
			}
		}
		if got != want || r.scanPolicy() != want {
			t.Fatalf("seed %d, round %d: %+v decoded, %+v scanned, want %+v", seed, round, got, r.scanPolicy(), want)
		}
	}
}

// Byte r of a plane in a file is rank r, its most significant bit the a-file.
func TestReverseInBytes(t *testing.T) {
	for sq := range 64 {
		if got, want := reverseInBytes(1<<sq), uint64(1)<<(sq&^7|7-sq&7); got != want {
			t.Errorf("square %d: %#x, want %#x", sq, got, want)
		}
	}
	if got := reverseInBytes(0x01_02_04_08_10_20_40_81); got != 0x80_40_20_10_08_04_02_81 {
		t.Errorf("a diagonal: %#x", got)
	}
}

// chunksOfAllForms returns chunks of all versions and formats, of 1 to 24
// records.
func chunksOfAllForms(t testing.TB, rng *rand.Rand) (chunks [][]byte, sizes []int) {
	t.Helper()
	for k, fen := range starts {
		start := chesstest.Board(t, fen)
		g := line(rng, start, 1+rng.IntN(24), 0)
		if len(g.Plies) == 0 {
			continue
		}
		formats := InputFormats()
		if start.Castles960() {
			g.Flags, formats = record.Chess960, formats[1:]
		}
		for _, format := range formats {
			version := 6 + uint32(k&1)
			raw := bytesOf(t, g, Form{InputFormat: format, Version: version})
			chunks, sizes = append(chunks, raw), append(sizes, RecordSize(version))
			if version == v7Version {
				continue
			}
			older := []byte{5}
			if format == formatClassical { // the only one that versions 3 and 4 have
				older = []byte{3, 4, 5}
			}
			for _, v := range older {
				chunks, sizes = append(chunks, downgraded(raw, v)), append(sizes, RecordSize(uint32(v)))
			}
		}
	}
	return chunks, sizes
}

// One GameReader gives for long and short, good and damaged chunks of all forms
// what DecodeRecords and Game give, errors included.
func TestGameReader(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	chunks, sizes := chunksOfAllForms(t, rng)
	var reader GameReader
	good, bad, longest := 0, 0, 0
	for round := range 200 {
		k := rng.IntN(len(chunks))
		raw, cut := chunks[k], 0
		if round%3 > 0 {
			edits := make([]byte, 5)
			for i := range edits {
				edits[i] = byte(rng.Uint32())
			}
			raw = edited(raw, sizes[k], edits)
		}
		if round%20 == 0 {
			cut = rng.IntN(len(raw))
		}
		raw = raw[:len(raw)-cut]
		longest = max(longest, len(raw)/sizes[k])
		var want *record.Game
		records, wrong := DecodeRecords(raw)
		if wrong == nil {
			want, wrong = Game(records)
		}
		got, err := reader.Game(raw)
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("seed %d, round %d: error %v, want %v", seed, round, err, wrong)
		}
		if err != nil {
			bad++
			continue
		}
		good++
		a, err := record.Append(nil, got)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := record.Append(nil, want); err != nil || string(a) != string(b) {
			t.Fatalf("seed %d, round %d: the games differ (%v)", seed, round, err)
		}
	}
	if good < 40 || bad < 20 || reader.Room() < longest {
		t.Errorf("seed %d: %d games, %d errors, room for %d of %d records", seed, good, bad, reader.Room(), longest)
	}
	if _, err := reader.Game(nil); err == nil {
		t.Error("no records: no error")
	}
}

// A game does not share memory with the reader that made it, nor do records with
// what they were decoded from.
func TestGameReaderKeepsNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	chunks, _ := chunksOfAllForms(t, rng)
	var reader GameReader
	for k := range chunks {
		raw := append([]byte(nil), chunks[k]...)
		g, err := reader.Game(raw)
		if err != nil {
			t.Fatal(err)
		}
		before, err := record.Append(nil, g)
		if err != nil {
			t.Fatal(err)
		}
		records, err := DecodeRecords(raw)
		if err != nil {
			t.Fatal(err)
		}
		clear(raw)
		if back := appendAll(records); string(back) != string(chunks[k]) {
			t.Fatalf("chunk %d: the bytes differ", k)
		}
		if _, err := reader.Game(chunks[(k+1)%len(chunks)]); err != nil {
			t.Fatal(err)
		}
		if after, err := record.Append(nil, g); err != nil || string(after) != string(before) {
			t.Fatalf("chunk %d: its game changed with the reader's next (%v)", k, err)
		}
	}
}
