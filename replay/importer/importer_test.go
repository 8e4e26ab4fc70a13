package importer

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// game is a short PGN game with ratings, the n-th of many different ones.
func game(n, elo int) string {
	return fmt.Sprintf("[Round \"%d\"]\n[WhiteElo \"%d\"]\n[BlackElo \"%d\"]\n\n1. e4 e5 2. Nf3 1-0\n\n", n, elo, elo+50)
}

// run imports texts and returns the report; every error but that of bad games
// ends the test.
func run(t *testing.T, opt Options, texts ...string) *Report {
	t.Helper()
	r, err := tryRun(t, opt, texts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryRun(t *testing.T, opt Options, texts ...string) (*Report, error) {
	t.Helper()
	im, err := Open(t.Context(), opt)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		if err = im.Read(t.Context(), fmt.Sprintf("text%d", i), strings.NewReader(text)); err != nil {
			break
		}
	}
	return im.Report(), errors.Join(err, im.Close())
}

// games reads what is in a directory.
func games(t *testing.T, dir string) []*record.Game {
	t.Helper()
	s, err := replay.ScanDir(t.Context(), fsx.OS, dir)
	if err != nil || len(s.Quarantine) > 0 || s.Duplicates > 0 {
		t.Fatalf("%v %v, %d twice", err, s.Quarantine, s.Duplicates)
	}
	return s.Games
}

// TestImportTwice: the second time adds only what is new, numbers go on, and the
// counts add up.
func TestImportTwice(t *testing.T) {
	opt := Options{Dir: filepath.Join(t.TempDir(), "out"), Targets: plain}
	r := run(t, opt, game(1, 2000)+game(2, 2100)+game(1, 2000), game(2, 2100))
	if r.Read != 4 || r.Imported != 2 || r.Duplicates != 2 || r.Positions != 6 || r.Files != 2 || r.Ends["unknown"] != 2 || r.Err() != nil {
		t.Errorf("%+v", r)
	}
	first := games(t, opt.Dir)
	r = run(t, opt, game(2, 2100)+game(3, 2200))
	if r.Imported != 1 || r.Duplicates != 1 || r.Before != 2 {
		t.Errorf("second import: %+v", r)
	}
	all := games(t, opt.Dir)
	if len(all) != 3 || all[0].ID != first[0].ID || all[1].ID != first[1].ID {
		t.Errorf("%d games", len(all))
	}
	for i, g := range all {
		if g.Ordinal != uint64(i) || g.NetID != NetID {
			t.Errorf("game %d has number %d, net %q", i, g.Ordinal, g.NetID)
		}
	}
}

// TestNothingRemains: an import without a good game leaves nothing, one with games only them.
func TestNothingRemains(t *testing.T) {
	top := t.TempDir()
	here := filepath.Join(top, "here")
	if err := os.Mkdir(here, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(top, "a", "b") + "/", here} {
		for _, opt := range []Options{{Dir: dir}, {Dir: dir, LC0Chunks: true}, {Dir: dir, Strict: true}} {
			opt.Targets = plain
			if r, _ := tryRun(t, opt, "1. e4 e4 1-0\n"); r.BadGames != 1 {
				t.Errorf("%+v: %+v", opt, r)
			}
			within, _ := filepath.Glob(top + "/*/*")
			if there, err := filepath.Glob(top + "/*"); err != nil || len(within) > 0 || len(there) != 1 {
				t.Errorf("%+v left %q %q, %v", opt, there, within, err)
			}
		}
	}
	run(t, Options{Dir: here, Targets: plain}, game(1, 2000))
	if left, err := os.ReadDir(here); err != nil || len(left) != 1 || left[0].Name() != "00000001.games" {
		t.Errorf("beside the games: %v, %v", left, err)
	}
}

// TestFilters: what is left out is counted under its reason.
func TestFilters(t *testing.T) {
	dir := t.TempDir()
	text := game(1, 1500) + game(2, 2500) + "1. e4 1-0\n" + "[WhiteElo \"2600\"]\n\n1. d4 d5 2. c4 1-0\n" + game(3, 2500) + game(4, 2500)
	r := run(t, Options{Dir: filepath.Join(dir, "a"), Targets: plain, MinElo: 2000, MinPlies: 2}, text, "[Event \"none\"]\n\n*\n")
	if r.Read != 7 || r.Imported != 3 || r.ShortOfElo != 2 || r.ShortOfPlies != 2 {
		t.Errorf("%+v", r)
	}
	r = run(t, Options{Dir: filepath.Join(dir, "b"), Targets: plain, MaxGames: 2}, text, text)
	if r.Imported != 2 || r.Read != 2 || len(games(t, filepath.Join(dir, "b"))) != 2 {
		t.Errorf("at most 2: %+v", r)
	}
}

// TestBadGames: they are named with file, number and line, and left out; with
// Strict the first one ends the import, and what came before it stays.
func TestBadGames(t *testing.T) {
	text := game(1, 2000) + "[Event \"b\"]\n\n1. e4 e4 1-0\n\n" + "1. f3 e5 2. g4 Qh4# 1-0\n" + game(2, 2000)
	var named []string
	opt := Options{Dir: filepath.Join(t.TempDir(), "a"), Targets: plain, OnBad: func(b Bad) { named = append(named, b.String()) }}
	r := run(t, opt, text)
	if r.Read != 4 || r.Imported != 2 || r.BadGames != 2 || !errors.Is(r.Err(), ErrBadGames) {
		t.Errorf("%+v, %v", r, r.Err())
	}
	want := []string{"text0:9: game 2: ply 2: SAN move", "text0:11: game 3: the result is 1-0, but the final position is checkmate"}
	if len(named) != 2 || !strings.HasPrefix(named[0], want[0]) || !strings.HasPrefix(named[1], want[1]) {
		t.Errorf("%q", named)
	}
	opt = Options{Dir: filepath.Join(t.TempDir(), "b"), Targets: plain, Strict: true}
	r, err := tryRun(t, opt, text)
	if !errors.Is(err, ErrBadGames) || r.Read != 2 || r.Imported != 1 || len(games(t, opt.Dir)) != 1 {
		t.Errorf("strict: %+v, %v", r, err)
	}
	// A text that breaks off: its whole games are there.
	opt = Options{Dir: filepath.Join(t.TempDir(), "c"), Targets: plain}
	im, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("unplugged")
	err = im.Read(t.Context(), "x", io.MultiReader(strings.NewReader(game(1, 1)+game(2, 1)), iotest.ErrReader(broken)))
	if err != nil || im.Report().Imported != 2 || im.Report().BadFiles != 1 || !errors.Is(im.Report().Err(), ErrBadGames) || !strings.Contains(im.Report().Bad[0].String(), "unplugged") {
		t.Errorf("%v, %+v", err, im.Report())
	}
	if err := im.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestStopAndGoOn: an import that is cancelled keeps what it has, one that is
// killed loses what it has not synced, and the next one completes both.
func TestStopAndGoOn(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		text.WriteString(game(i, 2000))
	}
	opt := Options{Dir: filepath.Join(t.TempDir(), "out"), Targets: plain, LC0Chunks: true}
	im, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := iotest.OneByteReader(strings.NewReader(text.String()))
	n := 0
	im.opt.OnBad = func(Bad) { t.Error("a bad game") }
	err = im.Read(ctx, "x", readerFunc(func(p []byte) (int, error) {
		if n++; n == 1500 {
			cancel()
		}
		return r.Read(p)
	}))
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := im.Close(); err != nil {
		t.Fatal(err)
	}
	have := int64(len(games(t, opt.Dir)))
	if have != im.Report().Imported || have == 40 {
		t.Errorf("%d games, %+v", have, im.Report())
	}
	// A killed one: its lock goes with the process, its games were never synced.
	killed, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Read(t.Context(), "x", strings.NewReader(text.String())); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), opt); err == nil {
		t.Error("two imports into one directory")
	} else if lock := new(fsx.LockedError); !errors.As(err, &lock) {
		t.Error(err)
	}
	if err := killed.lock.Release(); err != nil {
		t.Fatal(err)
	}
	rest := run(t, opt, text.String())
	if rest.Imported != 40-have || rest.Duplicates != have || len(games(t, opt.Dir)) != 40 {
		t.Errorf("%+v", rest)
	}
	checkChunks(t, opt.Dir, 40)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// checkChunks holds Leela's chunks against the games beside them: the move
// played has all of the policy, and the result is the game's.
func checkChunks(t *testing.T, dir string, want int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "lc0", "game_*.gz"))
	if err != nil || len(names) != want {
		t.Fatalf("%d chunks, want %d; %v", len(names), want, err)
	}
	for _, g := range games(t, dir) {
		source, err := lc0.OpenSource(filepath.Join(dir, "lc0", fmt.Sprintf("game_%06d.gz", g.Ordinal)))
		if errors.Is(err, os.ErrNotExist) && want < len(games(t, dir)) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := source.Chunk(0)
		if err != nil {
			t.Fatal(err)
		}
		records, err := lc0.DecodeRecords(raw)
		if err != nil || len(records) != len(g.Plies) {
			t.Fatalf("game %d: %d records, %v", g.Ordinal, len(records), err)
		}
		for i, r := range records {
			if r.Probabilities[r.PlayedIdx] != 1 || r.ResultQ != float32(g.WhiteResult)*float32(1-2*(i%2)) {
				t.Errorf("game %d, record %d: played with %v, result %v", g.Ordinal, i, r.Probabilities[r.PlayedIdx], r.ResultQ)
			}
		}
	}
}

// TestChunks: switched on later, chunks are added for the games that are there;
// games that Leela's records cannot hold are counted.
func TestChunks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	slow := "[FEN \"7k/8/8/8/8/8/6q1/K7 b - - 98 80\"]\n\n80... Kg8 81. Kb1 Kh8 82. Ka1 Kg8 1-0\n"
	run(t, Options{Dir: dir, Targets: plain}, game(1, 1)+game(2, 1))
	left := filepath.Join(dir, "lc0", "game_000002.gz") // by an import that was killed before it stored the game
	if err := errors.Join(os.Mkdir(filepath.Dir(left), 0o777), os.WriteFile(left, []byte("of another game"), 0o666)); err != nil {
		t.Fatal(err)
	}
	r := run(t, Options{Dir: dir, Targets: plain, LC0Chunks: true}, game(1, 1)+game(3, 1)+"1. e4 e5 *\n"+slow)
	if r.Chunks != 3 || r.NoChunk != 2 || r.NoResult != 1 || r.Imported != 3 {
		t.Errorf("%+v", r)
	}
	checkChunks(t, dir, 3)
}

// TestDamagedDirectory: games that cannot be read are no reason to add doubles.
func TestDamagedDirectory(t *testing.T) {
	dir := t.TempDir()
	run(t, Options{Dir: dir, Targets: plain}, game(1, 1)+game(2, 1))
	path := filepath.Join(dir, "00000001.games")
	data := filetest.Read(t, path)
	data[len(data)/2] ^= 1
	filetest.Write(t, path, data)
	_, err := Open(t.Context(), Options{Dir: dir, Targets: plain})
	if corrupt, ok := errors.AsType[*replay.CorruptError](err); !ok || corrupt.Path != path {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), Options{Dir: t.TempDir(), Targets: Targets{Smoothing: 1, DrawRate: math.NaN()}}); err == nil {
		t.Error("a smoothing of 1 was accepted")
	}
}

// TestUnpack: gzip in one and in several streams, bzip2, plain and empty texts;
// zstd is refused with the way round.
func TestUnpack(t *testing.T) {
	pack := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(s))
		w.Close()
		return b.String()
	}
	// "1. e4 *\n" by the bzip2 program.
	const bz = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x58\x47\x6c\xa2\x00\x00\x02\xd9\x00\x00\x10\x40\x11\x24\x00\x02\x00\x20\x00\x22\x1a\x66\xa6\x21\x80\xe2\x40\xf7\x45\xdc\x91\x4e\x14\x24\x16\x11\xdb\x28\x80"
	for name, c := range map[string][2]string{
		"plain": {"1. e4 *\n", "1. e4 *\n"}, "empty": {"", ""}, "short": {"1", "1"},
		"gzip": {pack("1. e4 *\n"), "1. e4 *\n"}, "bzip2": {bz, "1. e4 *\n"}, "two streams": {pack("1. e4 ") + pack("*\n"), "1. e4 *\n"},
	} {
		r, err := Unpack(strings.NewReader(c[0]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil || b.String() != c[1] {
			t.Errorf("%s: %q, %v", name, b.String(), err)
		}
	}
	if _, err := Unpack(strings.NewReader("\x28\xb5\x2f\xfdxxxx")); !errors.Is(err, ErrZstd) {
		t.Errorf("zstd: %v", err)
	}
	dir := t.TempDir()
	if _, err := OpenFile(dir); err == nil {
		t.Error("a directory was opened")
	}
	path := filepath.Join(dir, "a")
	filetest.Write(t, path, pack("1. e4 *"))
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	opt := Options{Dir: filepath.Join(dir, "out"), Targets: plain}
	im, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(im.Read(t.Context(), "a", f), im.Close()); err != nil || im.Report().Imported != 1 {
		t.Errorf("%v, %+v", err, im.Report())
	}
}

// BenchmarkImport measures the way from PGN text to durable games.
func BenchmarkImport(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	n := 400
	for range n {
		text.WriteString(randomPGN(b, rng, 80))
	}
	dir := b.TempDir()
	i := 0
	for b.Loop() {
		i++
		im, err := Open(b.Context(), Options{Dir: filepath.Join(dir, fmt.Sprint(i)), Targets: plain})
		if err == nil {
			err = errors.Join(im.Read(b.Context(), "x", strings.NewReader(text.String())), im.Close())
		}
		if err != nil || im.Report().Imported == 0 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*i)/b.Elapsed().Seconds(), "games/s")
}
