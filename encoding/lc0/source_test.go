package lc0

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
)

// mateChunk is the chunk of the game mate, and its records.
func mateChunk(t testing.TB) (chunk, raw []byte) {
	t.Helper()
	raw = bytesOf(t, mate(t), Form{Version: v6Version})
	return zipped(t, raw), raw
}

// store writes a file and opens it.
func store(t *testing.T, name string, data []byte) *Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	filetest.Write(t, path, data)
	s, err := OpenSource(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// packed is a tar of entries.
func packed(t testing.TB, entries ...*tar.Header) []byte {
	t.Helper()
	chunk, _ := mateChunk(t)
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range entries {
		if h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		data := chunk
		if strings.HasSuffix(h.Name, "LICENSE") || strings.HasSuffix(h.Name, ".txt") {
			data = []byte("text")
		}
		if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeXGlobalHeader {
			data = nil
		}
		h.Size = int64(len(data))
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func names(s *Source) (all []string) {
	for i := range s.Len() {
		all = append(all, s.Name(i))
	}
	return all
}

func TestSourceOfOneChunk(t *testing.T) {
	chunk, raw := mateChunk(t)
	for name, data := range map[string][]byte{"a.gz": chunk, "b": chunk, "bare": raw} {
		s := store(t, name, data)
		got, err := s.Chunk(0)
		if err != nil || s.Len() != 1 || s.Name(0) != name || !bytes.Equal(got, raw) {
			t.Errorf("%s: %d chunks, %d bytes, %v", name, s.Len(), len(got), err)
		}
	}
	a := store(t, "a.gz", chunk)
	if got, err := a.AppendChunk([]byte("kept"), 0); err != nil || string(got[:4]) != "kept" || !bytes.Equal(got[4:], raw) {
		t.Errorf("appended: %d bytes, %v", len(got), err)
	}
}

// Every kind of header that tars of training data come with.
func TestSourceOfTar(t *testing.T) {
	_, raw := mateChunk(t)
	long := strings.Repeat("long/", 60) + "game.gz"
	prefixed := strings.Repeat("d/", 60) + strings.Repeat("n", 60) + ".gz"
	global := func() *tar.Header {
		return &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}, Format: tar.FormatPAX}
	}
	data := packed(t, global(),
		&tar.Header{Name: "run/", Typeflag: tar.TypeDir, Format: tar.FormatUSTAR},
		&tar.Header{Name: "run/1.gz", Typeflag: tar.TypeReg, Format: tar.FormatUSTAR},
		&tar.Header{Name: prefixed, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR},
		global(),
		&tar.Header{Name: "run/LICENSE", Typeflag: tar.TypeReg, Format: tar.FormatUSTAR},
		&tar.Header{Name: long, Typeflag: tar.TypeReg, Format: tar.FormatGNU},
		&tar.Header{Name: "pax-" + long, Typeflag: tar.TypeReg, Format: tar.FormatPAX},
		&tar.Header{Name: "\u00e9.gz", Typeflag: tar.TypeReg, Format: tar.FormatPAX},
		&tar.Header{Name: "big.gz", Typeflag: tar.TypeReg, Format: tar.FormatGNU, Uid: 1 << 30}, // base 256
		&tar.Header{Name: "note.txt", Typeflag: tar.TypeReg, Format: tar.FormatUSTAR},
		&tar.Header{Name: "link.gz", Linkname: "run/1.gz", Typeflag: tar.TypeSymlink, Format: tar.FormatUSTAR},
		&tar.Header{Name: "last.gz", Typeflag: tar.TypeReg, Format: tar.FormatUSTAR},
	)
	s := store(t, "x.tar", data)
	want := []string{"run/1.gz", prefixed, long, "pax-" + long, "\u00e9.gz", "big.gz", "last.gz"}
	if got := names(s); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("members %q, want %q", got, want)
	}
	if bad := s.Bad; len(bad) != 2 || bad[0].Name != "note.txt" || bad[1].Name != "link.gz" || !errors.Is(&bad[0], ErrCorruptRecord) {
		t.Errorf("bad members %v", bad)
	}
	for i := range s.Len() {
		if got, err := s.Chunk(i); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s: %d bytes, %v", s.Name(i), len(got), err)
		}
	}
	var wait sync.WaitGroup
	for i := range 4 * s.Len() {
		wait.Go(func() {
			if got, err := s.Chunk(i % s.Len()); err != nil || !bytes.Equal(got, raw) {
				t.Errorf("at the same time: %d bytes, %v", len(got), err)
			}
		})
	}
	wait.Wait()
}

// rewriteHeader changes the header at an offset and makes its checksum right.
func rewriteHeader(data []byte, at int, change func(b []byte)) {
	b := data[at : at+tarBlock]
	change(b)
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
}

func threeMembers(t testing.TB) []byte {
	return packed(t, &tar.Header{Name: "1.gz", Format: tar.FormatUSTAR}, &tar.Header{Name: "2.gz", Format: tar.FormatUSTAR}, &tar.Header{Name: "3.gz", Format: tar.FormatUSTAR})
}

// mean is a member's name that a terminal would obey, with a line that it makes up.
const mean = "2\x1b[2J\nproblems 0\xff.gz"

// A type of NUL, a size in base 256; then damage, which costs one member.
// A member's name in messages is bounded: 4096 bytes of it, whole characters, are shown.
func TestLongNames(t *testing.T) {
	chunk, _ := mateChunk(t)
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for _, c := range []struct {
		name string
		body []byte
	}{{strings.Repeat("x", 5000) + ".gz", chunk}, {"a" + strings.Repeat("\u00e9", 3000), []byte("no chunk")}, {strings.Repeat("y", 4096), chunk}} {
		if err := w.WriteHeader(&tar.Header{Name: c.name, Mode: 0o600, Size: int64(len(c.body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(c.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := store(t, "x.tar", data.Bytes())
	if got, want := names(s), []string{strings.Repeat("x", 4096) + "...", strings.Repeat("y", 4096)}; !slices.Equal(got, want) {
		t.Errorf("members %q", got)
	}
	if len(s.Bad) != 1 || s.Bad[0].Name != "a"+strings.Repeat("\u00e9", 2047)+"..." {
		t.Errorf("bad members %+v", s.Bad)
	}
}

func TestSourceOfOddTars(t *testing.T) {
	chunk, raw := mateChunk(t)
	step := tarBlock + (len(chunk)+tarBlock-1)/tarBlock*tarBlock
	for name, c := range map[string]struct {
		change func(data []byte) []byte
		want   string // members
		bad    string
	}{
		"type NUL": {func(d []byte) []byte { rewriteHeader(d, step, func(b []byte) { b[156] = 0 }); return d }, "[1.gz 2.gz 3.gz]", "[]"},
		"base 256": {func(d []byte) []byte {
			rewriteHeader(d, step, func(b []byte) {
				b[124] = 0x80
				binary.BigEndian.PutUint64(b[128:], uint64(len(chunk)))
				clear(b[125:128])
			})
			return d
		}, "[1.gz 2.gz 3.gz]", "[]"},
		"spaces before octal": {func(d []byte) []byte {
			rewriteHeader(d, step, func(b []byte) { copy(b[124:136], fmt.Sprintf("%11o ", len(chunk))) })
			return d
		}, "[1.gz 2.gz 3.gz]", "[]"},
		"checksum":       {func(d []byte) []byte { d[step]++; return d }, "[1.gz 3.gz]", "[ at 1024: the checksum of the header differs]"},
		"negative size":  {func(d []byte) []byte { rewriteHeader(d, step, func(b []byte) { b[124] = 0xff }); return d }, "[1.gz 3.gz]", "[2.gz at 1024: its header is damaged: archive/tar: invalid tar header]"},
		"no octal":       {func(d []byte) []byte { rewriteHeader(d, step, func(b []byte) { b[124] = '9' }); return d }, "[1.gz 3.gz]", "[2.gz at 1024: its header is damaged: archive/tar: invalid tar header]"},
		"size too large": {func(d []byte) []byte { rewriteHeader(d, step, func(b []byte) { b[124] = '7' }); return d }, "[1.gz 3.gz]", "[2.gz at 1024: it says"},
		"no chunk":       {func(d []byte) []byte { d[step+tarBlock] = 9; return d }, "[1.gz 3.gz]", "[2.gz at 1024: it is no chunk of training data]"},
		"escapes":        {func(d []byte) []byte { rewriteHeader(d, step, func(b []byte) { copy(b, mean) }); return d }, `[1.gz 2\x1b[2J\nproblems 0\xff.gz 3.gz]`, "[]"},
		"escapes, bad": {func(d []byte) []byte {
			rewriteHeader(d, step, func(b []byte) { copy(b, mean) })
			d[step+tarBlock] = 9
			return d
		}, "[1.gz 3.gz]", `[2\x1b[2J\nproblems 0\xff.gz at 1024: it is no chunk of training data]`},
		"torn header":   {func(d []byte) []byte { return d[:2*step+100] }, "[1.gz 2.gz]", "[ at 2048: the tar ends within a header]"},
		"torn member":   {func(d []byte) []byte { return d[:2*step+tarBlock+40] }, "[1.gz 2.gz]", "[3.gz at 2048: it says"},
		"no end blocks": {func(d []byte) []byte { return d[:3*step] }, "[1.gz 2.gz 3.gz]", "[]"},
		"joined tars":   {func(d []byte) []byte { return append(d, threeMembers(t)...) }, "[1.gz 2.gz 3.gz 1.gz 2.gz 3.gz]", "[]"},
		"empty":         {func(d []byte) []byte { return make([]byte, 1024) }, "[]", "[]"},
	} {
		data := threeMembers(t)
		if step != 1024 {
			t.Fatalf("a member takes %d bytes", step)
		}
		s := store(t, "x.tar", c.change(data))
		var bad []string
		for _, b := range s.Bad {
			bad = append(bad, fmt.Sprintf("%s at %d: %s", b.Name, b.Offset, strings.TrimPrefix(b.Err.Error(), ErrCorruptRecord.Error()+": ")))
		}
		if got := fmt.Sprint(names(s)); got != c.want {
			t.Errorf("%s: members %s, want %s", name, got, c.want)
		}
		if got := fmt.Sprint(bad); !strings.HasPrefix(got, c.bad) || len(bad) > 1 {
			t.Errorf("%s: bad members %s, want %s", name, got, c.bad)
		}
		for i := range s.Len() {
			if got, err := s.Chunk(i); err != nil || !bytes.Equal(got, raw) {
				t.Errorf("%s: chunk %d: %d bytes, %v", name, i, len(got), err)
			}
		}
	}
}

func TestSourceRefuses(t *testing.T) {
	chunk, raw := mateChunk(t)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"empty": nil, "text": []byte("hello, world"), "png": append([]byte("\x89PNG"), make([]byte, 1000)...)} {
		path := filepath.Join(dir, name)
		filetest.Write(t, path, data)
		if _, err := OpenSource(path); !errors.Is(err, ErrNoSource) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenSource(dir); !errors.Is(err, ErrNoSource) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := OpenSource(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for name, data := range map[string][]byte{"torn gzip": chunk[:len(chunk)/2], "torn record": zipped(t, raw[:V6Size+1]), "empty gzip": zipped(t, nil),
		"no records": zipped(t, []byte("hello, world")), "bad sum": append(append([]byte{}, chunk[:len(chunk)-8]...), make([]byte, 8)...),
		"a tar, zipped": zipped(t, threeMembers(t))} {
		got, err := store(t, "x.gz", data).Chunk(0)
		if !errors.Is(err, ErrCorruptRecord) || !strings.Contains(err.Error(), "x.gz") || got != nil {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	bomb := zipped(t, make([]byte, 1<<20))
	if got, err := inflate([]byte("kept"), bomb, 1<<16); !errors.Is(err, ErrCorruptRecord) || string(got) != "kept" || !strings.Contains(err.Error(), "more than 65536 bytes") {
		t.Errorf("a bomb of %d bytes: %d bytes, %v", len(bomb), len(got), err)
	}
	if got, err := inflate(nil, bomb, 1<<20); err != nil || len(got) != 1<<20 {
		t.Errorf("at the limit: %d bytes, %v", len(got), err)
	}
	s := store(t, "x.gz", chunk)
	if err := os.Chtimes(s.Path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Chunk(0); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a file that changed: %v", err)
	}
}

// Leela's tar holds the same chunks as the directory.
func TestSourceOfLeelaTar(t *testing.T) {
	dir := golden.Path(t, "leela")
	s, err := OpenSource(filepath.Join(dir, "games.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 10 || len(s.Bad) != 0 {
		t.Fatalf("%d chunks, bad %v", s.Len(), s.Bad)
	}
	for i := range s.Len() {
		got, err := s.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		if want := unzip(t, filepath.Join(dir, "games", filepath.Base(s.Name(i)))); !bytes.Equal(got, want) {
			t.Errorf("%s differs from the file", s.Name(i))
		}
		if _, back := again(t, got); !bytes.Equal(back, got) {
			t.Errorf("%s: game and back, the bytes differ", s.Name(i))
		}
	}
}

// Whatever a tar's bytes are, its index stays within them.
func FuzzTarIndex(f *testing.F) {
	f.Add(threeMembers(f))
	long := strings.Repeat("long/", 60) + "game.gz"
	f.Add(packed(f, &tar.Header{Name: long, Format: tar.FormatGNU}))
	f.Add(packed(f, &tar.Header{Name: long, Format: tar.FormatPAX}))
	f.Add(packed(f, &tar.Header{Name: "d/", Typeflag: tar.TypeDir}, &tar.Header{Name: "LICENSE"})[:1500])
	f.Fuzz(func(t *testing.T, data []byte) {
		fix(data)
		s := &Source{size: int64(len(data))}
		r := tarReader{file: bytes.NewReader(data), source: s}
		if err := r.scan(); err != nil {
			t.Fatal(err)
		}
		if len(s.chunks)+len(s.Bad) > 2*len(data)/tarBlock+2 {
			t.Fatalf("%d members and %d bad ones in %d bytes", len(s.chunks), len(s.Bad), len(data))
		}
		for _, m := range s.chunks {
			if m.offset < tarBlock || m.size < 0 || m.offset+m.size > int64(len(data)) {
				t.Fatalf("member %q: %d bytes at %d of %d", m.name, m.size, m.offset, len(data))
			}
			if isGzip(data[m.offset:]) {
				if out, err := inflate(nil, data[m.offset:m.offset+m.size], 1<<16); len(out) > 1<<16 || err != nil && !errors.Is(err, ErrCorruptRecord) {
					t.Fatalf("%d bytes, %v", len(out), err)
				}
			}
		}
	})
}

// fix makes the checksums of all blocks right that look like headers, so that
// the fuzzer gets beyond them.
func fix(data []byte) {
	for at := 0; at+tarBlock <= len(data); at += tarBlock {
		if string(data[at+257:at+262]) == "ustar" {
			rewriteHeader(data, at, func([]byte) {})
		}
	}
}
