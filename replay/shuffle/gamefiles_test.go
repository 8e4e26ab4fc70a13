package shuffle

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/replay"
)

// removeGames removes a chunk as retention does.
func removeGames(t *testing.T, m fsx.FS, s Settings, rel string) {
	t.Helper()
	path := filepath.Join("run/selfplay", rel)
	games, _, err := replay.ReadChunk(m, path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := replay.DescribeRemoved(m, "run/selfplay", rel, games)
	if err != nil {
		t.Fatal(err)
	}
	f.TrainRows, f.ValRows = s.SideRows(path, games)
	f.Random = Untrained(strings.Split(rel, "/")[0])
	if err := replay.Remove(m, "run/selfplay", []replay.RemovedFile{f}); err != nil {
		t.Fatal(err)
	}
}

// TestRemovedCount: rows whose files retention removed are counted as before: the
// window is as large as it was, and the newest row has the number that it had.
func TestRemovedCount(t *testing.T) {
	for _, by := range []SplitBy{SplitByGame, SplitByFile} {
		m := memfs.New()
		for k, net := range []string{"random", "a-main-s100-d10", "a-main-s200-d20", "a-main-s300-d30"} {
			writeGames(t, m, "run/selfplay/"+net+"/p1", testGames(uint64(20*k), uint64(20*k+10), 24))
		}
		o := testOptions(m)
		o.Split, o.Validation = by, 0.3
		o.Window = WindowOptions{MinRows: 60, Expand: 0.4, Exponent: 0.65}
		before, err := MakePlan(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		files, err := GameFiles(t.Context(), m, o.InputDirs, o.OutputDir, 2)
		if err != nil || len(files) != 4 {
			t.Fatalf("%+v, %v", files, err)
		}
		order := []string{}
		for _, f := range files {
			order = append(order, strings.Split(f.Path, "/")[2])
		}
		taken := []string{}
		for _, in := range before.Inputs {
			taken = append(taken, strings.Split(in.Path, "/")[2])
		}
		if !slices.Equal(order[:len(taken)], taken) || len(taken) == len(order) {
			t.Fatalf("files come as %v, the window takes %v", order, taken)
		}
		for _, f := range files[len(taken):] {
			removeGames(t, m, o.Settings, strings.TrimPrefix(f.Path, "run/selfplay/"))
		}
		after, err := MakePlan(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if after.RealRows != before.RealRows || after.RandomRows != before.RandomRows || after.Usable != before.Usable ||
			after.Want != before.Want || after.Range != before.Range || after.Used != before.Used || after.Files != len(taken) || after.RemovedRows == 0 {
			t.Errorf("split %s: before %+v, after %+v", by, before, after)
		}
	}
}

// removingFS lets retention remove a file when games are listed for the first time.
type removingFS struct {
	fsx.FS
	remove func()
}

func (f *removingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := f.FS.ReadDir(name)
	if remove := f.remove; remove != nil && strings.HasSuffix(name, "/p1") {
		f.remove = nil
		remove()
	}
	return entries, err
}

// TestRemovedMeanwhile: a file that goes while games are counted counts once.
func TestRemovedMeanwhile(t *testing.T) {
	m := memfs.New()
	for k, net := range []string{"a-main-s100-d10", "a-main-s200-d20"} {
		writeGames(t, m, "run/selfplay/"+net+"/p1", testGames(uint64(20*k), uint64(20*k+10), 24))
	}
	o := testOptions(m)
	before, err := MakePlan(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	done := false
	o.FS = &removingFS{m, func() { removeGames(t, m, o.Settings, "a-main-s100-d10/p1/00000001.games"); done = true }}
	after, err := MakePlan(t.Context(), o)
	if err != nil || !done || after.RealRows != before.RealRows || after.Files != 1 || after.RemovedRows == 0 || len(after.Quarantine) != 0 {
		t.Errorf("%v: before %+v, after %+v", err, before, after)
	}
}

// TestRemovedList: a list that cannot be read stops the shuffle, which would
// otherwise count fewer rows than before.
func TestRemovedList(t *testing.T) {
	m, _ := testRun(t)
	if err := fsx.WriteFile(m, "run/selfplay/"+replay.RemovedName, []byte("nonsense\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := MakePlan(context.Background(), testOptions(m)); err == nil || !strings.Contains(err.Error(), replay.RemovedName) {
		t.Errorf("%v", err)
	}
}

// TestSavedShuffles reads what a source saves.
func TestSavedShuffles(t *testing.T) {
	_, src := sourceOver(t)
	take(t, src, 1, 10)
	first := src.Manifest().Name
	names, err := SavedShuffles(bytes.NewReader(saved(t, src)))
	if err != nil || !slices.Equal(names, []string{first}) {
		t.Errorf("%v, %v, want %s", names, err, first)
	}
	newer := *src.Manifest()
	newer.Name = "20300101-000000"
	src.Advance(&newer) // not taken up yet
	names, err = SavedShuffles(bytes.NewReader(saved(t, src)))
	if err != nil || !slices.Equal(names, []string{first, newer.Name}) {
		t.Errorf("%v, %v", names, err)
	}
	for _, bad := range []string{"", "{}", `{"shuffle":"../x"}`, `{"shuffle":"20300101-000000","target":"x"}`} {
		if names, err := SavedShuffles(strings.NewReader(bad)); err == nil {
			t.Errorf("%q: %v", bad, names)
		}
	}
}

// TestUnfinishedInputs names the games of a shuffle that was cut off.
func TestUnfinishedInputs(t *testing.T) {
	m, _ := testRun(t)
	if none, err := UnfinishedInputs(m, "run/shuffled"); err != nil || none != nil {
		t.Errorf("before the first: %v, %v", none, err)
	}
	found := 0
	for k := 1; k < 2000 && found == 0; k++ {
		m, _ = testRun(t)
		m.CutAt(k)
		_, err := Run(context.Background(), testOptions(m))
		if err == nil {
			break
		}
		m.Restart(memfs.KeepAll)
		inputs, err := UnfinishedInputs(m, "run/shuffled")
		if err != nil {
			t.Fatal(err)
		}
		found = len(inputs)
	}
	if found != 3 {
		t.Errorf("%d files, want the three that are there", found)
	}
}

// TestManifestFiles: marker and row files are all that a shuffle's directory has.
func TestManifestFiles(t *testing.T) {
	m, src := sourceOver(t)
	dir := filepath.Join("run/shuffled", src.Manifest().Name)
	want := []string{MarkerName}
	for _, side := range []string{trainDir, valDir} {
		entries, err := m.ReadDir(filepath.Join(dir, side))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			want = append(want, filepath.Join(side, e.Name()))
		}
	}
	if got := src.Manifest().Files(); len(got) < 3 || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%v, want %v", got, want)
	}
}
