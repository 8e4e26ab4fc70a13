package replay

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/record"
)

// sealedFile writes games in blocks of three and returns the path and the bytes.
func sealedFile(t *testing.T, numGames uint64) (string, []byte) {
	t.Helper()
	dir := t.TempDir()
	w := NewWriter(fsx.OS, dir, WriterOptions{NetID: "n"})
	for i, g := range testGames(0, numGames, 12) {
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	path := dir + "/" + entries[0].Name()
	data := filetest.Read(t, path)
	return path, data
}

// Single games are those that ReadChunk reads.
func TestGameIndex(t *testing.T) {
	path, _ := sealedFile(t, 10)
	want, info, err := ReadChunk(fsx.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := OpenGameIndex(fsx.OS, path)
	if err != nil || x.Len() != 10 || info.Games != 10 {
		t.Fatalf("%d games, %v", x.Len(), err)
	}
	for i := x.Len() - 1; i >= 0; i-- {
		g, err := x.Game(i)
		if err != nil || stringOf(t, g) != stringOf(t, want[i]) {
			t.Errorf("game %d: %v", i, err)
		}
	}
}

// stringOf is a game's bytes: equal for equal games, NaNs included.
func stringOf(t *testing.T, g *record.Game) string {
	data, err := record.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Whatever byte is damaged, and wherever the file is cut, it is refused with its
// path; a game that is damaged later is refused when it is read.
func TestGameIndexRefuses(t *testing.T) {
	path, data := sealedFile(t, 4)
	x, err := OpenGameIndex(fsx.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, at int, data []byte) {
		t.Helper()
		filetest.Write(t, path, data)
		_, err := OpenGameIndex(fsx.OS, path)
		corrupt, ok := errors.AsType[*CorruptError](err)
		version, other := errors.AsType[*VersionError](err)
		if !ok && !other || ok && corrupt.Path != path || other && version.Path != path {
			t.Fatalf("%s at byte %d: %v", what, at, err)
		}
	}
	for at := 0; at < len(data); at += 1 + at/50 {
		damaged := bytes.Clone(data)
		damaged[at] ^= 0x41
		check("damaged", at, damaged)
		check("cut", at, data[:at])
	}
	check("longer", len(data), append(bytes.Clone(data), 0))
	damaged := bytes.Clone(data)
	damaged[x.games[2].offset+20] ^= 1
	filetest.Write(t, path, damaged)
	if _, err := x.Game(2); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("damaged game: %v", err)
	}
	if _, err := x.Game(1); err != nil {
		t.Errorf("its neighbour: %v", err)
	}
	filetest.Write(t, path, data[:100])
	if _, err := x.Game(3); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("file cut short: %v", err)
	}
}
