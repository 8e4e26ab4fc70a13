package replay

import (
	"errors"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/record"
)

func TestChunkRoundTrip(t *testing.T) {
	games := testGames(0, 6, 12)
	data := writeChunk(t, games[:1], games[1:4], games[4:])
	got, info, err := DecodeChunk("x", data)
	if err != nil {
		t.Fatal(err)
	}
	if err := sameGames(got, games); err != nil {
		t.Error(err)
	}
	if info.Torn || info.Lost != 0 || info.Damage != nil || info.Blocks != 3 || info.Games != 6 || info.Positions != 72 ||
		info.NetID != "net-1" || info.RunID != "run-1" || info.Bytes != int64(len(data)) {
		t.Errorf("info %+v", info)
	}
}

// blockEnds returns the offsets after the header and after each block.
func blockEnds(t *testing.T, data []byte) []int {
	t.Helper()
	h, _, reason := parseHeader(data)
	if reason != "" {
		t.Fatal(reason)
	}
	ends := []int{h.size}
	for {
		b, ok := parseBlockHeader(data[ends[len(ends)-1]:], int64(ends[len(ends)-1]))
		if !ok {
			return ends
		}
		ends = append(ends, ends[len(ends)-1]+blockHeaderSize+b.payload)
	}
}

// TestChunkTruncation cuts a chunk at every byte: exactly the whole blocks
// survive, and the loss is reported to the byte.
func TestChunkTruncation(t *testing.T) {
	games := testGames(0, 4, 3)
	data := writeChunk(t, games[:1], games[1:2], games[2:])
	ends := blockEnds(t, data)
	perBlock := []int{0, 1, 2, 4}
	for cut := range len(data) {
		got, info, err := DecodeChunk("x", data[:cut])
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		blocks, whole := 0, 0
		for i, end := range ends {
			if end <= cut {
				blocks, whole = i, end
			}
		}
		if info.Blocks != blocks || len(got) != perBlock[blocks] || !info.Torn || info.Lost != int64(cut-whole) || info.Damage != nil {
			t.Fatalf("cut at %d: %d games, info %+v; want %d blocks and %d bytes lost", cut, len(got), info, blocks, cut-whole)
		}
		if err := sameGames(got, games[:len(got)]); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// TestChunkBitFlips flips every bit of a chunk in turn: it is always noticed,
// costs at most the block that it hits, and never changes a game.
func TestChunkBitFlips(t *testing.T) {
	games := testGames(0, 3, 2)
	data := writeChunk(t, games[:1], games[1:2], games[2:])
	ends := blockEnds(t, data)
	for bit := range 8 * len(data) {
		at := bit / 8
		data[at] ^= 1 << (bit % 8)
		got, info, err := DecodeChunk("x", data)
		data[at] ^= 1 << (bit % 8)
		if err != nil {
			t.Fatalf("bit %d: %v", bit, err)
		}
		if !info.Torn && info.Damage == nil {
			t.Fatalf("bit %d of byte %d flipped unnoticed", bit%8, at)
		}
		want := append([]*record.Game(nil), games...)
		for i := range games {
			if at >= ends[i] && at < ends[i+1] {
				want = append(want[:i:i], want[i+1:]...)
				if i < 2 && (len(info.Damage) != 1 || info.Damage[0].Offset != int64(ends[i]) || info.Damage[0].Length != int64(ends[i+1]-ends[i])) {
					t.Fatalf("bit %d: damage %v, want block %d..%d", bit, info.Damage, ends[i], ends[i+1])
				}
			}
		}
		if err := sameGames(got, want); err != nil {
			t.Fatalf("bit %d (byte %d): %v", bit, at, err)
		}
	}
}

// TestChunkDamage has the cases that single flips do not.
func TestChunkDamage(t *testing.T) {
	games := testGames(0, 3, 4)
	data := writeChunk(t, games[:1], games[1:2], games[2:])
	ends := blockEnds(t, data)
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	second := data[ends[1]:ends[2]]
	other := games[1].Clone()
	other.Ordinal = 7 // a valid game of the same length
	foreign, err := record.Append(append([]byte(nil), second[:blockHeaderSize]...), other)
	if err != nil || len(foreign) != len(second) {
		t.Fatal(len(foreign), err)
	}
	for name, c := range map[string]struct {
		data   []byte
		want   []uint64
		damage int
		torn   bool
	}{
		"a block twice":              {join(data[:ends[2]], second, data[ends[2]:]), []uint64{0, 1}, 0, true},
		"a block missing":            {join(data[:ends[1]], data[ends[2]:]), []uint64{0}, 0, true},
		"zeros for a block":          {join(data[:ends[1]], make([]byte, len(second)), data[ends[2]:]), []uint64{0, 2}, 1, false},
		"another game in a block":    {join(data[:ends[1]], foreign, data[ends[2]:]), []uint64{0, 2}, 1, false},
		"no header":                  {join(make([]byte, ends[0]), data[ends[0]:]), []uint64{0, 1, 2}, 1, false},
		"bytes after the footer":     {join(data, []byte("more")), []uint64{0, 1, 2}, 1, false},
		"the last block cut, footer": {join(data[:ends[3]-5], data[ends[3]:]), []uint64{0, 1}, 0, true},
		"text":                       {[]byte("this is no chunk at all, but it is long enough"), nil, 1, true},
		"empty":                      {nil, nil, 0, true},
	} {
		got, info, err := DecodeChunk("x", c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if g := ordinals(got); len(g) != len(c.want) || sameGames(got, pick(games, c.want)) != nil {
			t.Errorf("%s: games %v, want %v", name, g, c.want)
		}
		if len(info.Damage) != c.damage || info.Torn != c.torn {
			t.Errorf("%s: info %+v, want %d damages, torn = %v", name, info, c.damage, c.torn)
		}
	}
}

// TestChunkFooter: a block that was exchanged for another whole one, and counts
// that are not those of the blocks, show in the footer.
func TestChunkFooter(t *testing.T) {
	games := testGames(0, 2, 4)
	data := writeChunk(t, games)
	end := len(data) - footerSize
	f, ok := parseFooter(data[end:], int64(end))
	if !ok {
		t.Fatal("no footer")
	}
	other := games[1].Clone()
	other.Ordinal = 7
	exchanged := writeChunk(t, []*record.Game{games[0], other})
	copy(exchanged[end:], data[end:])
	miscounted := f
	miscounted.games = 5
	for name, c := range map[string]struct {
		data   []byte
		reason string
	}{
		"exchanged":  {exchanged, "the file's hash differs"},
		"miscounted": {appendFooter(append([]byte(nil), data[:end]...), int64(end), miscounted), "the footer counts 1 blocks, 5 games"},
	} {
		got, info, err := DecodeChunk("x", c.data)
		if err != nil || len(got) != 2 || info.Torn || len(info.Damage) != 1 || !strings.HasPrefix(info.Damage[0].Reason, c.reason) {
			t.Errorf("%s: %d games, info %+v, %v; want one damage: %s", name, len(got), info, err, c.reason)
		}
	}
}

func pick(games []*record.Game, which []uint64) (out []*record.Game) {
	for _, i := range which {
		out = append(out, games[i])
	}
	return out
}

// TestChunkOfChunk: blocks of another chunk inside a game's text are no blocks.
func TestChunkOfChunk(t *testing.T) {
	inner := writeChunk(t, testGames(50, 52, 4))
	outer := testGame(1, 4)
	outer.Extra = inner
	data := writeChunk(t, []*record.Game{outer}, testGames(2, 3, 4))
	ends := blockEnds(t, data)
	data[ends[0]+5] ^= 1 // the length in the first block's header
	got, info, err := DecodeChunk("x", data)
	if err != nil || len(got) != 1 || got[0].Ordinal != 2 || len(info.Damage) != 1 {
		t.Errorf("games %v, damage %v, %v; want only game 2", ordinals(got), info.Damage, err)
	}
}

func TestChunkVersion(t *testing.T) {
	data := writeChunk(t, testGames(0, 1, 2))
	h, _, _ := parseHeader(data)
	le.PutUint32(data[8:], 2)
	le.PutUint32(data[h.size-4:], crc(data[:h.size-4]))
	var version *VersionError
	if _, _, err := DecodeChunk("x", data); !errors.As(err, &version) || version.Version != 2 {
		t.Errorf("version 2: %v", err)
	}
}

// FuzzDecodeChunk: no input makes the reader panic, or find games that do not
// stand in whole blocks; what it reports adds up.
func FuzzDecodeChunk(f *testing.F) {
	games := testGames(0, 3, 3)
	data := writeChunk(f, games[:1], games[1:])
	f.Add(data)
	f.Add(data[:len(data)-10])
	f.Add(append(append([]byte(nil), data[:60]...), data...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, info, err := DecodeChunk("x", data)
		if err != nil {
			return
		}
		if len(got) != info.Games || info.Lost < 0 || info.Lost > int64(len(data)) {
			t.Fatalf("%d games, info %+v", len(got), info)
		}
		again, _, err := DecodeChunk("x", data)
		if err != nil || sameGames(again, got) != nil {
			t.Fatal("the same bytes gave other games")
		}
	})
}

// FuzzBlockPayload puts any bytes into a block whose sums are right: they are
// games or the block is reported, and the block behind it is read.
func FuzzBlockPayload(f *testing.F) {
	games := testGames(0, 2, 3)
	two, err := record.Append(nil, games[0])
	if err != nil {
		f.Fatal(err)
	}
	if two, err = record.Append(two, games[1]); err != nil {
		f.Fatal(err)
	}
	last := writeChunk(f, testGames(9, 10, 2))
	f.Add(two, 2, 6)
	f.Add(two[:len(two)-1], 2, 6)
	f.Add([]byte("no game"), 1, 1)
	f.Add([]byte{}, 0, 0)
	f.Fuzz(func(t *testing.T, payload []byte, numGames, numPlies int) {
		data, err := appendHeader(nil, "n", "r")
		if err != nil {
			t.Fatal(err)
		}
		first := append(make([]byte, blockHeaderSize), payload...)
		putBlockHeader(first, int64(len(data)), numGames, numPlies)
		data = append(data, first...)
		h, _, _ := parseHeader(last)
		b, _ := parseBlockHeader(last[h.size:], int64(h.size))
		second := append([]byte(nil), last[h.size:h.size+blockHeaderSize+b.payload]...)
		putBlockHeader(second, int64(len(data)), 1, 2)
		got, info, err := DecodeChunk("x", append(data, second...))
		if err != nil || len(got) == 0 || got[len(got)-1].Ordinal != 9 || info.Lost != 0 {
			t.Fatalf("the second block is lost: %+v, %v", info, err)
		}
		if (len(info.Damage) == 0) != (info.Blocks == 2) || len(info.Damage) == 0 && len(got) != 1+numGames {
			t.Fatalf("%d games, %d declared, info %+v", len(got), numGames, info)
		}
	})
}
