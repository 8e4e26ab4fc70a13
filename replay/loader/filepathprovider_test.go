package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// watchedDir is a directory with a provider that is asked scan by scan.
type watchedDir struct {
	t     testing.TB
	dir   string
	p     *filePathProvider
	clock int64 // next modification time, seconds
}

func newWatchedDir(t testing.TB) *watchedDir {
	w := &watchedDir{t: t, dir: t.TempDir(), clock: 1_000_000}
	w.restart()
	return w
}

// restart begins anew with a provider that knows nothing.
func (w *watchedDir) restart() {
	c := provider("files", w.dir)
	s, err := newFilePathProvider(&build{config: &c, options: &Options{FS: fsx.OS}, quarantine: &Quarantine{},
		out: []anyQueue{NewQueue[File](1000, Block)}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.p = s.(*filePathProvider)
}

// write writes a file that is newer than all before it.
func (w *watchedDir) write(rel, text string) {
	w.t.Helper()
	full := filepath.Join(w.dir, rel)
	w.check(os.MkdirAll(filepath.Dir(full), 0o755))
	w.check(os.WriteFile(full, []byte(text), 0o644))
	w.clock++
	w.check(os.Chtimes(full, time.Unix(w.clock, 0), time.Unix(w.clock, 0)))
}

func (w *watchedDir) rename(from, to string) {
	w.t.Helper()
	w.check(os.MkdirAll(filepath.Dir(filepath.Join(w.dir, to)), 0o755))
	w.check(os.Rename(filepath.Join(w.dir, from), filepath.Join(w.dir, to)))
}

func (w *watchedDir) remove(rel string) {
	w.t.Helper()
	w.check(os.RemoveAll(filepath.Join(w.dir, rel)))
}

func (w *watchedDir) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// expect scans and compares what is handed on: "phase path key" each.
func (w *watchedDir) expect(phase Phase, want ...string) {
	w.t.Helper()
	w.check(w.p.scan(w.t.Context(), phase))
	var got []string
	for w.p.out.Stats().Length > 0 {
		f, err := w.p.out.Get(w.t.Context())
		w.check(err)
		rel, err := filepath.Rel(w.dir, f.Path)
		w.check(err)
		got = append(got, fmt.Sprintf("%v %s %s", f.Phase, filepath.ToSlash(rel), f.Key))
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("got  %q\nwant %q", got, want)
	}
}

func (w *watchedDir) counter(name string) float64 {
	for _, c := range w.p.Stats() {
		if c.Name == name {
			return c.Value
		}
	}
	w.t.Fatalf("no counter %s", name)
	return 0
}

// What is there comes in the order of time, from all directories below; names
// with dots before them, and files of other forms, do not.
func TestProviderScans(t *testing.T) {
	w := newWatchedDir(t)
	w.write("z.tar", "1")
	w.write("sub/deep/b.gz", "2")
	w.write("a.games", "3")
	w.write(".hidden.tar", "4")
	w.write(".git/c.tar", "5")
	w.write("d.games.tmp", "6")
	w.write("notes.txt", "7")
	w.check(os.MkdirAll(filepath.Join(w.dir, "e.tar"), 0o755)) // a directory
	w.expect(Initial, "initial z.tar z.tar", "initial sub/deep/b.gz sub/deep/b.gz", "initial a.games a.games")
	w.expect(Added)
	w.write("sub/new.tar", "8")
	w.write("b.games", "9")
	w.expect(Added, "added sub/new.tar sub/new.tar", "added b.games b.games")
	if n, other := w.counter("files"), w.counter("files_of_other_forms"); n != 5 || other != 2 {
		t.Errorf("%v files, %v of other forms", n, other)
	}
}

// Renamed, copied, linked, touched and rewritten files count once, and keep
// their key.
func TestProviderCountsOnce(t *testing.T) {
	w := newWatchedDir(t)
	w.write("a.tar", "one")
	w.write("b.tar", "two")
	w.expect(Initial, "initial a.tar a.tar", "initial b.tar b.tar")

	w.rename("a.tar", "sub/c.tar")
	w.expect(Added, "replaced sub/c.tar a.tar")
	w.write("copy.tar", "one")
	w.check(os.Symlink(filepath.Join(w.dir, "b.tar"), filepath.Join(w.dir, "link.tar")))
	w.expect(Added)
	if d, r := w.counter("files_duplicate"), w.counter("files_renamed"); d != 2 || r != 1 {
		t.Errorf("%v duplicates, %v renamed", d, r)
	}
	w.write("b.tar", "two") // touched; its link too
	w.expect(Added)
	w.remove("copy.tar")
	w.expect(Added)
	w.write("b.tar", "two and three") // appended to; the link sees it too
	w.expect(Added, "replaced b.tar b.tar")
	w.remove("link.tar")
	w.write("b.tar", "two, three and four")
	w.expect(Added, "replaced b.tar b.tar")
	if d, r := w.counter("files_duplicate"), w.counter("files_rewritten"); d != 0 || r != 2 {
		t.Errorf("%v duplicates, %v rewritten", d, r)
	}
}

func TestProviderRewritten(t *testing.T) {
	w := newWatchedDir(t)
	w.write("a.tar", "one")
	w.write("b.tar", "two")
	w.expect(Initial, "initial a.tar a.tar", "initial b.tar b.tar")
	w.write("a.tar", "one and more")
	w.expect(Added, "replaced a.tar a.tar")
	w.remove("a.tar")
	w.expect(Added, "removed a.tar a.tar")
	w.write("a.tar", "something else") // under the name of one that is gone
	w.expect(Added, "added a.tar a.tar")
	w.write("a.tar", "two") // it becomes a copy of another
	w.expect(Added, "removed a.tar a.tar")
	w.remove("b.tar")
	w.expect(Added, "replaced a.tar b.tar")
	w.remove("a.tar")
	w.expect(Added, "removed a.tar b.tar")
	w.write("back.tar", "two") // an old friend
	w.expect(Added, "added back.tar b.tar")
	if r, x := w.counter("files_rewritten"), w.counter("files_removed"); r != 1 || x != 3 {
		t.Errorf("%v rewritten, %v removed", r, x)
	}
}

// Another file may take a name whose content lives on elsewhere.
func TestProviderNewKey(t *testing.T) {
	w := newWatchedDir(t)
	w.write("a.tar", "one")
	w.expect(Initial, "initial a.tar a.tar")
	w.rename("a.tar", "b.tar")
	w.write("a.tar", "two")
	w.expect(Added, "replaced b.tar a.tar", "added a.tar a.tar#2")
	w.write("copy.tar", "two")
	w.expect(Added)
	w.write("a.tar", "three") // the copy stays
	w.expect(Added, "replaced copy.tar a.tar#2", "added a.tar a.tar#3")
}

// Large files are told apart by all of their bytes where size, beginning and
// end are the same.
func TestProviderFingerprint(t *testing.T) {
	w := newWatchedDir(t)
	text := strings.Repeat("0123456789abcdef", 3*fingerprintEdge/16)
	other := []byte(text)
	other[len(other)/2] ^= 1
	w.write("a.tar", text)
	w.write("b.tar", string(other))
	w.write("c.tar", text)
	w.expect(Initial, "initial a.tar a.tar", "initial b.tar b.tar")
	if w.counter("files_duplicate") != 1 {
		t.Error("the copy was not seen")
	}
	other[0] ^= 1
	w.write("d.tar", string(other))
	w.expect(Added, "added d.tar d.tar")
}

// After a restart with its state a file that was renamed meanwhile keeps its
// key; damaged state is refused and changes nothing.
func TestProviderState(t *testing.T) {
	w := newWatchedDir(t)
	w.write("a.tar", "one")
	w.write("b.tar", "two")
	w.expect(Initial, "initial a.tar a.tar", "initial b.tar b.tar")
	state := saved(t, w.p.Section())
	w.rename("a.tar", "c.tar")
	w.write("b.tar", "two, rewritten")
	w.restart()
	for n := range len(state) {
		if n == 0 || n == len(state)/2 {
			continue // whole entries
		}
		if err := w.p.load([]byte(state[:n])); err == nil {
			t.Fatalf("state cut to %d of %d bytes was taken", n, len(state))
		}
	}
	w.check(w.p.load([]byte(state)))
	if again := saved(t, w.p.Section()); again != state {
		t.Errorf("%q, want %q", again, state)
	}
	w.expect(Initial, "initial c.tar a.tar", "initial b.tar b.tar")
}

// A directory that cannot be read says nothing about its files.
func TestProviderUnreadable(t *testing.T) {
	w := newWatchedDir(t)
	w.write("sub/a.tar", "one")
	w.write("b.tar", "two")
	w.expect(Initial, "initial sub/a.tar sub/a.tar", "initial b.tar b.tar")
	w.p.options.FS = failingDir{fsx.OS, filepath.Join(w.dir, "sub")}
	w.remove("b.tar")
	w.expect(Added, "removed b.tar b.tar")
	w.p.options.FS = fsx.OS
	w.expect(Added)
	w.remove("sub")
	w.expect(Added, "removed sub/a.tar sub/a.tar")
	if w.counter("directories_unreadable") != 1 {
		t.Error("not counted")
	}
}

// failingDir is a file system with a directory that cannot be read.
type failingDir struct {
	fsx.FS
	dir string
}

func (f failingDir) ReadDir(name string) ([]os.DirEntry, error) {
	if name == f.dir {
		return nil, errors.New("input/output error")
	}
	return f.FS.ReadDir(name)
}

// Polling alone finds new files, and the marker comes once, after the first
// scan. Time is the test's own.
func TestProviderPolls(t *testing.T) {
	w := newWatchedDir(t)
	w.write("a.tar", "one")
	synctest.Test(t, func(t *testing.T) {
		w.p.settings.Watch, w.p.settings.PollSeconds = true, 5
		w.p.out = NewQueue[File](4, Block)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- w.p.Run(ctx) }()
		next := func() string {
			f, err := w.p.out.Get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%v %s", f.Phase, f.Key)
		}
		if a, b := next(), next(); a != "initial a.tar" || b != "initial-done " {
			t.Errorf("%q %q", a, b)
		}
		begin := time.Now()
		w.write("b.tar", "two")
		if got := next(); got != "added b.tar" || time.Since(begin) != 5*time.Second {
			t.Errorf("%q after %v", got, time.Since(begin))
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestProviderNoDirectory(t *testing.T) {
	w := newWatchedDir(t)
	w.remove("")
	err := w.p.Run(t.Context())
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), w.dir) {
		t.Error(err)
	}
}
