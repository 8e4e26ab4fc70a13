package prepare

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// twoDirs writes 11 games into /a (files of 3, 3, 3, 2) and 4 into /b: one of
// them again, one with the moves of another.
func twoDirs(t testing.TB, fsys fsx.FS) {
	t.Helper()
	games := manyGames(t, 14)
	writeGames(t, fsys, "/a", 3, games[:11]...)
	same := games[3].Clone()
	same.ID, same.Ordinal = [16]byte{99}, 99
	writeGames(t, fsys, "/b", 10, games[5], games[12], same, games[13])
}

func options(fsys fsx.FS) Options {
	return Options{FS: fsys, Inputs: []Input{{Dir: "/a"}, {Dir: "/b"}}, Out: "/out", ChunkSize: 5}
}

// ordinals lists the numbers of manyGames that a directory holds; "|" begins a
// file.
func ordinals(t testing.TB, fsys fsx.FS, dir string) string {
	t.Helper()
	var words []string
	for _, g := range readGames(t, fsys, dir) {
		number, _, _ := strings.Cut(g, " ")
		words = append(words, number)
	}
	return strings.Join(words, " ")
}

// TestPreprocess: combined in order, without doubles, split; the second call
// does nothing, another one is refused.
func TestPreprocess(t *testing.T) {
	m := memfs.New()
	twoDirs(t, m)
	done, err := Preprocess(t.Context(), options(m))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ordinals(t, m, "/out"), "| 0 1 2 3 4 | 5 6 7 8 9 | 10 12 13"; got != want {
		t.Errorf("games %s, want %s", got, want)
	}
	if c := done.Counts; c.Read != 15 || c.Games != 13 || c.SameID != 1 || c.SameMoves != 1 || c.Damaged != 0 || !done.Done || !done.Made {
		t.Errorf("%+v", done)
	}
	if faults, err := Check(m, "/out"); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	ops := m.Ops()
	again, err := Preprocess(t.Context(), options(m))
	if err != nil || !reflect.DeepEqual(again, done) {
		t.Errorf("the second time: %v", err)
	}
	if more := m.Ops() - ops; more > 60 {
		t.Errorf("the second time took %d operations", more)
	}
	other := options(m)
	other.ChunkSize = 4
	if _, err := Preprocess(t.Context(), other); !errors.Is(err, ErrOther) {
		t.Errorf("other settings: %v", err)
	}
	part := options(m)
	part.Inputs = []Input{{Dir: "/a", From: 1}, {Dir: "/b"}}
	if _, err := Preprocess(t.Context(), part); !errors.Is(err, ErrOther) {
		t.Errorf("other inputs: %v", err)
	}
	part.Out = "/out3"
	if _, err = Preprocess(t.Context(), part); err != nil || ordinals(t, m, "/out3") != "| 3 4 5 6 7 | 8 9 10 12 13" {
		t.Errorf("without the first file: %s, %v", ordinals(t, m, "/out3"), err)
	}
}

// TestNoInput: a step that finds nothing fails, and says where it looked.
func TestNoInput(t *testing.T) {
	m := memfs.New()
	twoDirs(t, m)
	if err := errors.Join(m.Mkdir("/empty", 0o777), fsx.WriteFile(m, "/used", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		inputs []Input
		want   error
		word   string
	}{
		"none":         {nil, ErrNoInput, "named"},
		"empty":        {[]Input{{Dir: "/a"}, {Dir: "/empty"}}, ErrNoInput, "/empty"},
		"missing":      {[]Input{{Dir: "/nowhere"}}, fs.ErrNotExist, "/nowhere"},
		"beyond":       {[]Input{{Dir: "/a", From: 4}}, ErrNoInput, "/a has 4 files"},
		"turned round": {[]Input{{Dir: "/a", From: 2, To: 1}}, ErrNoInput, "/a"},
	} {
		opt := options(m)
		opt.Inputs = c.inputs
		if _, err := Preprocess(t.Context(), opt); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Stat("/out"); err == nil {
		t.Error("a directory was made for nothing")
	}
	if _, err := Process(t.Context(), Options{FS: m, Inputs: []Input{{Dir: "/a", To: 1}}, Out: "/none", ChunkSize: 5,
		Select: mustSelect(t, "every-9999", 1)}); !errors.Is(err, ErrNoInput) {
		t.Errorf("no row was chosen: %v", err)
	}
	if got, err := ReadManifest(m, "/none"); err != nil || got.Done {
		t.Errorf("a step without output is done: %+v, %v", got, err)
	}
	writeGames(t, m, "/foreign", 9, testGame(t, 1, 1, 3))
	opt := options(m)
	opt.Out = "/foreign"
	if _, err := Preprocess(t.Context(), opt); !errors.Is(err, ErrForeign) {
		t.Errorf("a directory of others: %v", err)
	}
	opt.ChunkSize = 0
	if _, err := Preprocess(t.Context(), opt); err == nil {
		t.Error("chunks of 0 games")
	}
}

// TestProcess: positions are chosen, games without any left out; the output does
// not depend on the workers.
func TestProcess(t *testing.T) {
	m := memfs.New()
	var games []*record.Game
	for i := range 20 {
		games = append(games, testGame(t, uint64(i), uint64(i), i%4)) // 0 to 3 plies: 0, 1, 2, 2 rows
	}
	writeGames(t, m, "/in", 3, games...)
	var first []string
	for _, workers := range []int{1, 2, 5} {
		out := "/out" + string(rune('0'+workers))
		done, err := Process(t.Context(), Options{FS: m, Inputs: []Input{{Dir: "/in"}}, Out: out, ChunkSize: 4,
			Select: mustSelect(t, "penultimate", 1), Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if c := done.Counts; c.Read != 20 || c.NoRows != 10 || c.Games != 10 || c.Rows != 10 {
			t.Errorf("%+v", c)
		}
		got := readGames(t, m, out)
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) || got[1] != "2 [1 0]" || got[2] != "3 [1 0 3]" {
			t.Errorf("%d workers: %q", workers, got)
		}
	}
}

// TestStoppedAndGoneOn: cancelled after any number of games, a step goes on to
// the same files.
func TestStoppedAndGoneOn(t *testing.T) {
	want := memfs.New()
	twoDirs(t, want)
	if _, err := Preprocess(t.Context(), options(want)); err != nil {
		t.Fatal(err)
	}
	for stop := range 14 {
		m := memfs.New()
		twoDirs(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		files, err := ListInputs(m, options(m).Inputs)
		if err != nil {
			t.Fatal(err)
		}
		split, err := openSplit(m, "/out", 5, Manifest{Step: "preprocess", Inputs: files,
			Settings: map[string]string{"chunk_size": "5", "keep_same": "false"}})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		ids, moves := map[[16]byte]bool{}, map[[16]byte]bool{}
		reader := Options{FS: m, Select: mustSelect(t, "all", 0)}
		err = replay.MapOrdered(ctx, 1, replay.Items(files), reader.read, func(_ context.Context, r chunkRead) error {
			for _, g := range r.games {
				if ids[g.ID] {
					continue
				}
				ids[g.ID] = true
				if n++; n > stop {
					cancel()
				}
				if moves[movesKey(g)] {
					continue
				}
				moves[movesKey(g)] = true
				if err := errors.Join(split.add(g), ctx.Err()); err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
		if err := split.abort(); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d games: %v", stop, err)
		}
		if _, err := Preprocess(t.Context(), options(m)); err != nil {
			t.Fatalf("after %d games: %v", stop, err)
		}
		if a, b := readGames(t, m, "/out"), readGames(t, want, "/out"); !slices.Equal(a, b) {
			t.Errorf("after %d games: %q, want %q", stop, a, b)
		}
		if faults, err := Check(m, "/out"); err != nil || len(faults) > 0 {
			t.Errorf("after %d games: %v, %v", stop, faults, err)
		}
	}
}

// TestPowerCut: the power goes at every operation of a step and of the clean-up
// after it; the next start comes to the same files, and no foreign file is
// touched.
func TestPowerCut(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 7
	}
	want := memfs.New()
	twoDirs(t, want)
	if _, err := Preprocess(t.Context(), options(want)); err != nil {
		t.Fatal(err)
	}
	for k := 1; ; k += step {
		m := memfs.New()
		twoDirs(t, m)
		m.CutAt(k)
		_, err := Preprocess(t.Context(), options(m))
		if !m.Tripped() {
			break
		}
		m.Restart(memfs.Random(uint64(k)))
		if _, again := Preprocess(t.Context(), options(m)); again != nil {
			t.Fatalf("operation %d: %v; before it %v", k, again, err)
		}
		if a, b := readGames(t, m, "/out"), readGames(t, want, "/out"); !slices.Equal(a, b) {
			t.Errorf("operation %d: %q, want %q", k, a, b)
		}
	}
	for k := 1; ; k++ {
		m := memfs.New()
		twoDirs(t, m)
		if _, err := Preprocess(t.Context(), options(m)); err != nil {
			t.Fatal(err)
		}
		m.CutAt(k)
		_, first := Cleanup(m, "/out")
		if !m.Tripped() {
			break
		}
		m.Restart(memfs.Random(uint64(k)))
		if _, err := Cleanup(m, "/out"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("operation %d: %v; before it %v", k, err, first)
		}
		if entries, err := m.ReadDir("/out"); err == nil && len(entries) > 0 {
			t.Errorf("operation %d: %s is left", k, entries[0].Name())
		}
		if entries, err := m.ReadDir("/a"); err != nil || len(entries) != 4 {
			t.Errorf("operation %d: the inputs were touched: %v", k, err)
		}
	}
}

// TestCleanup: only what the step wrote goes.
func TestCleanup(t *testing.T) {
	made := func(t *testing.T) string {
		root := t.TempDir()
		writeGames(t, fsx.OS, filepath.Join(root, "in"), 3, manyGames(t, 7)...)
		out := filepath.Join(root, "out")
		_, err := Preprocess(t.Context(), Options{Inputs: []Input{{Dir: filepath.Join(root, "in")}}, Out: out, ChunkSize: 3})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Run("all", func(t *testing.T) {
		out := made(t)
		c, err := Cleanup(fsx.OS, out)
		if err != nil || len(c.Removed) != 5 || len(c.Kept) != 0 || c.Bytes == 0 {
			t.Errorf("%+v, %v", c, err)
		}
		if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory is left: %v", err)
		}
		if _, err := Cleanup(fsx.OS, out); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nothing to clean up: %v", err)
		}
	})
	t.Run("strangers", func(t *testing.T) {
		out := made(t)
		mine, changed := filepath.Join(out, "notes.txt"), filepath.Join(out, "00000002.games")
		if err := errors.Join(os.WriteFile(mine, []byte("x"), 0o666), os.WriteFile(changed, []byte("x"), 0o666)); err != nil {
			t.Fatal(err)
		}
		c, err := Cleanup(fsx.OS, out)
		if err != nil || len(c.Removed) != 2 || len(c.Kept) != 2 {
			t.Errorf("%+v, %v", c, err)
		}
		for _, path := range []string{mine, changed, filepath.Join(out, ManifestName)} {
			if _, err := os.Stat(path); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("directory of the user", func(t *testing.T) {
		root := t.TempDir()
		out := filepath.Join(root, "mine")
		writeGames(t, fsx.OS, filepath.Join(root, "in"), 3, manyGames(t, 4)...)
		if err := os.Mkdir(out, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := Preprocess(t.Context(), Options{Inputs: []Input{{Dir: filepath.Join(root, "in")}}, Out: out, ChunkSize: 3}); err != nil {
			t.Fatal(err)
		}
		if _, err := Cleanup(fsx.OS, out); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(out); err != nil || len(entries) != 0 {
			t.Errorf("%v, %v", entries, err)
		}
	})
	t.Run("pinned", func(t *testing.T) {
		out := made(t)
		for _, at := range []string{out, filepath.Dir(out)} {
			if err := errors.Join(Pin(fsx.OS, at), Pin(fsx.OS, at)); err != nil {
				t.Fatal(err)
			}
			if _, err := Cleanup(fsx.OS, out); !errors.Is(err, ErrPinned) {
				t.Errorf("pinned at %s: %v", at, err)
			}
			if err := errors.Join(Unpin(fsx.OS, at), Unpin(fsx.OS, at)); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(out, "00000001.games")
		if err := Pin(fsx.OS, file); err != nil {
			t.Fatal(err)
		}
		if at, err := PinnedAt(fsx.OS, file); err != nil || at != file+".pinned" {
			t.Errorf("%s, %v", at, err)
		}
		c, err := Cleanup(fsx.OS, out)
		if err != nil || len(c.Removed) != 2 {
			t.Errorf("%+v, %v", c, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		if Pin(fsx.OS, filepath.Join(out, "nothing")) == nil || Unpin(fsx.OS, filepath.Join(out, "nothing")) == nil {
			t.Error("a path that is not there was pinned")
		}
	})
}

// TestCheck finds files that are missing, changed and strange, and a step that
// was stopped.
func TestCheck(t *testing.T) {
	m := memfs.New()
	twoDirs(t, m)
	if _, err := Preprocess(t.Context(), options(m)); err != nil {
		t.Fatal(err)
	}
	data, err := fsx.ReadFile(m, "/out/00000002.games")
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 4
	err = errors.Join(m.Remove("/out/00000001.games"), fsx.WriteFile(m, "/out/00000002.games", data), fsx.WriteFile(m, "/out/00000009.games", data))
	if err != nil {
		t.Fatal(err)
	}
	faults, err := Check(m, "/out")
	var names []string
	for _, f := range faults {
		names = append(names, f.File)
	}
	if err != nil || !slices.Equal(names, []string{"00000001.games", "00000002.games", "00000009.games"}) {
		t.Errorf("%v, %v", faults, err)
	}
	if err := m.Remove("/out/00000003.games"); err != nil {
		t.Fatal(err)
	}
	if _, err := Preprocess(t.Context(), options(m)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("files of a finished step are missing: %v", err)
	}
}

// FuzzManifest: what is accepted names nothing outside its directory.
func FuzzManifest(f *testing.F) {
	m := memfs.New()
	twoDirs(f, m)
	if _, err := Preprocess(context.Background(), options(m)); err != nil {
		f.Fatal(err)
	}
	data, err := fsx.ReadFile(m, "/out/"+ManifestName)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"files":[{"name":"../x.games"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := memfs.New()
		if err := fsx.WriteFile(m, "/"+ManifestName, data); err != nil {
			t.Fatal(err)
		}
		got, err := ReadManifest(m, "/")
		if err != nil {
			if _, ok := errors.AsType[*ManifestError](err); !ok {
				t.Fatal(err)
			}
			return
		}
		for _, file := range got.Files {
			if filepath.Base(file.Name) != file.Name || !replay.IsChunk(file.Name) {
				t.Fatalf("file %q", file.Name)
			}
		}
		if filepath.Base(got.Making) != got.Making && got.Making != "" {
			t.Fatalf("making %q", got.Making)
		}
	})
}
