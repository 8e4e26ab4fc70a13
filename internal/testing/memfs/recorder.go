package memfs

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Recorder is the operating system's file system, and writes down every operation below a
// directory that changes something. A test puts it in the place of fsx.OS, lets a command
// run, and cuts the power afterwards, at every operation if it likes:
//
//	r, err := memfs.Record(dir)
//	fsx.OS = r
//	...                               // a command works in dir
//	m, err := r.Replay(n)             // the disk after n operations
//	m.Restart(memfs.Random(seed))     // and after a power cut there
//	err = m.Export("/", dir)          // from which the command starts again
//
// Files that the program opens beside fsx are not in the record: after a cut they are not
// there. Safe for concurrent use.
type Recorder struct {
	fsx.FS // the real one
	root   string

	mu       sync.Mutex
	there    []op // what makes the content that was there before
	ops      []op
	failures []Op
	files    int // opened
	fault    fault
	seen     int // operations since FailAt
}

// Op is one operation of a record.
type Op struct {
	Kind string // as in a fs.PathError: open, write, truncate, sync, mkdir, rename, remove, syncdir
	Path string // from the root of the record
	Data []byte // of a write
}

func (o Op) String() string { return fmt.Sprintf("%s %s (%d bytes)", o.Kind, o.Path, len(o.Data)) }

type op struct {
	Op
	to     string // of a rename
	flag   int    // of an open
	size   int64  // of a truncate
	file   int    // the opened file, from 1
	failed bool   // a sync that failed
}

// Record begins a record of what happens in dir, which must be there; so is its content.
func Record(dir string) (*Recorder, error) {
	r := &Recorder{FS: fsx.OS, root: dir}
	return r, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		name, _ := r.below(path)
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir():
			r.there = append(r.there, op{Op: Op{Kind: "mkdir", Path: name}})
		case e.Type().IsRegular():
			data, err := os.ReadFile(path)
			r.files++
			r.there = append(r.there, op{Op: Op{Kind: "open", Path: name}, flag: os.O_CREATE | os.O_WRONLY, file: r.files},
				op{Op: Op{Kind: "write", Path: name, Data: data}, file: r.files}, op{Op: Op{Kind: "sync", Path: name}, file: r.files})
			return err
		}
		return nil
	})
}

// FailAt lets the k-th operation from now (1 = the next) that is recorded fail with err, and
// all after it too if sticky. A failing write writes half of its bytes.
func (r *Recorder) FailAt(k int, err error, sticky bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen, r.fault = 0, fault{at: k, err: err, sticky: sticky}
}

// Ops returns the record.
func (r *Recorder) Ops() (ops []Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.ops {
		ops = append(ops, o.Op)
	}
	return ops
}

// Failures returns the operations that failed as planned.
func (r *Recorder) Failures() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}

// below returns the path from the root, and whether it is one.
func (r *Recorder) below(name string) (string, bool) {
	path, err := filepath.Abs(name)
	if err == nil {
		path, err = filepath.Rel(r.root, path)
	}
	return path, err == nil && filepath.IsLocal(path)
}

// do does an operation and records it. A failure that was planned takes its place.
func (r *Recorder) do(o *op, name string, act func() error) error {
	path, ok := r.below(name)
	if !ok {
		return act()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Path = path; o.to != "" {
		o.to, _ = r.below(o.to)
	}
	r.seen++
	if f := r.fault; f.at > 0 && (r.seen == f.at || r.seen > f.at && f.sticky) {
		r.failures = append(r.failures, o.Op)
		half := o.Kind == "write"
		if half {
			o.Data = o.Data[:len(o.Data)/2]
			half = act() == nil
		}
		if o.failed = o.Kind == "sync"; o.failed || half {
			r.ops = append(r.ops, *o)
		}
		return &fs.PathError{Op: o.Kind, Path: name, Err: f.err}
	}
	if err := act(); err != nil {
		return err
	}
	r.ops = append(r.ops, *o)
	return nil
}

// OpenFile is fsx.FS.OpenFile. A file that is only read is not in the record.
func (r *Recorder) OpenFile(name string, flag int, perm fs.FileMode) (f fsx.File, err error) {
	if _, ok := r.below(name); !ok || flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0 {
		return r.FS.OpenFile(name, flag, perm)
	}
	r.mu.Lock()
	r.files++
	number := r.files
	r.mu.Unlock()
	err = r.do(&op{Op: Op{Kind: "open"}, flag: flag, file: number}, name, func() error {
		f, err = r.FS.OpenFile(name, flag, perm)
		return err
	})
	return &recorded{File: f, r: r, number: number}, err
}

// Mkdir is fsx.FS.Mkdir.
func (r *Recorder) Mkdir(name string, perm fs.FileMode) error {
	return r.do(&op{Op: Op{Kind: "mkdir"}}, name, func() error { return r.FS.Mkdir(name, perm) })
}

// Rename is fsx.FS.Rename. Both names are below the root, or none.
func (r *Recorder) Rename(oldName, newName string) error {
	return r.do(&op{Op: Op{Kind: "rename"}, to: newName}, oldName, func() error { return r.FS.Rename(oldName, newName) })
}

// Remove is fsx.FS.Remove.
func (r *Recorder) Remove(name string) error {
	return r.do(&op{Op: Op{Kind: "remove"}}, name, func() error { return r.FS.Remove(name) })
}

// SyncDir is fsx.FS.SyncDir.
func (r *Recorder) SyncDir(name string) error {
	return r.do(&op{Op: Op{Kind: "syncdir"}}, name, func() error { return r.FS.SyncDir(name) })
}

// recorded is a file that was opened to be written.
type recorded struct {
	fsx.File
	r      *Recorder
	number int
}

func (f *recorded) do(o *op, act func() error) error {
	o.file = f.number
	return f.r.do(o, f.Name(), act)
}

func (f *recorded) Write(p []byte) (n int, err error) {
	o := &op{Op: Op{Kind: "write", Data: bytes.Clone(p)}}
	err = f.do(o, func() (err error) {
		n, err = f.File.Write(o.Data)
		return err
	})
	return n, err
}

func (f *recorded) Truncate(size int64) error {
	return f.do(&op{Op: Op{Kind: "truncate"}, size: size}, func() error { return f.File.Truncate(size) })
}
func (f *recorded) Sync() error     { return f.do(&op{Op: Op{Kind: "sync"}}, f.File.Sync) }
func (f *recorded) SyncData() error { return f.do(&op{Op: Op{Kind: "sync"}}, f.File.SyncData) }

// Replay returns the disk after the first n operations of the record: what was there before
// it is durable, of the rest what was synced.
func (r *Recorder) Replay(n int) (*FS, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, files := New(), map[int]*file{}
	for _, o := range r.there {
		if err := m.replay(o, files); err != nil {
			return nil, err
		}
	}
	m.Restart(KeepAll)
	clear(files)
	for _, o := range r.ops[:n] {
		if err := m.replay(o, files); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// replay does an operation of a record again.
func (m *FS) replay(o op, files map[int]*file) error {
	switch o.Kind {
	case "open":
		f, err := m.OpenFile(o.Path, o.flag, 0)
		if err == nil {
			files[o.file] = f.(*file)
		}
		return err
	case "mkdir":
		return m.Mkdir(o.Path, 0)
	case "rename":
		return m.Rename(o.Path, o.to)
	case "remove":
		return m.Remove(o.Path)
	case "syncdir":
		return m.SyncDir(o.Path)
	}
	f := files[o.file]
	switch {
	case o.Kind == "write":
		_, err := f.Write(o.Data)
		return err
	case o.Kind == "truncate":
		return f.Truncate(o.size)
	case o.failed:
		m.mu.Lock()
		defer m.mu.Unlock()
		f.node.lost = true
		return nil
	}
	return f.Sync()
}

// Export writes the content of a directory to one of the operating system's, which must not
// be there.
func (m *FS) Export(name, dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	entries, err := m.ReadDir(name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		from, to := strings.TrimSuffix(name, "/")+"/"+e.Name(), filepath.Join(dir, e.Name())
		if e.IsDir() {
			err = m.Export(from, to)
		} else if data, readErr := fsx.ReadFile(m, from); readErr != nil {
			err = readErr
		} else {
			err = os.WriteFile(to, data, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
