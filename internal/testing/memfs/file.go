package memfs

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// file is an open file.
type file struct {
	fs     *FS
	node   *node
	name   string
	flag   int
	life   int
	pos    int64
	closed bool
}

// begin counts an operation on the file. The caller holds fs.mu.
func (f *file) begin(op string) error {
	switch {
	case f.closed:
		return pathError(op, f.name, fs.ErrClosed)
	case f.life != f.fs.life:
		return pathError(op, f.name, errDead)
	}
	return f.fs.step(op, f.name)
}

func (f *file) Name() string { return f.name }

func (f *file) Read(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.begin("read"); err != nil {
		return 0, err
	}
	n, err := f.readAt(p, f.pos)
	f.pos += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.begin("read"); err != nil {
		return 0, err
	}
	return f.readAt(p, off)
}

func (f *file) readAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.begin("write"); err != nil {
		if f.closed || f.life != f.fs.life {
			return 0, err
		}
		return f.write(p[:len(p)/2]), err
	}
	if f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return 0, pathError("write", f.name, fs.ErrPermission)
	}
	return f.write(p), nil
}

func (f *file) write(p []byte) int {
	if f.flag&os.O_APPEND != 0 {
		f.pos = int64(len(f.node.data))
	}
	end := f.pos + int64(len(p))
	if grow := end - int64(len(f.node.data)); grow > 0 {
		f.node.data = append(f.node.data, make([]byte, grow)...)
	}
	copy(f.node.data[f.pos:], p)
	f.pos = end
	return len(p)
}

func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.begin("truncate"); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", f.name, fs.ErrInvalid)
	}
	if grow := size - int64(len(f.node.data)); grow > 0 {
		f.node.data = append(f.node.data, make([]byte, grow)...)
	}
	f.node.data = slices.Clip(f.node.data[:size])
	return nil
}

// Sync persists the content. After a failed one the data written until then
// never becomes durable, and later calls do not say so.
func (f *file) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.begin("sync"); err != nil {
		f.node.lost = !f.fs.fault.power
		return err
	}
	if !f.node.lost {
		f.node.synced = bytes.Clone(f.node.data)
	}
	return nil
}

func (f *file) SyncData() error { return f.Sync() }

func (f *file) Stat() (fs.FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.begin("stat"); err != nil {
		return nil, err
	}
	return infoOf(filepath.Base(f.name), f.node), nil
}

// Close closes the file even where it returns a planned error.
func (f *file) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err := f.begin("close")
	f.closed = true
	return err
}
