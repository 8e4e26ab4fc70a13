package monitor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// appendFile is a file that only grows, and that a resume cuts back to where a
// checkpoint knew it.
type appendFile struct {
	path string
	f    *os.File
	w    *bufio.Writer
	size int64 // with what is buffered
}

// openAppend opens or creates the file and cuts it to size bytes. It fails with
// errShort, changing nothing, where the file has fewer.
func openAppend(path string, size int64) (*appendFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	a := &appendFile{path: path, f: f, w: bufio.NewWriterSize(f, 1<<16), size: size}
	if err := a.cut(size); err != nil {
		f.Close()
		return nil, err
	}
	return a, nil
}

var errShort = errors.New("shorter than the checkpoint says")

func (a *appendFile) cut(size int64) error {
	have, err := a.f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("size of %s: %w", a.path, err)
	}
	if have < size {
		return fmt.Errorf("%s: %w: %d of %d bytes", a.path, errShort, have, size)
	}
	if err := a.f.Truncate(size); err != nil {
		return fmt.Errorf("cut %s: %w", a.path, err)
	}
	if _, err := a.f.Seek(size, io.SeekStart); err != nil {
		return fmt.Errorf("seek in %s: %w", a.path, err)
	}
	return nil
}

// Write buffers b.
func (a *appendFile) Write(b []byte) (int, error) {
	n, err := a.w.Write(b)
	a.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("append to %s: %w", a.path, err)
	}
	return n, nil
}

// flush hands what is buffered to the operating system.
func (a *appendFile) flush() error {
	if err := a.w.Flush(); err != nil {
		return fmt.Errorf("append to %s: %w", a.path, err)
	}
	return nil
}

// sync returns the size once all of it is on stable storage.
func (a *appendFile) sync() (int64, error) {
	if err := a.flush(); err != nil {
		return 0, err
	}
	if err := a.f.Sync(); err != nil {
		return 0, fmt.Errorf("sync %s: %w", a.path, err)
	}
	return a.size, nil
}

func (a *appendFile) close() error {
	return errors.Join(a.flush(), a.f.Close())
}

// syncDir makes names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open directory %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// moveAside renames a file that holds anything to the first free name made by
// name(1), name(2), ... in its directory, and returns it; "" where there was
// nothing to keep.
func moveAside(path string, name func(n int) string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", path, err)
	}
	for n := 1; ; n++ {
		to := filepath.Join(filepath.Dir(path), name(n))
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(path, to); err != nil {
				return "", fmt.Errorf("move %s aside: %w", path, err)
			}
			return to, nil
		}
	}
}

// wholeLines returns the length of the whole lines among the first limit bytes
// of a file; 0 where there is no file.
func wholeLines(path string, limit int64) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at %s: %w", path, err)
	}
	end := min(info.Size(), limit)
	for end > 0 {
		start := max(end-1<<16, 0)
		block := make([]byte, end-start)
		if _, err := f.ReadAt(block, start); err != nil {
			return 0, fmt.Errorf("read %s: %w", path, err)
		}
		if i := bytes.LastIndexByte(block, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}
