package record

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the golden file")

const (
	goldenPath   = "testdata/fools-mate.game"
	rescoredPath = "testdata/fools-mate-rescored.game"
)

func mustAppend(t testing.TB, g *Game) []byte {
	t.Helper()
	b, err := Append(nil, g)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	return b
}

// The golden bytes pin the format: they may change only with the version.
func TestGolden(t *testing.T) {
	for path, g := range map[string]*Game{goldenPath: sampleGame(t), rescoredPath: rescoredGame(t)} {
		got := mustAppend(t, g)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("bytes differ from %s:\n%s", path, hex.Dump(got))
		}
		back, n, err := Decode(want)
		if err != nil || n != len(want) || !equalGames(back, g) {
			t.Errorf("Decode(%s) = %+v, %d, %v", path, back, n, err)
		}
	}
}

// docs/FORMATS.md shows the golden file's bytes.
func TestGoldenIsDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "FORMATS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{goldenPath, rescoredPath} {
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(doc), hex.Dump(golden)) {
			t.Errorf("docs/FORMATS.md lacks the hex dump of %s:\n%s", path, hex.Dump(golden))
		}
	}
}

var roundTripStarts = []string{
	"",
	"8/8/8/8/8/4k3/8/3QK3 w - - 0 1",
	"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
	"1n1n3k/P1P5/8/8/8/8/5p1p/K3N1N1 w - - 0 1",
}

func TestRoundTrip(t *testing.T) {
	var stream []byte
	var games []*Game
	for seed := range uint64(40) {
		g := randomGame(t, seed, roundTripStarts[seed%5], 60)
		games = append(games, g)
		var err error
		if stream, err = Append(stream, g); err != nil {
			t.Fatalf("game %d: %v", seed, err)
		}
	}
	for i, want := range games {
		g, n, err := Decode(stream)
		if err != nil {
			t.Fatalf("game %d: %v", i, err)
		}
		if !equalGames(g, want) {
			t.Fatalf("game %d differs after the round trip", i)
		}
		if again := mustAppend(t, g); !bytes.Equal(again, stream[:n]) {
			t.Fatalf("game %d: encode(decode(x)) != x", i)
		}
		stream = stream[n:]
	}
	if len(stream) != 0 {
		t.Errorf("%d bytes are left", len(stream))
	}
}

func TestEmptyGame(t *testing.T) {
	g := &Game{NetID: "x"}
	back, _, err := Decode(mustAppend(t, g))
	if err != nil || !equalGames(g, back) {
		t.Errorf("Decode = %+v, %v", back, err)
	}
}

func TestDecodeHeader(t *testing.T) {
	want := sampleGame(t)
	b := mustAppend(t, want)
	g, plies, size, err := DecodeHeader(append(b, 1, 2, 3))
	if err != nil || plies != len(want.Plies) || size != len(b) {
		t.Fatalf("DecodeHeader = %d plies, %d bytes, %v", plies, size, err)
	}
	want.Plies, want.Extra = nil, nil
	if !equalGames(g, want) {
		t.Errorf("header = %+v, want %+v", g, want)
	}
	b[len(b)-1] ^= 1
	if _, _, _, err := DecodeHeader(b); err == nil {
		t.Error("a wrong checksum is accepted")
	}
}

// The order on disk is by the moves' numbers, however they are generated.
func TestDiskOrder(t *testing.T) {
	var w walker
	for _, start := range roundTripStarts {
		if err := w.begin(&Game{Start: start}); err != nil {
			t.Fatal(err)
		}
		legal := w.generate()
		last := -1
		for _, j := range w.diskOrder() {
			if m := int(legal[j]); m <= last {
				t.Fatalf("%q: %#04x after %#04x", start, m, last)
			} else {
				last = m
			}
		}
	}
}

func TestAppendKeepsDst(t *testing.T) {
	prefix := []byte("prefix")
	b, err := Append(prefix, sampleGame(t))
	if err != nil || !bytes.HasPrefix(b, prefix) {
		t.Fatalf("Append = %x, %v", b[:8], err)
	}
	bad := sampleGame(t)
	bad.End = EndStalemate
	if b, err := Append(prefix, bad); err == nil || !bytes.Equal(b, prefix) {
		t.Errorf("Append of an invalid game = %x, %v", b, err)
	}
	big := sampleGame(t)
	big.Extra = make([]byte, MaxBytes)
	if _, err := Append(nil, big); err == nil || !strings.Contains(err.Error(), "size") {
		t.Errorf("Append of a game above MaxBytes = %v", err)
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	b := mustAppend(t, rescoredGame(t))
	for n := range b {
		g, _, err := Decode(b[:n:n])
		if g != nil || !errors.Is(err, ErrTruncated) {
			t.Fatalf("first %d of %d bytes: %v, want ErrTruncated", n, len(b), err)
		}
	}
}

func TestEveryBitFlipIsDetected(t *testing.T) {
	for _, g := range []*Game{sampleGame(t), rescoredGame(t)} {
		checkBitFlips(t, mustAppend(t, g))
	}
}

func checkBitFlips(t *testing.T, b []byte) {
	t.Helper()
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		g, _, err := Decode(b)
		var corrupt *CorruptError
		if g != nil || !errors.As(err, &corrupt) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i/8, err)
		}
		if v := b[len(magic)]; i/8 == len(magic) && v != version && v != versionResults && !errors.Is(err, ErrVersion) {
			t.Errorf("version flipped: %v, want ErrVersion", err)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

// reseal makes a game's bytes from a body, with a right length and checksum.
func reseal(body []byte) []byte { return resealAs(version, body) }

func resealAs(v byte, body []byte) []byte {
	b := append([]byte(magic), v)
	b = appendBytes(b, string(body))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func bodyOf(t testing.TB, b []byte) []byte {
	t.Helper()
	at, size, _, err := frame(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b[at : size-crcSize])
}

// Bodies with a right checksum that no encoder writes are refused, each for
// its own reason.
func TestDecodeRefuses(t *testing.T) {
	sample := sampleGame(t)
	body := bodyOf(t, mustAppend(t, sample))
	header := len(appendHeader(nil, sample))
	entries := header + 4*len(sample.Plies)
	for _, c := range []struct {
		name, want string
		change     func(b []byte) []byte
	}{
		{"trailing byte", "after the end", func(b []byte) []byte { return append(b, 0) }},
		{"missing byte", "extra", func(b []byte) []byte { return b[:len(b)-1] }},
		{"illegal move", "not legal", func(b []byte) []byte { b[header] ^= 1; return b }},
		{"table", "the table says", func(b []byte) []byte { b[header+8]++; return b }},
		{"ply flag", "unknown bits", func(b []byte) []byte { b[entries] |= 0x80; return b }},
		{"long varint", "shortest", func(b []byte) []byte {
			return append(b[:entries+1:entries+1], append([]byte{b[entries+1] | 0x80, 0}, b[entries+2:]...)...)
		}},
		{"NaN spelling", "NaN", func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[entries+2:], 0x7fc00001)
			return b
		}},
		{"end reason", "end", func(b []byte) []byte { b[header-3] = byte(EndStalemate); return b }},
		{"unknown end reason", "unknown reason", func(b []byte) []byte { b[header-3] = 77; return b }},
		{"result", "result", func(b []byte) []byte { b[header-2] = 1; return b }},
		{"more plies than bytes", "number of plies", func(b []byte) []byte { b[header-1] = 0x7f; return b }},
		{"policy kind", "policy kind", func(b []byte) []byte { b[entries+58] = 9; return b }},
		{"ordinal order", "ordinal", func(b []byte) []byte { b[entries+63] = 0; b[entries+60] = 3; return b }},
		{"too many pairs", "visited moves", func(b []byte) []byte { b[entries+59] = 21; return b }},
	} {
		g, _, err := Decode(reseal(c.change(bytes.Clone(body))))
		if g != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
		if errors.Is(err, ErrTruncated) {
			t.Errorf("%s: claims that more bytes would help: %v", c.name, err)
		}
	}
}

// A length or a number of plies that the bytes do not bear out must not be
// believed before it is checked.
func TestDecodeAllocatesInProportion(t *testing.T) {
	sample := sampleGame(t)
	body := bodyOf(t, mustAppend(t, sample))
	header := len(appendHeader(nil, sample))
	huge := append(body[:header-1:header-1], 0xff, 0xff, 0xff, 0xff, 0x0f)
	for name, b := range map[string][]byte{
		"plies":  reseal(huge),
		"length": append([]byte(magic), version, 0xff, 0xff, 0x3f, 1, 2, 3),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Decode(b)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		// The walker's own scratch and the error are some kilobytes.
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<17 {
			t.Errorf("%s: %d bytes allocated for %d bytes of input", name, got, len(b))
		}
	}
}

// FuzzDecode: no panic, and what is accepted is valid and encodes to the same
// bytes.
func FuzzDecode(f *testing.F) {
	f.Add(mustAppend(f, sampleGame(f)))
	f.Add(mustAppend(f, randomGame(f, 1, roundTripStarts[2], 12)))
	f.Add(mustAppend(f, &Game{}))
	f.Add(mustAppend(f, rescoredGame(f)))
	f.Fuzz(func(t *testing.T, src []byte) {
		checkDecode(t, src)
	})
}

// FuzzDecodeBody gives the body a right frame, which chance would not find.
func FuzzDecodeBody(f *testing.F) {
	f.Add(byte(version), bodyOf(f, mustAppend(f, sampleGame(f))))
	f.Add(byte(version), bodyOf(f, mustAppend(f, randomGame(f, 2, roundTripStarts[4], 12))))
	f.Add(byte(versionResults), bodyOf(f, mustAppend(f, rescoredGame(f))))
	f.Fuzz(func(t *testing.T, v byte, body []byte) {
		if len(body) < MaxBytes-64 {
			checkDecode(t, resealAs(v, body))
		}
	})
}

func checkDecode(t *testing.T, src []byte) {
	g, n, err := Decode(src)
	if err != nil {
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.Offset < 0 || corrupt.Offset > len(src) {
			t.Fatalf("Decode: %v", err)
		}
		return
	}
	if err := g.Validate(); err != nil {
		t.Fatalf("decoded an invalid game: %v", err)
	}
	again, err := Append(nil, g)
	if err != nil || !bytes.Equal(again, src[:n]) {
		t.Fatalf("encode(decode(x)) != x: %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	g := randomGame(b, 3, "", 100)
	var buf []byte
	for b.Loop() {
		buf, _ = Append(buf[:0], g)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(g.Plies)), "ns/ply")
}

func BenchmarkDecode(b *testing.B) {
	g := randomGame(b, 3, "", 100)
	buf := mustAppend(b, g)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Decode(buf); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(g.Plies)), "ns/ply")
}

func BenchmarkDecodeHeader(b *testing.B) {
	buf := mustAppend(b, randomGame(b, 3, "", 100))
	for b.Loop() {
		if _, _, _, err := DecodeHeader(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// Append, Decode and Validate share scratch between calls, not between
// goroutines (run with -race).
func TestConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for worker := range uint64(4) {
		g := randomGame(t, worker, roundTripStarts[worker], 20)
		want := mustAppend(t, g)
		wg.Go(func() {
			for range 30 {
				back, _, err := Decode(want)
				if err != nil {
					t.Error(err)
					return
				}
				if again, err := Append(nil, back); err != nil || !bytes.Equal(again, want) {
					t.Errorf("worker %d: bytes differ: %v", worker, err)
				}
			}
		})
	}
	wg.Wait()
}
