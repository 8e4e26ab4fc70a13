package memfs

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// FS is an in-memory file system. Its root "/" exists; relative names are taken
// from the root.
type FS struct {
	mu      sync.Mutex
	root    *node
	space   fsx.Space
	ops     int
	tripped bool
	fault   fault
	life    int // counts restarts: files of an earlier life are dead
}

// node is a file or directory.
type node struct {
	dir bool

	data, synced []byte // file: current content, and what a power cut cannot take
	lost         bool   // a Sync failed: later ones persist nothing written before

	entries, syncedEntries map[string]*node
	pending                []change // of entries since the last SyncDir, oldest first
}

// change is one atomic change of a directory: names set (or removed, nil).
type change map[string]*node

func newDir() *node {
	return &node{dir: true, entries: map[string]*node{}, syncedEntries: map[string]*node{}}
}

// apply makes a change that is not durable yet.
func (d *node) apply(c change) {
	c.to(d.entries)
	d.pending = append(d.pending, c)
}

func (c change) to(entries map[string]*node) {
	for name, n := range c {
		if n == nil {
			delete(entries, name)
		} else {
			entries[name] = n
		}
	}
}

// New returns an empty file system with 1 TiB free of 1 TiB.
func New() *FS {
	return &FS{root: newDir(), space: fsx.Space{Free: 1 << 40, Total: 1 << 40}}
}

// SetSpace sets what Space answers. Writes are not limited by it.
func (m *FS) SetSpace(s fsx.Space) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.space = s
}

// Restart brings the machine back: what was not synced goes the way fate says,
// the planned fault ends, files that were open are dead. It also simulates a
// sudden power cut where none was planned.
func (m *FS) Restart(fate Fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life++
	m.fault = fault{}
	restart(m.root, fate, map[*node]bool{})
}

func restart(n *node, fate Fate, seen map[*node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if !n.dir {
		current := n.data
		if n.lost {
			current = n.synced
		}
		n.data = bytes.Clone(fate.Data(n.synced, current))
		n.synced, n.lost = bytes.Clone(n.data), false
		return
	}
	kept := n.pending[:fate.Entries(len(n.pending))]
	n.entries = maps.Clone(n.syncedEntries)
	for _, c := range kept {
		c.to(n.entries)
	}
	n.syncedEntries, n.pending = maps.Clone(n.entries), nil
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		restart(n.entries[name], fate, seen)
	}
}

// lookup finds a node. mu is held.
func (m *FS) lookup(name string) (*node, error) {
	n := m.root
	for _, part := range split(name) {
		if !n.dir {
			return nil, syscall.ENOTDIR
		}
		next, ok := n.entries[part]
		if !ok {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// parent finds the directory that holds name, and the base name. mu is held.
func (m *FS) parent(name string) (*node, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", fs.ErrInvalid
	}
	d, err := m.lookup(path.Join(parts[:len(parts)-1]...))
	if err == nil && !d.dir {
		err = syscall.ENOTDIR
	}
	return d, parts[len(parts)-1], err
}

func split(name string) []string {
	clean := strings.Trim(path.Clean("/"+filepath.ToSlash(name)), "/")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "/")
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// OpenFile is fsx.FS.OpenFile; permissions are ignored.
func (m *FS) OpenFile(name string, flag int, _ fs.FileMode) (fsx.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step("open", name); err != nil {
		return nil, err
	}
	d, base, err := m.parent(name)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	n, ok := d.entries[base]
	switch {
	case !ok && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, fs.ErrNotExist)
	case ok && flag&os.O_EXCL != 0:
		return nil, pathError("open", name, fs.ErrExist)
	case ok && n.dir:
		return nil, pathError("open", name, syscall.EISDIR)
	case !ok:
		n = &node{}
		d.apply(change{base: n})
	}
	if flag&os.O_TRUNC != 0 {
		n.data = nil
	}
	return &file{fs: m, node: n, name: name, flag: flag, life: m.life}, nil
}

// Mkdir is fsx.FS.Mkdir.
func (m *FS) Mkdir(name string, _ fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step("mkdir", name); err != nil {
		return err
	}
	d, base, err := m.parent(name)
	if err != nil {
		return pathError("mkdir", name, err)
	}
	if _, ok := d.entries[base]; ok {
		return pathError("mkdir", name, fs.ErrExist)
	}
	d.apply(change{base: newDir()})
	return nil
}

// Rename is fsx.FS.Rename. Between two directories it is two changes, as
// nothing promises that both reach the disk together.
func (m *FS) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step("rename", oldName); err != nil {
		return err
	}
	from, oldBase, err := m.parent(oldName)
	if err != nil {
		return pathError("rename", oldName, err)
	}
	to, newBase, err := m.parent(newName)
	if err != nil {
		return pathError("rename", newName, err)
	}
	n, ok := from.entries[oldBase]
	if !ok {
		return pathError("rename", oldName, fs.ErrNotExist)
	}
	if target, ok := to.entries[newBase]; ok && target != n {
		if target.dir != n.dir || (target.dir && len(target.entries) > 0) {
			return pathError("rename", newName, fs.ErrExist)
		}
	}
	if from == to {
		if oldBase != newBase {
			from.apply(change{oldBase: nil, newBase: n})
		}
		return nil
	}
	to.apply(change{newBase: n})
	from.apply(change{oldBase: nil})
	return nil
}

// Remove is fsx.FS.Remove.
func (m *FS) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step("remove", name); err != nil {
		return err
	}
	d, base, err := m.parent(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	n, ok := d.entries[base]
	if !ok {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if n.dir && len(n.entries) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	d.apply(change{base: nil})
	return nil
}

// ReadDir is fsx.FS.ReadDir.
func (m *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step("readdir", name); err != nil {
		return nil, err
	}
	d, err := m.lookup(name)
	if err == nil && !d.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	var list []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(d.entries)) {
		list = append(list, fs.FileInfoToDirEntry(infoOf(base, d.entries[base])))
	}
	return list, nil
}

// Stat is fsx.FS.Stat.
func (m *FS) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step("stat", name); err != nil {
		return nil, err
	}
	n, err := m.lookup(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return infoOf(filepath.Base(name), n), nil
}

// SyncDir is fsx.FS.SyncDir.
func (m *FS) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.lookup(name)
	if err == nil && !d.dir {
		err = syscall.ENOTDIR
	}
	if faultErr := m.step("syncdir", name); faultErr != nil {
		return faultErr
	}
	if err != nil {
		return pathError("syncdir", name, err)
	}
	d.syncedEntries, d.pending = maps.Clone(d.entries), nil
	return nil
}

// Space is fsx.FS.Space.
func (m *FS) Space(name string) (fsx.Space, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.step("statfs", name); err != nil {
		return fsx.Space{}, err
	}
	if _, err := m.lookup(name); err != nil {
		return fsx.Space{}, pathError("statfs", name, err)
	}
	return m.space, nil
}

// info is a fs.FileInfo.
type info struct {
	name string
	size int64
	dir  bool
}

func infoOf(name string, n *node) info { return info{name, int64(len(n.data)), n.dir} }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

var errDead = errors.New("file was open before the machine went down")
