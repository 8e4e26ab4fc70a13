package shuffle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/replay"
)

// sourceOver shuffles the test run and opens the result.
func sourceOver(t testing.TB) (*memfs.FS, *Source) {
	t.Helper()
	m, _ := testRun(t)
	if _, err := Run(context.Background(), testOptions(m)); err != nil {
		t.Fatal(err)
	}
	return m, open(t, m)
}

func open(t testing.TB, m fsx.FS) *Source {
	t.Helper()
	src, err := OpenLatest(m, "run/shuffled")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// take returns the next n batches of the given size.
func take(t testing.TB, src batchSource, n, size int) (rows []string) {
	t.Helper()
	b := encoding.NewTrainBatch(size)
	for range n {
		b.Reset()
		if err := src.Next(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			rows = append(rows, rowString(b, i))
		}
	}
	return rows
}

func saved(t testing.TB, c replay.Cursor) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := c.Section().Save(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func load(t testing.TB, c replay.Cursor, state []byte) {
	t.Helper()
	if err := c.Section().Load(bytes.NewReader(state), c.Section().Version); err != nil {
		t.Fatal(err)
	}
}

// TestResume stops after each number of batches: a new source with the saved
// section gives the rest of an uninterrupted read, row for row, with symmetries
// too.
func TestResume(t *testing.T) {
	m, src := sourceOver(t)
	src.ShowSymmetries(5)
	want := drain(t, src, 7)
	if len(src.Manifest().Train) < 3 || int64(len(want)) != src.NumRows() {
		t.Fatalf("%d files, %d rows of %d", len(src.Manifest().Train), len(want), src.NumRows())
	}
	plain := drain(t, open(t, m), 7)
	if slices.Equal(plain, want) {
		t.Error("symmetries change nothing")
	}
	for n := 0; n <= (len(want)+6)/7; n += 3 {
		one := open(t, m)
		one.ShowSymmetries(5)
		head := take(t, one, n, 7)
		two := open(t, m)
		two.ShowSymmetries(5)
		load(t, two, saved(t, one))
		if rest := drain(t, two, 7); !slices.Equal(slices.Concat(head, rest), want) {
			t.Fatalf("after %d batches the rows differ", n)
		}
	}
}

// TestResumeAcrossPasses does the same where the source repeats.
func TestResumeAcrossPasses(t *testing.T) {
	m, src := sourceOver(t)
	src.Repeat = true
	perPass := int(src.NumRows())
	size := perPass/3 + 1
	want := take(t, src, 9, size) // almost three passes, batches over their ends
	first, second := want[:perPass], want[perPass:2*perPass]
	if !sameMultiset(first, second) || slices.Equal(first, second) {
		t.Error("the second pass must have the same rows in another order")
	}
	for n := range 9 {
		one, two := open(t, m), open(t, m)
		one.Repeat = true
		two.Repeat = true
		head := take(t, one, n, size)
		load(t, two, saved(t, one))
		if rest := take(t, two, 9-n, size); !slices.Equal(slices.Concat(head, rest), want) {
			t.Fatalf("after %d batches the rows differ", n)
		}
	}
}

// TestPrefetchAndAdvance: behind replay.Prefetch the rows are the same, a newer
// shuffle is found, and Advance goes on with its first row at once, in the run
// and after a restart.
func TestPrefetchAndAdvance(t *testing.T) {
	m, src := sourceOver(t)
	old := take(t, open(t, m), 5, 16)
	batches := replay.Prefetch(src, 3)
	defer batches.Close()
	if got := take(t, batches, 5, 16); !slices.Equal(got, old) {
		t.Fatal("prefetched rows differ")
	}
	if newer, err := src.Newer(); newer != nil || err != nil {
		t.Fatalf("newer %v, %v", newer, err)
	}
	writeGames(t, m, "run/selfplay/c/p0", testGames(200, 210, 24))
	if _, err := Run(context.Background(), testOptions(m)); err != nil {
		t.Fatal(err)
	}
	newer, err := src.Newer()
	if err != nil || newer == nil || newer.Range[1] <= src.Manifest().Range[1] {
		t.Fatalf("newer %v, %v", newer, err)
	}
	before := saved(t, prefetched{Prefetcher: batches})
	version := src.Version()
	src.Advance(newer)
	if src.Version() == version || src.Manifest() != newer || src.NumRows() != newer.TrainRows {
		t.Error("Advance changes neither version nor shuffle")
	}
	want := take(t, open(t, m), 4, 16)
	if got := take(t, batches, 2, 16); !slices.Equal(got, want[:32]) {
		t.Fatal("after Advance other rows come than the newer shuffle's")
	}
	again := open(t, m)
	load(t, again, saved(t, prefetched{Prefetcher: batches}))
	if got := take(t, again, 2, 16); !slices.Equal(got, want[32:]) {
		t.Error("a restart does not go on in the newer shuffle")
	}
	// A checkpoint of before goes on in the older shuffle, although the newer is there.
	rest := open(t, m)
	load(t, rest, before)
	if rest.Manifest().Name == newer.Name {
		t.Error("a saved position jumps to another shuffle")
	}
	if newer, err := rest.Newer(); err != nil || newer == nil {
		t.Errorf("newer %v, %v", newer, err)
	}
}

// prefetched is a prefetcher as a Cursor, for its section.
type prefetched struct {
	*replay.Prefetcher
	version
}

type version struct{}

func (version) Version() uint64 { return 0 }

// TestAdvanceIsSaved: a section saved between Advance and Next leads to the
// newer shuffle.
func TestAdvanceIsSaved(t *testing.T) {
	m, src := sourceOver(t)
	take(t, src, 2, 16)
	if _, err := Run(context.Background(), testOptions(m)); err != nil {
		t.Fatal(err)
	}
	newer, err := src.Newer()
	if err != nil {
		t.Fatal(err)
	}
	src.Advance(newer)
	two := open(t, m)
	load(t, two, saved(t, src))
	if got, want := take(t, two, 1, 16), take(t, src, 1, 16); !slices.Equal(got, want) || two.Manifest().Name != newer.Name {
		t.Error("after a restart other rows follow")
	}
}

func TestLoadRefuses(t *testing.T) {
	m, src := sourceOver(t)
	want := take(t, open(t, m), 2, 8)
	take(t, src, 1, 8)
	for _, c := range []struct{ state, says string }{
		{`{`, "section"},
		{`{"shuffle":"../../etc"}`, "is no shuffle"},
		{`{"shuffle":"20200101-000000"}`, "cannot be opened"},
		{`{"shuffle":"20260301-120000","file":99}`, "file 99"},
		{`{"shuffle":"20260301-120000","row":-1}`, "row -1"},
		{`{"shuffle":"20260301-120000","row":100000}`, "row 100000"},
	} {
		err := src.Section().Load(strings.NewReader(c.state), 1)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %q", c.state, err, c.says)
		}
	}
	if err := src.Section().Load(strings.NewReader("{}"), 2); err == nil {
		t.Error("version 2 is read")
	}
	var gone *GoneError
	if err := src.Section().Load(strings.NewReader(`{"shuffle":"20200101-000000"}`), 1); !errors.As(err, &gone) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if got := take(t, src, 1, 8); !slices.Equal(got, want[8:]) {
		t.Error("a refused section changed the position")
	}
}

func TestSourceErrors(t *testing.T) {
	if _, err := OpenLatest(memfs.New(), "run/shuffled"); !errors.Is(err, ErrNone) {
		t.Errorf("error %v, want ErrNone", err)
	}
	m, src := sourceOver(t)
	last := src.Manifest().Train[len(src.Manifest().Train)-1]
	path := filepath.Join("run/shuffled", src.Manifest().Name, last.Name)
	data, err := fsx.ReadFile(m, path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-3] ^= 1
	if err := fsx.WriteFile(m, path, data); err != nil {
		t.Fatal(err)
	}
	b := encoding.NewTrainBatch(50)
	for err = nil; err == nil; err = src.Next(context.Background(), b) {
		b.Reset()
	}
	if corrupt, ok := errors.AsType[*CorruptError](err); !ok || corrupt.Path != path || corrupt.ExitCode() != 3 {
		t.Errorf("error %v, want one of %s", err, path)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := src.Next(ctx, b); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}

func TestValidationPass(t *testing.T) {
	_, src := sourceOver(t)
	all := drain(t, src.Validation(0), 9)
	if src.Validation(0).NumRows() != int64(len(all)) || len(all) < 20 {
		t.Fatalf("%d rows", len(all))
	}
	if some := drain(t, src.Validation(10), 4); !slices.Equal(some, all[:10]) {
		t.Errorf("%d rows of 10", len(some))
	}
	b := encoding.NewTrainBatch(4)
	p := src.Validation(4)
	if err := p.Next(context.Background(), b); err != nil || b.N != 4 {
		t.Fatal(err)
	}
	b.Reset()
	if err := p.Next(context.Background(), b); err != io.EOF {
		t.Errorf("error %v, want EOF", err)
	}
}
