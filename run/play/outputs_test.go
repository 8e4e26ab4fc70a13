package play

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

func bothOutputs(fsys fsx.FS) OutputOptions {
	return OutputOptions{FS: fsys, Root: "/run", Process: "p1", Job: "job", GameForms: setup.GameForms{PGNShare: 1, LC0Chunks: true}}
}

// putAll opens outputs, puts the games one group after the other, and returns
// how many games were acknowledged.
func putAll(fsys fsx.FS, groups ...[]*record.Game) (int, error) {
	o, err := OpenOutputs(bothOutputs(fsys))
	if err != nil {
		return 0, err
	}
	done := 0
	for _, g := range groups {
		if err := o.Put(g...); err != nil {
			return done, errors.Join(err, o.Close())
		}
		done += len(g)
	}
	return done, o.Close()
}

// forms are what must be found of games: PGN texts and chunks.
func forms(t testing.TB, games []*record.Game) (texts []string, chunks [][]byte) {
	t.Helper()
	for _, g := range games {
		var one, chunk bytes.Buffer
		if err := errors.Join(export.WritePGN(&one, g, "job"), lc0.WriteChunk(&chunk, g)); err != nil {
			t.Fatal(err)
		}
		texts, chunks = append(texts, one.String()), append(chunks, chunk.Bytes())
	}
	return texts, chunks
}

// checkOutputs: the first n games are there, no game twice.
func checkOutputs(t *testing.T, fsys fsx.FS, n int, texts []string, chunks [][]byte) {
	t.Helper()
	file, err := fsx.ReadFile(fsys, "/run/pgn/p1.pgn")
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && n == 0) {
		t.Fatal(err)
	}
	for i, text := range texts {
		if found := strings.Count(string(file), text); found > 1 || found == 0 && i < n {
			t.Fatalf("game %d is %d times in the PGN file", i, found)
		}
		path := fmt.Sprintf("/run/lc0/job-s0-d0/p1/game_%06d.gz", i)
		data, err := fsx.ReadFile(fsys, path)
		if err != nil && i < n || err == nil && !bytes.Equal(data, chunks[i]) {
			t.Fatalf("%s: %d bytes of %d, %v", path, len(data), len(chunks[i]), err)
		}
	}
}

// checkComplete: all games are there, once, and nothing else is.
func checkComplete(t *testing.T, fsys fsx.FS, texts []string, chunks [][]byte) {
	t.Helper()
	checkOutputs(t, fsys, len(texts), texts, chunks)
	file, err := fsx.ReadFile(fsys, "/run/pgn/p1.pgn")
	if want := len(strings.Join(texts, "")); err != nil || len(file) != want {
		t.Fatalf("the PGN file has %d bytes, want %d; %v", len(file), want, err)
	}
	entries, err := fsys.ReadDir("/run/lc0/job-s0-d0/p1")
	if err != nil || len(entries) != len(texts) {
		t.Fatalf("%d chunks, want %d; %v", len(entries), len(texts), err)
	}
}

// The power goes at every operation in turn: what Put acknowledged is there, and
// after putting all games again each is there once.
func TestOutputsPowerCuts(t *testing.T) {
	games, seed := runtest.AnyGames(t, 4)
	texts, chunks := forms(t, games)
	cuts := 0
	for k := 1; ; k++ {
		for range 2 {
			m := memfs.New()
			m.CutAt(k)
			done, err := putAll(m, games[:1], games[1:3], games[3:])
			if !m.Tripped() {
				m.Heal()
				if err != nil {
					t.Fatal(err)
				}
				checkComplete(t, m, texts, chunks)
				t.Logf("%d cuts, seed %d", cuts, seed)
				if k < 30 {
					t.Errorf("only %d operations", k)
				}
				return
			}
			m.Restart(memfs.Random(seed + uint64(cuts)))
			checkOutputs(t, m, done, texts, chunks)
			if _, err := putAll(m, games[:2], games[1:], games); err != nil {
				t.Fatalf("seed %d, cut %d: %v", seed, k, err)
			}
			checkComplete(t, m, texts, chunks)
			cuts++
		}
	}
}

// Every operation fails once with a full disk: the message says so and what to
// do, what was there stays, and a new start adds the rest.
func TestOutputsFullDisk(t *testing.T) {
	games, _ := runtest.AnyGames(t, 3)
	texts, chunks := forms(t, games)
	for k := 1; ; k++ {
		m := memfs.New()
		m.FailAt(k, syscall.ENOSPC, false)
		done, err := putAll(m, games[:1], games[1:])
		if !m.Tripped() {
			break
		}
		if err != nil && (!errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), "make room") != 1) {
			t.Fatalf("operation %d: %v", k, err)
		}
		m.Heal()
		checkOutputs(t, m, done, texts, chunks)
		if _, err := putAll(m, games); err != nil {
			t.Fatalf("after operation %d: %v", k, err)
		}
		checkComplete(t, m, texts, chunks)
	}
	m := memfs.New()
	o, err := OpenOutputs(bothOutputs(m))
	if err != nil {
		t.Fatal(err)
	}
	m.SetSpace(fsx.Space{Free: 1 << 20, Total: 1 << 40})
	var space *fsx.SpaceError
	if err := o.Put(games...); !errors.As(err, &space) || !strings.Contains(err.Error(), "the games themselves are kept") {
		t.Errorf("little room: %v", err)
	}
}

// Damage between games costs only what is damaged; a torn end is cut off; a file
// that is whole is not touched.
func TestPGNFileMends(t *testing.T) {
	games, _ := runtest.AnyGames(t, 3)
	texts, _ := forms(t, games)
	all := strings.Join(texts, "")
	hole := strings.Repeat("\x00", 4096)
	for _, c := range []struct {
		name, text string
		whole      []int // games that stay, in order
	}{
		{"empty", "", nil},
		{"whole", all, []int{0, 1, 2}},
		{"torn in the moves", all[:len(all)-40], []int{0, 1}},
		{"torn before the last line feed", all[:len(all)-1], []int{0, 1}},
		{"torn in the tags", texts[0] + texts[1][:50], []int{0}},
		{"zeros at the end", texts[0] + hole, []int{0}},
		{"zeros in the first game", texts[0][:300] + hole[:len(texts[0])-300] + "\n" + texts[1], []int{1}},
		{"zeros in a game between", texts[0] + texts[1][:300] + hole + "\n" + texts[2], []int{0, 2}},
		{"a game twice", texts[0] + texts[1] + texts[0] + texts[2], []int{0, 1, 2}},
		{"another result", texts[0] + strings.Replace(texts[1], `[Result "1/2-1/2"]`, `[Result "1-0"]`, 1), []int{0}},
	} {
		m := memfs.New()
		if err := errors.Join(fsx.MkdirAll(m, "/run/pgn"), fsx.WriteFile(m, "/run/pgn/p1.pgn", []byte(c.text))); err != nil {
			t.Fatal(err)
		}
		f, lost, err := openPGN(m, "/run/pgn/p1.pgn")
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := ""
		for _, i := range c.whole {
			want += texts[i]
		}
		got, err := fsx.ReadFile(m, "/run/pgn/p1.pgn")
		if err != nil || string(got) != want || lost != int64(len(c.text)-len(want)) {
			t.Errorf("%s: %d bytes of %d, %d lost, %v", c.name, len(got), len(want), lost, err)
		}
		if err := f.put(games, "job"); err != nil {
			t.Fatal(err)
		}
		if got, err := fsx.ReadFile(m, "/run/pgn/p1.pgn"); err != nil || len(got) != len(all) || len(runtest.ReadPGN(t, string(got))) != 3 {
			t.Errorf("%s: %d bytes after putting all games, want %d; %v", c.name, len(got), len(all), err)
		}
	}
}

// Wherever a file is torn, exactly its whole games stay.
func TestPGNFileTornAnywhere(t *testing.T) {
	games, _ := runtest.AnyGames(t, 2)
	texts, _ := forms(t, games)
	all := strings.Join(texts, "")
	for cut := range len(all) + 1 {
		m := memfs.New()
		if err := fsx.WriteFile(m, "/p1.pgn", []byte(all[:cut])); err != nil {
			t.Fatal(err)
		}
		f, lost, err := openPGN(m, "/p1.pgn")
		whole, n := 0, 0
		for n < len(texts) && whole+len(texts[n]) <= cut {
			whole, n = whole+len(texts[n]), n+1
		}
		if err != nil || lost != int64(cut-whole) || f.known.Len() != n || f.file.Size() != int64(whole) {
			t.Fatalf("cut at %d: %d bytes lost, %d games; want %d and %d; %v", cut, lost, f.known.Len(), cut-whole, n, err)
		}
	}
}

// A share of the games, the same ones at every start.
func TestOutputsShare(t *testing.T) {
	in, both := 0, 0
	for i := range uint64(20000) {
		id := record.GameID(3, 1, i)
		if InPGNShare(id, .1) {
			in++
			if record.IsValidation(id, .1) {
				both++
			}
			if !InPGNShare(id, .11) {
				t.Fatal("a game left a growing share")
			}
		}
		if InPGNShare(id, 0) || !InPGNShare(id, 1) {
			t.Fatal("shares 0 and 1")
		}
	}
	// Five standard deviations: sqrt(20000 * 0.1 * 0.9) = 42, sqrt(20000 * 0.01) = 14.
	if in < 1790 || in > 2210 || both < 130 || both > 270 {
		t.Errorf("%d of 20000 in a tenth, %d of them in the validation share", in, both)
	}
	games, _ := runtest.AnyGames(t, 30)
	m := memfs.New()
	opt := bothOutputs(m)
	opt.PGNShare, opt.LC0Chunks = .5, false
	o, err := OpenOutputs(opt)
	if err == nil {
		err = errors.Join(o.Put(games...), o.Close())
	}
	text, readErr := fsx.ReadFile(m, "/run/pgn/p1.pgn")
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	var want, got []string
	for _, g := range games {
		if InPGNShare(g.ID, .5) {
			want = append(want, fmt.Sprint(g.Ordinal))
		}
	}
	for _, g := range runtest.ReadPGN(t, string(text)) {
		got = append(got, g.Tag("Round"))
	}
	if !slices.Equal(got, want) || len(want) < 3 || len(want) > 27 {
		t.Errorf("games %v, want %v", got, want)
	}
	if _, err := m.Stat("/run/lc0"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("chunks were written: %v", err)
	}
}

func TestOutputsOff(t *testing.T) {
	o, err := OpenOutputs(OutputOptions{FS: memfs.New(), Root: "/run"})
	if o != nil || err != nil {
		t.Errorf("%v, %v", o, err)
	}
	if err := errors.Join(o.Put(&record.Game{}), o.Close()); err != nil {
		t.Error(err)
	}
	for _, share := range []float64{-.1, 1.1} {
		if _, err := OpenOutputs(OutputOptions{FS: memfs.New(), Root: "/run", GameForms: setup.GameForms{PGNShare: share}}); err == nil {
			t.Errorf("share %v was taken", share)
		}
	}
}

// The configuration's two fields switch the outputs on.
func TestOutputsOfConfig(t *testing.T) {
	share, chunks := .25, true
	c := &config.Config{Selfplay: &config.SelfPlay{PgnShare: &share, Lc0Chunks: &chunks}}
	o, err := OpenOutputs(OutputOptions{Root: t.TempDir(), Process: "p3", Job: "j", GameForms: setup.GameFormsOf(c)})
	if err != nil || o == nil || o.pgn == nil || o.opt.PGNShare != .25 || !o.opt.LC0Chunks || o.opt.Process != "p3" || o.opt.Job != "j" {
		t.Fatalf("%+v, %v", o, err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	if o, err := OpenOutputs(OutputOptions{Root: t.TempDir(), Process: "p3", Job: "j", GameForms: setup.GameFormsOf(&config.Config{})}); o != nil || err != nil {
		t.Errorf("by default: %+v, %v", o, err)
	}
}

// Games without a result or without a trained row, and ids that are no names.
func TestOutputsOddGames(t *testing.T) {
	games, _ := runtest.AnyGames(t, 3)
	games[0].End = record.EndAborted
	for i := range games[1].Plies {
		games[1].Plies[i].Weight = 0
	}
	games[2].NetID = "../up/and away"
	m := memfs.New()
	if _, err := putAll(m, games); err != nil {
		t.Fatal(err)
	}
	text, err := fsx.ReadFile(m, "/run/pgn/p1.pgn")
	if err != nil || len(runtest.ReadPGN(t, string(text))) != 3 {
		t.Errorf("PGN: %v", err)
	}
	entries, err := m.ReadDir("/run/lc0")
	if err != nil || len(entries) != 2 || entries[0].Name() != "__up_and_away" {
		t.Errorf("directories %v, %v", entries, err)
	}
	if entries, err := m.ReadDir("/run/lc0/job-s0-d0/p1"); err != nil || len(entries) != 0 {
		t.Errorf("chunks %v of games that have none, %v", entries, err)
	}
}

// The store hands games to the outputs before the trainer gets them, and goes on
// to hand them on when an output fails, which ends it.
func TestStoreOutputs(t *testing.T) {
	games, _ := runtest.AnyGames(t, 2)
	root := t.TempDir()
	opt := OutputOptions{Root: root, Process: "p1", Job: "j", GameForms: setup.GameForms{PGNShare: 1, LC0Chunks: true}}
	o, err := OpenOutputs(opt)
	if err != nil {
		t.Fatal(err)
	}
	store := OpenStore(StoreOptions{Dir: run.Dir{Root: root}, Process: "p1", Net: "job-s0-d0", Job: "j", Queue: 4, Outputs: o})
	if err := store.Put(context.Background(), games[0]); err != nil {
		t.Fatal(err)
	}
	<-store.Durable()
	chunk := filepath.Join(root, "lc0", "job-s0-d0", "p1", "game_000000.gz")
	source, err := lc0.OpenSource(chunk)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := source.Chunk(0); err != nil || len(raw) != 8*lc0.V6Size {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	// The directory of chunks becomes a file: the next one cannot be written.
	if err := errors.Join(os.RemoveAll(filepath.Dir(chunk)), os.WriteFile(filepath.Dir(chunk), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := store.Put(context.Background(), games[1]); err != nil {
		t.Fatal(err)
	}
	if g := <-store.Durable(); g.Ordinal != 1 {
		t.Errorf("game %d was handed on", g.Ordinal)
	}
	if err := store.Close(); err == nil || !strings.Contains(err.Error(), "selfplay.lc0_chunks") {
		t.Errorf("after a failed output: %v", err)
	}
}

// What a game of 80 plies costs: PGN and chunk, each made durable.
func BenchmarkOutputs(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 5))
	for _, c := range []struct {
		name   string
		share  float64
		chunks bool
	}{{"pgn", 1, false}, {"chunk", 0, true}} {
		b.Run(c.name, func(b *testing.B) {
			o, err := OpenOutputs(OutputOptions{Root: b.TempDir(), Process: "p1", Job: "j", GameForms: setup.GameForms{PGNShare: c.share, LC0Chunks: c.chunks}})
			if err != nil {
				b.Fatal(err)
			}
			g := runtest.AnyGame(b, "", 0, 80, rng)
			for b.Loop() {
				g.Ordinal++
				if err := o.Put(g); err != nil {
					b.Fatal(err)
				}
			}
			if err := o.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
