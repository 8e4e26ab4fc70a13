package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/record"
)

func mkdir(t testing.TB, m fsx.FS, dir string) {
	t.Helper()
	if err := fsx.MkdirAll(m, dir); err != nil {
		t.Fatal(err)
	}
}

func TestScanDir(t *testing.T) {
	m := memfs.New()
	for _, dir := range []string{"run/net1/a", "run/net2/b", "run/.hidden"} {
		mkdir(t, m, dir)
	}
	g := testGames(0, 9, 4)
	sealed := writeChunk(t, g[4:6], g[6:7])
	torn := writeChunk(t, g[1:2], g[6:8])
	torn = torn[:len(torn)-footerSize-1] // the second block is cut off
	broken := writeChunk(t, g[2:3], g[3:4])
	broken[blockEnds(t, broken)[1]-1] ^= 4 // in game 2
	newer := writeChunk(t, g[8:9])
	h, _, _ := parseHeader(newer)
	le.PutUint32(newer[8:], 7)
	le.PutUint32(newer[h.size-4:], crc(newer[:h.size-4]))
	for path, data := range map[string][]byte{
		"run/net1/a/00000001.games":     sealed,
		"run/net1/a/00000002.games.tmp": torn,
		"run/net2/b/00000001.games":     broken,
		"run/net2/b/00000002.games":     sealed, // a copy: every game a second time
		"run/net2/b/00000003.games":     newer,
		"run/net2/b/notes.txt":          []byte("no chunk"),
		"run/net2/b/.x.games":           newer,
		"run/.hidden/00000001.games":    newer,
	} {
		putFile(t, m, path, data)
	}
	scan, err := ScanDir(context.Background(), m, "run")
	if err != nil {
		t.Fatal(err)
	}
	if err := sameGames(scan.Games, pick(g, []uint64{1, 3, 4, 5, 6})); err != nil {
		t.Error(err)
	}
	if scan.Duplicates != 3 || len(scan.Chunks) != 4 || scan.Positions != 20 {
		t.Errorf("%d duplicates, %d chunks, %d positions; want 3, 4, 20", scan.Duplicates, len(scan.Chunks), scan.Positions)
	}
	var corrupt *CorruptError
	var version *VersionError
	if err := errors.Join(scan.Quarantine...); len(scan.Quarantine) != 2 || !errors.As(err, &corrupt) || !errors.As(err, &version) ||
		corrupt.Path != "run/net2/b/00000001.games" {
		t.Errorf("quarantine %v", scan.Quarantine)
	}

	// A sealed file that was cut between two blocks is named, not only missed by number.
	cut := memfs.New()
	mkdir(t, cut, "cut")
	putFile(t, cut, "cut/1.games", sealed[:blockEnds(t, sealed)[1]])
	scan, err = ScanDir(context.Background(), cut, "cut")
	if err != nil || len(scan.Games) != 2 || len(scan.Quarantine) != 1 || !errors.As(scan.Quarantine[0], &corrupt) || corrupt.Path != "cut/1.games" {
		t.Errorf("a sealed chunk that was cut: %+v, %v", scan, err)
	}
	if empty, err := ScanDir(context.Background(), m, "nowhere"); err != nil || empty.NumGames != 0 {
		t.Errorf("a directory that is not there: %v, %v", empty, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ScanDir(ctx, m, "run"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSealTorn(t *testing.T) {
	m := memfs.New()
	mkdir(t, m, "run")
	g := testGames(0, 3, 4)
	data := writeChunk(t, g[:1], g[1:2], g[2:])
	ends := blockEnds(t, data)
	putFile(t, m, "run/1.games.tmp", data[:ends[2]+7])
	putFile(t, m, "run/2.games.tmp", data[:ends[0]])   // header only
	putFile(t, m, "run/3.games.tmp", data[:ends[0]+9]) // not one whole block
	for i, cut := range []int{5, ends[0], ends[0] + 9, ends[1] - 1} {
		putFile(t, m, fmt.Sprint("run/3", i, ".games.tmp"), append(bytes.Clone(data[:cut]), make([]byte, 700)...)) // after a power cut
	}
	damaged := bytes.Clone(data[:ends[1]])
	damaged[ends[1]-2] ^= 1
	putFile(t, m, "run/39.games.tmp", damaged)
	putFile(t, m, "run/4.games.tmp", data) // killed before the rename
	infos, err := SealTorn(context.Background(), m, "run", true)
	if err != nil || len(infos) != 9 || infos[0].Lost != 7 || infos[0].Games != 2 || infos[8].Torn {
		t.Errorf("infos %+v, %v", infos, err)
	}
	var names []string
	entries, _ := m.ReadDir("run")
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"1.games", "39.torn", "4.games"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	if again, _ := fsx.ReadFile(m, "run/4.games"); string(again) != string(data) {
		t.Error("a whole chunk was changed")
	}
	if scan, _ := ScanDir(context.Background(), m, "run"); sameGames(scan.Games, g) != nil || scan.Quarantine != nil || scan.Chunks[0].Torn {
		t.Errorf("after sealing: %+v", scan)
	}
}

// TestSealTornBeside: chunks of directories below are others', unless the caller has all.
func TestSealTornBeside(t *testing.T) {
	m := memfs.New()
	mkdir(t, m, "run/net/p1")
	putFile(t, m, "run/net/p1/1.games.tmp", writeChunk(t, testGames(0, 3, 4)))
	for _, below := range []bool{false, true} {
		if infos, err := SealTorn(t.Context(), m, "run", below); err != nil || len(infos) == 1 != below {
			t.Errorf("below %v: %+v, %v", below, infos, err)
		}
	}
}

// TestDirSource follows a chunk byte by byte while another process writes it,
// through its sealing: every game once, as soon as its block is whole.
func TestDirSource(t *testing.T) {
	ctx := context.Background()
	m := memfs.New()
	d := NewDirSource(m, "run")
	if found, err := d.Poll(ctx); err != nil || len(found.Games) != 0 {
		t.Errorf("before the directory is there: %+v, %v", found, err)
	}
	mkdir(t, m, "run/p")
	g := testGames(0, 4, 3)
	data := writeChunk(t, g[:1], g[1:3], g[3:])
	ends := blockEnds(t, data)
	var got []*record.Game
	poll := func(at int) {
		found, err := d.Poll(ctx)
		if err != nil || found.Problems != nil || found.Duplicates != 0 {
			t.Fatalf("at byte %d: %+v, %v", at, found, err)
		}
		got = append(got, found.Games...)
	}
	perBlock := []int{0, 1, 3, 4}
	for n := 0; n <= len(data); n++ {
		putFile(t, m, "run/p/1.games.tmp", data[:n])
		poll(n)
		want := 0
		for i, end := range ends {
			if n >= end {
				want = perBlock[i]
			}
		}
		if len(got) != want {
			t.Fatalf("at byte %d: %d games, want %d", n, len(got), want)
		}
	}
	if err := m.Rename("run/p/1.games.tmp", "run/p/1.games"); err != nil {
		t.Fatal(err)
	}
	poll(len(data))
	if err := sameGames(got, g); err != nil {
		t.Error(err)
	}

	// Another one reads everything again and leaves out what is marked.
	d = NewDirSource(m, "run")
	for _, game := range g[1:] {
		d.MarkSeen(game.ID)
	}
	if found, err := d.Poll(ctx); err != nil || len(found.Games) != 1 || found.Duplicates != 3 {
		t.Errorf("after a restart: %+v, %v", found, err)
	}
}

// TestDirSourceDamage: damage is reported once and costs its block only; a
// chunk rewritten in place counts no game twice; a new one of the same name
// does count.
func TestDirSourceDamage(t *testing.T) {
	ctx := context.Background()
	m := memfs.New()
	mkdir(t, m, "run")
	g := testGames(0, 6, 3)
	data := writeChunk(t, g[:1], g[1:2], g[2:3])
	ends := blockEnds(t, data)
	data[ends[2]-1] ^= 1
	d := NewDirSource(m, "run")
	check := func(step string, want []uint64, duplicates, problems int) {
		t.Helper()
		found, err := d.Poll(ctx)
		if err != nil || !slices.Equal(ordinals(found.Games), want) || found.Duplicates != duplicates || len(found.Problems) != problems {
			t.Errorf("%s: %+v, %v; want games %v, %d duplicates, %d problems", step, found, err, want, duplicates, problems)
		}
	}
	putFile(t, m, "run/1.games.tmp", data[:ends[1]])
	check("first block", []uint64{0}, 0, 0)
	putFile(t, m, "run/1.games.tmp", data[:ends[2]])
	check("damaged end: wait", nil, 0, 0)
	putFile(t, m, "run/1.games.tmp", data[:ends[3]])
	check("a good block behind it", []uint64{2}, 0, 1)
	check("again", nil, 0, 0)
	putFile(t, m, "run/1.games.tmp", writeChunk(t, g[:1])[:ends[1]])
	check("rewritten shorter", nil, 1, 0)
	putFile(t, m, "run/2.games", data[:ends[1]])
	check("sealed without a footer", nil, 1, 1)
	check("again", nil, 0, 0)
	putFile(t, m, "run/3.games", []byte("text that is no chunk, whatever its name says"))
	check("no chunk", nil, 0, 2)
	check("again", nil, 0, 0)
	d.MarkSeen(g[4].ID)
	putFile(t, m, "run/4.games", writeChunk(t, g[3:6]))
	check("marked as seen", []uint64{3, 5}, 1, 0)
}

// TestDirSourceOtherProcess: a writer on the real file system, seen by Poll.
func TestDirSourceOtherProcess(t *testing.T) {
	dir := t.TempDir()
	w := NewWriter(fsx.OS, dir+"/p1", WriterOptions{Reserve: smallReserve})
	games := testGames(0, 3, 5)
	next := func(i int) {
		if err := errors.Join(w.Append(games[i]), w.Sync()); err != nil {
			t.Fatal(err)
		}
	}
	next(0)
	d := NewDirSource(fsx.OS, dir)
	var got []*record.Game
	for len(got) < len(games) {
		f, err := d.Poll(context.Background())
		if err != nil || len(f.Games) != 1 || len(f.Problems) > 0 {
			t.Fatalf("%+v, %v", f, err)
		}
		if got = append(got, f.Games...); len(got) < len(games) {
			next(len(got))
		}
	}
	if err := sameGames(got, games); err != nil {
		t.Errorf("%v, %v", ordinals(got), err)
	}
	if err := errors.Join(w.Close(), os.RemoveAll(dir)); err != nil {
		t.Error(err)
	}
}
