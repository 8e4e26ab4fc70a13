package loader

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// filePathProvider watches a directory and all below it for files of chunks.
// Names that begin with a dot, and names of other forms, are ignored.
type filePathProvider struct {
	*build
	settings *FilePathProvider
	out      *Queue[File]

	mu     sync.Mutex // held for a whole scan
	ledger *ledger

	scans, failed int // scans, directories that could not be read

	counters atomic.Pointer[[]Counter] // after the last scan
}

func newFilePathProvider(b *build) (Stage, error) {
	s := b.config.FilePathProvider
	if s.Directory == "" {
		return nil, errors.New("no directory; add directory: the one that holds the chunk files")
	}
	p := &filePathProvider{build: b, settings: s, out: queuesOf[File](b.out)[0]}
	p.ledger = newLedger(p.fingerprint)
	p.count(0)
	return p, replay.Wrong(s.Watch && !(s.PollSeconds > 0), "poll_seconds: %v; it must be above 0", s.PollSeconds)
}

// Run scans once, says that it has, and goes on where it watches.
func (p *filePathProvider) Run(ctx context.Context) error {
	if _, err := p.options.FS.ReadDir(p.settings.Directory); err != nil {
		return fmt.Errorf("watch directory %s: %w; create it, or correct directory", p.settings.Directory, err)
	}
	if err := p.scan(ctx, Initial); err != nil {
		return err
	}
	if err := p.out.Put(ctx, File{Phase: InitialDone}); err != nil {
		return err
	}
	if !p.settings.Watch {
		return nil
	}
	interval := time.Duration(p.settings.PollSeconds * float64(time.Second))
	for {
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
		if err := p.scan(ctx, Added); err != nil { // ctx's, where it has ended
			return err
		}
	}
}

// scan looks at the directory once and hands on what is new.
func (p *filePathProvider) scan(ctx context.Context, phase Phase) error {
	w := walk{fs: p.options.FS, root: p.settings.Directory, only: p.settings.File}
	w.dir(ctx, "")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	slices.SortFunc(w.files, func(a, b seen) int {
		return age{a.modTime, a.rel}.compare(age{b.modTime, b.rel})
	})
	p.mu.Lock()
	events, bad := p.ledger.update(ctx, phase, w.files, w.failed)
	p.scans++
	p.failed += len(w.failed)
	p.count(w.ignored)
	p.mu.Unlock()
	for rel, err := range bad {
		p.quarantine.Add(rel, err)
	}
	for _, f := range events {
		f.Path = filepath.Join(p.settings.Directory, filepath.FromSlash(f.Path))
		if err := p.out.Put(ctx, f); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// count notes the counters after a scan that saw so many files of other forms.
func (p *filePathProvider) count(ignored int) {
	l := p.ledger
	files, duplicates := l.alive()
	p.counters.Store(&[]Counter{gauge("files", files), gauge("files_duplicate", duplicates),
		{Name: "files_renamed", Value: float64(l.renamed)}, {Name: "files_rewritten", Value: float64(l.rewritten)},
		{Name: "files_removed", Value: float64(l.removed)}, gauge("files_of_other_forms", ignored),
		{Name: "scans", Value: float64(p.scans)}, {Name: "directories_unreadable", Value: float64(p.failed)}})
}

func (p *filePathProvider) Stats() []Counter { return *p.counters.Load() }

// seen is a file as a scan finds it.
type seen struct {
	rel           string // below the watched directory, with slashes
	size, modTime int64
}

// walk goes through the directories of one scan.
type walk struct {
	fs      fsx.FS
	root    string
	only    string // file of the root; "" = all
	files   []seen
	failed  []string // directories that could not be read: nothing is known of what is below
	ignored int
}

// dir looks through one directory, rel below the root.
func (w *walk) dir(ctx context.Context, rel string) {
	full := filepath.Join(w.root, filepath.FromSlash(rel))
	entries, err := w.fs.ReadDir(full)
	if err != nil {
		if rel == "" || !errors.Is(err, fs.ErrNotExist) {
			w.failed = append(w.failed, rel)
		}
		return
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		name := e.Name()
		sub := path.Join(rel, name)
		switch {
		case w.only != "" && name != w.only, w.only == "" && strings.HasPrefix(name, "."):
		case e.IsDir():
			w.dir(ctx, sub)
		case openerOf(name) == nil:
			w.ignored++
		default:
			info, err := w.fs.Stat(filepath.Join(full, name)) // follows links
			if err == nil && info.Mode().IsRegular() {
				w.files = append(w.files, seen{sub, info.Size(), info.ModTime().UnixNano()})
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.failed = append(w.failed, sub)
			}
		}
	}
}

// fingerprintEdge is how much of a file's beginning and of its end its
// fingerprint looks at.
const fingerprintEdge = 64 << 10

// fingerprint is made of a file's size, beginning and end; where another file
// has the same, of all of it. Reads at most 128 KiB of most files.
func (p *filePathProvider) fingerprint(f seen) (fingerprint, error) {
	edges, err := p.hashFile(f.rel, f.size, fingerprintEdge)
	if err != nil || f.size <= 2*fingerprintEdge {
		return edges, err // that was all of it
	}
	other := p.ledger.prints[edges]
	if other == nil || len(other.paths) == 0 || other.paths[0] == f.rel {
		return edges, nil
	}
	whole, err := p.hashFile(f.rel, f.size, f.size)
	if err != nil {
		return edges, err
	}
	if otherWhole, err := p.hashFile(other.paths[0], other.size, other.size); err != nil || otherWhole == whole {
		return edges, nil // it is going away: then this is what it is called now
	}
	return whole, nil
}

// hashFile hashes the size, and the first and last edge bytes of a file.
func (p *filePathProvider) hashFile(rel string, size, edge int64) (print fingerprint, err error) {
	file, err := p.options.FS.OpenFile(filepath.Join(p.settings.Directory, filepath.FromSlash(rel)), os.O_RDONLY, 0)
	if err != nil {
		return print, err
	}
	defer file.Close()
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(size)))
	first := min(edge, size)
	last := min(edge, size-first)
	n, err := io.Copy(h, io.MultiReader(
		io.NewSectionReader(file, 0, first), io.NewSectionReader(file, size-last, last)))
	if err == nil && n != first+last {
		err = fmt.Errorf("it has become shorter than %d bytes while it was read", size)
	}
	return fingerprint(h.Sum(nil)[:len(print)]), err
}
