package syzygy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
)

var (
	ourKing, theirKing = man{0, chess.King}, man{1, chess.King}
	ourQueen           = man{0, chess.Queen}
	ourPawn            = man{0, chess.Pawn}
)

// writtenTables are forms of files that differ in every choice of the format that
// three men allow.
var writtenTables = []written{
	{name: "KQvK", order: []man{ourKing, ourQueen, theirKing}, span: 6},
	{name: "KRvK", order: []man{{0, chess.Rook}, theirKing, ourKing}, span: 9},
	{name: "KBvK", order: []man{theirKing, {0, chess.Bishop}, ourKing}, span: 3}, // one value
	{name: "KNvK", order: []man{theirKing, ourKing, {0, chess.Knight}}, span: 3},
	{name: "KPvK", order: []man{ourPawn, theirKing, ourKing}, span: 4, ranks: [2]byte{1, 15}},
	{name: "KQvK", dtz: true, side: 0, order: []man{ourKing, ourQueen, theirKing}, span: 4},
	{name: "KRvK", dtz: true, side: 1, flags: flagMapped | flagWinPlies | flagLossPlies, order: []man{{0, chess.Rook}, theirKing, ourKing}, span: 9},
	{name: "KBvK", dtz: true, order: []man{theirKing, {0, chess.Bishop}, ourKing}, span: 3},
	{name: "KNvK", dtz: true, order: []man{theirKing, {0, chess.Knight}, ourKing}, span: 3},
	{name: "KPvK", dtz: true, side: 1, flags: flagMapped | flagWide | flagWinPlies, order: []man{ourPawn, ourKing, theirKing}, span: 8, ranks: [2]byte{2, 15}},
}

// writtenBytes are their contents.
var writtenBytes = sync.OnceValue(func() (files [][]byte) {
	for _, w := range writtenTables {
		files = append(files, writeTable(three(), w))
	}
	return files
})

// writeTables writes them to a fresh folder.
func writeTables(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for i, w := range writtenTables {
		writeFile(t, filepath.Join(dir, w.fileName()), writtenBytes()[i])
	}
	return dir
}

func (w written) fileName() string {
	if w.dtz {
		return w.name + ".rtbz"
	}
	return w.name + ".rtbw"
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestWrittenTables reads back files of the tests' own writer: every position of
// every ending, both sides to move.
func TestWrittenTables(t *testing.T) {
	tables, err := Open(writeTables(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range threeMen {
		sweep(t, tables, three(), name)
	}
	if err := tables.Err(); err != nil {
		t.Error(err)
	}
	if b := parse(t, "k7/8/1K6/8/8/8/8/6QR w - - 0 1"); unknown(tables, b) != 3 {
		t.Error("four men are known to tables of three")
	}
	if b := parse(t, "4k3/8/8/8/8/8/8/4K2R w K - 0 1"); unknown(tables, b) != 3 {
		t.Error("a position with castling is known")
	}
	b := parse(t, "4k3/8/8/8/8/8/8/4K2R w - - 1 1")
	if _, ok := tables.Probe(b); ok {
		t.Error("Probe answers with the 50-move counter at 1")
	}
}

// unknown counts the questions that are answered with "unknown".
func unknown(tables *Tables, b *chess.Board) int {
	n := 0
	_, wdl := tables.WDL(b)
	_, dtz := tables.DTZ(b)
	_, root := tables.RankRoot(chess.NewHistory(*b))
	for _, ok := range []bool{wdl, dtz, root} {
		if !ok {
			n++
		}
	}
	return n
}

// TestFirstDirectoryCounts: of two tables of one name the first is used.
func TestFirstDirectoryCounts(t *testing.T) {
	good, bad := writeTables(t), t.TempDir()
	writeFile(t, filepath.Join(bad, "KQvK.rtbw"), []byte("foreign"))
	tables, err := Open(good, bad)
	if err != nil || tables.Err() != nil {
		t.Fatal(err, tables.Err())
	}
	if _, ok := tables.WDL(parse(t, "k7/8/1K6/8/8/8/8/6Q1 w - - 0 1")); !ok {
		t.Error("not found")
	}
}

// TestBrokenFiles: a broken file is named and costs its ending only.
func TestBrokenFiles(t *testing.T) {
	pristine := writtenBytes()[0]
	change := func(at int, b byte) []byte {
		data := append([]byte(nil), pristine...)
		data[at] = b
		return data
	}
	for _, c := range []struct {
		name, file, reason string
		data               []byte
	}{
		{"empty", "KQvK.rtbw", "0 bytes are no table", nil},
		{"foreign", "KQvK.rtbw", "starts with", make([]byte, 80)},
		{"other kind", "KQvK.rtbz", "starts with", pristine},
		{"other ending", "KPvK.rtbw", "another ending", pristine},
		{"other men", "KNvK.rtbw", "men are not those", pristine},
		{"cut", "KQvK.rtbw", "truncated", pristine[:len(pristine)-64]},
		{"cut in the head", "KQvK.rtbw", "get the file again", pristine[:80]},
		{"odd length", "KQvK.rtbw", "bytes are no table", pristine[:len(pristine)-1]},
		{"name", "KQvX.rtbw", "starts with its K", pristine},
		{"code lengths", "KQvK.rtbw", "bits", change(18, 77)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeTables(t)
			writeFile(t, filepath.Join(dir, c.file), c.data)
			tables, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, fen := range []string{"k7/8/1K6/8/8/8/8/6Q1 w - - 0 1", "k7/8/1K6/8/8/8/8/6N1 w - - 0 1", "k7/8/1K6/8/8/6P1/8/8 w - - 0 1"} {
				b := parse(t, fen)
				for range 2 { // the second answer must not name the file again
					tables.WDL(b)
					tables.DTZ(b)
				}
			}
			err = tables.Err()
			var fault *TableError
			if !errors.As(err, &fault) || filepath.Base(fault.Path) != c.file || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("error %v, want %s with %q", err, c.file, c.reason)
			}
			if n := strings.Count(err.Error(), c.file); n != 1 {
				t.Errorf("named %d times: %v", n, err)
			}
			if wdl, ok := tables.WDL(parse(t, "k7/8/1K6/8/8/8/8/7R w - - 0 1")); !ok || wdl != Win {
				t.Error("another table is lost too")
			}
		})
	}
}

// TestNoTables: what is no set of tables is refused at once.
func TestNoTables(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoTables) {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := Open(); !errors.Is(err, ErrNoTables) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent folder: %v", err)
	}
}
