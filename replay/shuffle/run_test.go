package shuffle

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// shuffled runs o and returns the training and validation rows in order.
func shuffled(t testing.TB, o Options) (m *Manifest, train, val []string) {
	t.Helper()
	m, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	src, err := OpenLatest(o.FS, o.OutputDir)
	if err != nil {
		t.Fatal(err)
	}
	return m, drain(t, src, 33), drain(t, src.Validation(0), 33)
}

func isVal(g *record.Game) bool   { return record.IsValidation(g.ID, 0.2) }
func isTrain(g *record.Game) bool { return !isVal(g) }

// TestExact shuffles everything: each row comes out once, on its side, for any
// number of threads and buckets; the same seed gives the same order, another
// seed another, and neither the number of threads nor the scratch directory
// matters.
func TestExact(t *testing.T) {
	m, games := testRun(t)
	wantTrain, wantVal := rowStrings(t, games, isTrain), rowStrings(t, games, isVal)
	var first []string
	for k, change := range []func(*Options){
		func(o *Options) {},
		func(o *Options) { o.Threads, o.ScratchDir = 5, "scratch" },
		func(o *Options) { o.Seed = 4 },
		func(o *Options) { o.Memory = 1 << 20; o.RowsPerFile = 5000; o.Threads = 8 },
		func(o *Options) { o.RowsPerFile = 1 }, // a bucket a row: some are empty
	} {
		o := testOptions(m)
		change(&o)
		manifest, train, val := shuffled(t, o)
		if !sameMultiset(train, wantTrain) || !sameMultiset(val, wantVal) {
			t.Fatalf("case %d: %d and %d rows, want %d and %d of the games", k, len(train), len(val), len(wantTrain), len(wantVal))
		}
		if manifest.TrainRows != int64(len(train)) || manifest.HeldRows != int64(len(val)) ||
			manifest.Range != [2]int64{0, int64(len(train))} || manifest.KeepShare != 1 {
			t.Errorf("case %d: marker %+v", k, manifest)
		}
		switch k {
		case 0:
			first = train
			if slices.Equal(train, wantTrain) {
				t.Error("rows are in the order of the games")
			}
		case 1:
			if !slices.Equal(train, first) {
				t.Error("threads or scratch directory change the order")
			}
		case 2:
			if slices.Equal(train, first) {
				t.Error("another seed gives the same order")
			}
		case 3:
			if manifest.BucketsPerFile < 2 {
				t.Errorf("little memory: %d buckets a file", manifest.BucketsPerFile)
			}
		}
		checkTree(t, m)
	}
	if entries, err := m.ReadDir("scratch"); err != nil || len(entries) != 0 {
		t.Errorf("scratch directory holds %v, %v", entries, err)
	}
}

// checkTree says whether the output directory holds finished shuffles and the
// index, nothing else, and whether the files are those of the marker.
func checkTree(t testing.TB, m fsx.FS) {
	t.Helper()
	entries, err := m.ReadDir("run/shuffled")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == indexName {
			continue
		}
		dir := filepath.Join("run/shuffled", e.Name())
		if _, err := Verify(context.Background(), m, dir); err != nil {
			t.Fatal(err)
		}
		if inside, _ := m.ReadDir(dir); len(inside) != 3 {
			t.Errorf("%s holds %v", dir, inside)
		}
	}
}

// TestWindowOfFiles takes the newest files until the window is full, counts the
// bootstrap net's rows at most min-rows, and keeps about the target.
func TestWindowOfFiles(t *testing.T) {
	m := memfs.New()
	games := testGames(0, 60, 24)
	writeGames(t, m, "run/selfplay/a-s100-d900/p0", games[:10]) // memfs has no times: the path decides
	writeGames(t, m, "run/selfplay/b-s200-d900/p0", games[10:20])
	writeGames(t, m, "run/selfplay/c-s300-d900/p0", games[20:30])
	writeGames(t, m, "run/selfplay/random/p0", games[30:60])
	rows := func(from, to int) int64 { return int64(len(rowStrings(t, games[from:to], isTrain))) }
	o := testOptions(m)
	o.Window = WindowOptions{MinRows: rows(10, 20) + rows(30, 60) - 20, Expand: 0, Exponent: 1}
	plan, err := MakePlan(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	// path order puts "random" last = newest; then c, b.
	if plan.RandomRows != rows(30, 60) || plan.RealRows != rows(0, 30) ||
		plan.Usable != plan.RealRows+min(plan.RandomRows, o.Window.MinRows) || plan.Want != o.Window.MinRows {
		t.Errorf("plan %+v", plan)
	}
	if len(plan.Inputs) != 3 && len(plan.Inputs) != 2 || plan.Used < plan.Want ||
		plan.Range != [2]int64{rows(0, 60) - plan.Used, rows(0, 60)} {
		t.Errorf("%d inputs, %d used of %d, range %v", len(plan.Inputs), plan.Used, plan.Want, plan.Range)
	}
	if used := plan.Used - plan.Inputs[len(plan.Inputs)-1].TrainRows; used >= plan.Want {
		t.Errorf("the last file is not needed: %d rows without it", used)
	}
	if _, err := m.Stat("run/shuffled"); err == nil {
		t.Error("a plan creates something")
	}
	o.Window.KeepRows = 100
	manifest, train, _ := shuffled(t, o)
	// Binomial: 100 expected, deviation below 10; 6 deviations miss once in 5e8.
	if n := int64(len(train)); n != manifest.TrainRows || n < 40 || n > 160 {
		t.Errorf("%d rows kept, want about 100", n)
	}
	all := rowStrings(t, games, isTrain)
	for _, row := range train {
		if !slices.Contains(all, row) {
			t.Fatal("a row is not of the games, or of validation")
		}
	}
}

func TestShort(t *testing.T) {
	m, games := testRun(t)
	o := testOptions(m)
	o.Window.MinRows = 1_000_000
	_, err := Run(context.Background(), o)
	var short *ShortError
	have := int64(len(rowStrings(t, games, isTrain)))
	if !errors.As(err, &short) || short.Have != have || short.Need != 1_000_000 || short.ExitCode() != 6 {
		t.Fatalf("error %v, want %d of 1000000", err, have)
	}
	if !strings.Contains(err.Error(), "need 1000000") {
		t.Error(err)
	}
	if _, err := m.Stat(o.OutputDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an output directory of nothing: %v", err)
	}
	if err := fsx.MkdirAll(m, o.OutputDir); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); !errors.As(err, &short) {
		t.Fatal(err)
	}
	checkTree(t, m) // with the index of the games, for the next try
	o.InputDirs = []string{"run/nothing"}
	if _, err := Run(context.Background(), o); err == nil || errors.As(err, &short) {
		t.Errorf("missing directory: %v", err)
	}
}

// TestDuplicatesAndDamage: a game in two files, or twice in one, counts once, damage costs its
// block and is named, a growing file counts with its whole blocks.
func TestDuplicatesAndDamage(t *testing.T) {
	m, games := testRun(t)
	writeGames(t, m, "run/selfplay/a-main-s200-d500/p1", games[18:22])
	twice := testGames(200, 202, 24)
	writeGames(t, m, "run/selfplay/a-main-s200-d500/p3", slices.Concat(twice, twice[:1]))
	extra := testGames(100, 103, 24)
	w := replay.NewWriter(m, "run/selfplay/a-main-s200-d500/p2", replay.WriterOptions{NetID: "net"})
	for _, g := range extra {
		if err := w.Append(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Sync(); err != nil { // growing: not closed
		t.Fatal(err)
	}
	path := "run/selfplay/a-main-s100-d0/p1/00000001.games"
	data, err := fsx.ReadFile(m, path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := fsx.WriteFile(m, path, data); err != nil {
		t.Fatal(err)
	}
	o := testOptions(m)
	for range 2 { // the second time with the index
		manifest, train, val := shuffled(t, o)
		left := slices.Concat(games[:15], games[18:], extra, twice) // 15-17 are damaged
		if !sameMultiset(train, rowStrings(t, left, isTrain)) || !sameMultiset(val, rowStrings(t, left, isVal)) {
			t.Fatalf("%d and %d rows", len(train), len(val))
		}
		if manifest.Duplicates != 3 || len(manifest.Quarantine) == 0 || !strings.Contains(manifest.Quarantine[0], path) {
			t.Errorf("duplicates %d, quarantine %v", manifest.Duplicates, manifest.Quarantine)
		}
	}
}

// TestIndex: a shuffle writes the counts of sealed files into the index, and
// rebuilds a damaged one.
func TestIndex(t *testing.T) {
	m, _ := testRun(t)
	o := testOptions(m)
	var said []string
	o.Report = func(line string) { said = append(said, line) }
	_, first, _ := shuffled(t, o)
	path := filepath.Join(o.OutputDir, indexName)
	x, err := readIndex(m, path)
	if err != nil || len(x) != 3 {
		t.Fatalf("index %v, %v", x, err)
	}
	if err := fsx.WriteFile(m, path, []byte("CBINDEX\nrubbish and more rubbish")); err != nil {
		t.Fatal(err)
	}
	_, again, _ := shuffled(t, o)
	if !slices.Equal(first, again) {
		t.Error("rows differ after the index was damaged")
	}
	if !strings.Contains(strings.Join(said, "\n"), "index of games is damaged") {
		t.Errorf("said %q", said)
	}
	if _, err := readIndex(m, path); err != nil {
		t.Error(err)
	}
}

// TestIndexIsRead plants a wrong count into the index: the plan must use it,
// and the reading of the rows must notice.
func TestIndexIsRead(t *testing.T) {
	m, _ := testRun(t)
	o := testOptions(m)
	shuffled(t, o)
	x, err := readIndex(m, filepath.Join(o.OutputDir, indexName))
	if err != nil {
		t.Fatal(err)
	}
	for k := range x {
		x[k][0].rows++
	}
	if err := fsx.WriteFile(m, filepath.Join(o.OutputDir, indexName), x.encode()); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), o); !errors.Is(err, ErrInputChanged) {
		t.Errorf("error %v, want ErrInputChanged", err)
	}
}

func FuzzDecodeIndex(f *testing.F) {
	x := index{
		{path: "a/b.games", size: 100}:                        {{[16]byte{1}, 3}, {[16]byte{2}, 400}},
		{path: "a/c.games", size: 1 << 40, tail: [16]byte{9}}: nil,
	}
	good := x.encode()
	f.Add(good)
	f.Add(good[:20])
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(data) - 4; n >= 16 {
			le.PutUint32(data[n:], crc(data[:n])) // past the checksum
		}
		if x, err := decodeIndex(data); err == nil {
			if y, err := decodeIndex(x.encode()); err != nil || len(y) != len(x) {
				t.Fatal("written again it is another index")
			}
		}
	})
}

func TestKeepAndNames(t *testing.T) {
	m, _ := testRun(t)
	o := testOptions(m)
	for range 3 {
		shuffled(t, o) // the clock stands still: names must go on
	}
	o.Keep = 2
	o.Now = testTime.AddDate(-1, 0, 0) // it goes back
	manifest, _, _ := shuffled(t, o)
	names, err := List(m, o.OutputDir)
	want := []string{"20260301-120002", "20260301-120003"}
	if err != nil || !slices.Equal(names, want) || manifest.Name != want[1] {
		t.Errorf("shuffles %v, %v, want %v", names, err, want)
	}
	checkTree(t, m)
}

func TestManifestIsJSON(t *testing.T) {
	m, _ := testRun(t)
	o := testOptions(m)
	shuffled(t, o)
	data, err := fsx.ReadFile(m, "run/shuffled/20260301-120000/train.json")
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"range", "window", "window_rows", "usable_rows", "used_rows", "keep_share", "inputs", "seed",
		"format", "program", "train", "val", "train_rows", "val_rows", "train_files", "buckets_per_file"} {
		if _, ok := fields[key]; !ok {
			t.Errorf("train.json lacks %q", key)
		}
	}
}

// TestVerify: what Verify finds in a whole shuffle, and in one with a file that
// is changed, exchanged for another, or gone.
func TestVerify(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		damage func(m fsx.FS, a, b string) error
	}{
		{"changed", func(m fsx.FS, a, _ string) error {
			data, err := fsx.ReadFile(m, a)
			data[len(data)-9] ^= 8
			return errors.Join(err, fsx.WriteFile(m, a, data))
		}},
		{"exchanged", func(m fsx.FS, a, b string) error {
			data, err := fsx.ReadFile(m, b)
			return errors.Join(err, fsx.WriteFile(m, a, data))
		}},
		{"gone", func(m fsx.FS, a, _ string) error { return m.Remove(a) }},
	} {
		m, _ := testRun(t)
		manifest, _, _ := shuffled(t, testOptions(m))
		dir := filepath.Join("run/shuffled", manifest.Name)
		if got, err := Verify(ctx, m, dir); err != nil || got.TrainRows != manifest.TrainRows {
			t.Fatal(err)
		}
		a, b := filepath.Join(dir, manifest.Val[0].Name), filepath.Join(dir, manifest.Train[1].Name)
		if err := c.damage(m, a, b); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(ctx, m, dir); err == nil || !strings.Contains(err.Error(), a) {
			t.Errorf("%s: error %v, want one of %s", c.name, err, a)
		}
	}
}

// TestNewestFirst orders by the time of last change, not by name.
func TestNewestFirst(t *testing.T) {
	dir := t.TempDir()
	for k, age := range []int{2, 0, 1} { // days, of a, b and c
		sub := filepath.Join(dir, string(rune('a'+k)), "p0")
		writeGames(t, fsx.OS, sub, testGames(uint64(k), uint64(k)+1, 4))
		when := testTime.AddDate(0, 0, -age)
		if err := os.Chtimes(filepath.Join(sub, "00000001.games"), when, when); err != nil {
			t.Fatal(err)
		}
	}
	chunks, err := listChunks(fsx.OS, []string{dir, filepath.Join(dir, "a")}) // a twice
	order := ""
	for _, c := range chunks {
		order += filepath.Base(filepath.Dir(filepath.Dir(c.path)))
	}
	if err != nil || order != "bca" {
		t.Errorf("order %q, %v, want bca", order, err)
	}
}

func TestUntrained(t *testing.T) {
	for name, want := range map[string]bool{"random": true, "job-main-s0-d0": true, "job-main-s0-d900": true,
		"job-main-s10-d0": false, "random2": false, "job-main-s100-d0": false} {
		if untrained.MatchString(name) != want {
			t.Errorf("%s untrained: want %v", name, want)
		}
	}
}
