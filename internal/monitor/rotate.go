package monitor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// rotatingFile is an append-only log file that is renamed to NAME.1 (and NAME.1
// to NAME.2, ...) before a write would make it longer than max. Safe for
// concurrent use.
type rotatingFile struct {
	path string
	max  int64 // bytes; 0 = never rotated
	keep int   // renamed files that stay

	mu   sync.Mutex
	f    *os.File
	size int64
}

func openRotating(path string, max int64, keep int) (*rotatingFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	r := &rotatingFile{path: path, max: max, keep: keep}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rotatingFile) open() error {
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open log file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return fmt.Errorf("open log file: %w", err)
	}
	r.f, r.size = f, info.Size()
	return nil
}

// Write appends one log line.
func (r *rotatingFile) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.max > 0 && r.size > 0 && r.size+int64(len(b)) > r.max {
		if err := r.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := r.f.Write(b)
	r.size += int64(n)
	return n, err
}

// rotate renames the files upwards, the oldest falls off.
func (r *rotatingFile) rotate() error {
	err := r.f.Close()
	if err == nil && r.keep == 0 {
		err = os.Remove(r.path)
	}
	for n := r.keep; n > 0 && err == nil; n-- {
		from := r.path
		if n > 1 {
			from = fmt.Sprintf("%s.%d", r.path, n-1)
		}
		if err = os.Rename(from, fmt.Sprintf("%s.%d", r.path, n)); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("rotate log file: %w", err)
	}
	return r.open()
}

// Close closes the file.
func (r *rotatingFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Close()
}
