package loader

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

// fingerprint stands for a file's content. Different contents have different
// ones, as far as the ledger can see.
type fingerprint [16]byte

// content is what one or more files hold. Its key stays for good: through
// renames, rewriting in place, and times when no file holds it.
type content struct {
	key     string
	print   fingerprint
	paths   []string // files that hold it, the one that was handed on first; none = it is gone for now
	size    int64
	modTime int64
}

// ledger knows what was handed on, and turns what a scan finds into events, so
// that a file counts once whatever becomes of it.
type ledger struct {
	print  func(f seen) (fingerprint, error)
	files  map[string]*ledgerFile // by path
	prints map[fingerprint]*content
	keys   map[string]*content

	renamed, rewritten, removed int
}

// ledgerFile is a file as it was last seen.
type ledgerFile struct {
	seen
	content *content // nil = it could not be read
}

func newLedger(print func(seen) (fingerprint, error)) *ledger {
	return &ledger{print: print, files: map[string]*ledgerFile{}, prints: map[fingerprint]*content{}, keys: map[string]*content{}}
}

// alive counts the contents that some file holds, and the files beside the
// first of each.
func (l *ledger) alive() (contents, copies int) {
	for _, c := range l.keys {
		if n := len(c.paths); n > 0 {
			contents++
			copies += n - 1
		}
	}
	return contents, copies
}

// update takes in a scan, files in the order in which new ones are to be handed
// on, and returns the events (File.Path is below the watched directory) and the
// files that could not be read. Of what lies in the failed directories nothing
// is known. phase is that of new files.
//
// New paths come first, so that a file that has moved is known under its new
// name before another takes its old one; then those that have changed; then
// those that a rewritten file has left behind.
func (l *ledger) update(ctx context.Context, phase Phase, files []seen, failed []string) (events []File, bad map[string]error) {
	there := make(map[string]seen, len(files))
	for _, f := range files {
		there[f.rel] = f
	}
	bad = map[string]error{}
	for _, wanted := range []func(known *ledgerFile, f seen) bool{
		func(known *ledgerFile, _ seen) bool { return known == nil },
		func(known *ledgerFile, f seen) bool { return known != nil && (known.content == nil || known.seen != f) },
		func(known *ledgerFile, _ seen) bool { return known != nil && known.content == nil },
	} {
		for _, f := range files {
			if bad[f.rel] != nil || !wanted(l.files[f.rel], f) {
				continue
			}
			if ctx.Err() != nil {
				return events, bad // what was not looked at is looked at next time
			}
			print, err := l.print(f)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it went away meanwhile: the next scan will miss it
			}
			if err != nil {
				bad[f.rel] = fmt.Errorf("read %s: %w", f.rel, err) // another try at the next scan
				continue
			}
			events = append(events, l.place(f, print, phase, there)...)
		}
	}
	return append(events, l.missing(there, failed)...), bad
}

// place says what a file that is new or has changed means: up to two events.
// there is what the scan has seen.
func (l *ledger) place(now seen, print fingerprint, phase Phase, there map[string]seen) (events []File) {
	f := l.files[now.rel]
	if f == nil {
		f = &ledgerFile{}
		l.files[now.rel] = f
	}
	f.seen = now
	old, same := f.content, l.prints[print]
	switch {
	case old != nil && old == same: // touched
		old.modTime = f.modTime
		return nil
	case old != nil && same == nil && old.paths[0] == f.rel && !l.heldElsewhere(old, there):
		l.rewritten++
		for _, rel := range old.paths[1:] {
			l.files[rel].content = nil
		}
		delete(l.prints, old.print)
		return []File{l.hold(f, old, print, Replaced)}
	case old != nil: // it leaves others that hold the old content, or joins others
		events = l.drop(f)
	}
	switch {
	case same != nil && len(same.paths) > 0: // a copy
		same.paths = append(same.paths, f.rel)
		f.content = same
		return events
	case same != nil: // it comes back
		return append(events, l.hold(f, same, print, phase))
	}
	if c := l.keys[f.rel]; c != nil && len(c.paths) == 0 { // another content under the name of one that is gone
		delete(l.prints, c.print)
		return append(events, l.hold(f, c, print, phase))
	}
	c := &content{key: l.newKey(f.rel)}
	l.keys[c.key] = c
	return append(events, l.hold(f, c, print, phase))
}

// heldElsewhere says whether a copy of the first file of c is there, unchanged.
func (l *ledger) heldElsewhere(c *content, there map[string]seen) bool {
	return slices.ContainsFunc(c.paths[1:], func(rel string) bool { return there[rel] == l.files[rel].seen })
}

// newKey returns a key for a content that was first seen as rel.
func (l *ledger) newKey(rel string) string {
	key := rel
	for n := 2; l.keys[key] != nil; n++ {
		key = fmt.Sprintf("%s#%d", rel, n)
	}
	return key
}

// hold makes f the file of content c, and returns the event.
func (l *ledger) hold(f *ledgerFile, c *content, print fingerprint, phase Phase) File {
	c.print, c.paths, c.size, c.modTime = print, []string{f.rel}, f.size, f.modTime
	f.content = c
	l.prints[print] = c
	return c.event(phase)
}

// drop takes f away from its content. The event says that the content lies
// elsewhere, or is gone; none where another file was the one handed on.
func (l *ledger) drop(f *ledgerFile) []File {
	c := f.content
	f.content = nil
	i := slices.Index(c.paths, f.rel)
	c.paths = slices.Delete(c.paths, i, i+1)
	switch {
	case len(c.paths) == 0:
		l.removed++
		e := c.event(Removed)
		e.Path = f.rel
		return []File{e}
	case i == 0:
		l.renamed++
		return []File{c.event(Replaced)}
	}
	return nil
}

// event says something of a content.
func (c *content) event(phase Phase) File {
	f := File{Key: c.key, Phase: phase, ModTime: c.modTime}
	if len(c.paths) > 0 {
		f.Path = c.paths[0]
	}
	return f
}

// missing forgets the files that are no longer there.
func (l *ledger) missing(there map[string]seen, failed []string) (events []File) {
	var gone []string
	for rel := range l.files {
		if _, ok := there[rel]; !ok && !slices.ContainsFunc(failed, func(dir string) bool {
			return dir == "" || rel == dir || strings.HasPrefix(rel, dir+"/")
		}) {
			gone = append(gone, rel)
		}
	}
	slices.Sort(gone)
	for _, rel := range gone {
		f := l.files[rel]
		delete(l.files, rel)
		if f.content != nil {
			events = append(events, l.drop(f)...)
		}
	}
	return events
}

// Section is the keys of all contents: for each, in the order of the keys,
// uvarint length of the key, the key, 16 bytes of fingerprint. After Load a
// file that was renamed in between keeps its key.
func (p *filePathProvider) Section() stage.Section {
	return replay.BytesSection(p.config.Name, "list of files", 1, p.save, p.load)
}

func (p *filePathProvider) save() (data []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(p.ledger.keys)) {
		c := p.ledger.keys[key]
		data = binary.AppendUvarint(data, uint64(len(key)))
		data = append(data, key...)
		data = append(data, c.print[:]...)
	}
	return data, nil
}

func (p *filePathProvider) load(data []byte) error {
	l := newLedger(p.fingerprint)
	for d := (replay.Decoder{Data: data}); d.More(); {
		c := &content{key: string(d.Bytes(uint64(len(data))))}
		copy(c.print[:], d.Take(len(c.print)))
		if d.Err != nil || c.key == "" {
			return fmt.Errorf("list of files of %d bytes is damaged at byte %d", len(data), d.Pos)
		}
		if l.keys[c.key] != nil {
			return fmt.Errorf("list of files: %q is in it twice", c.key)
		}
		l.keys[c.key] = c
		l.prints[c.print] = c
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger = l
	return nil
}
