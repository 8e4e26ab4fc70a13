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
	if err := r.f.Close(); err != nil {
		return fmt.Errorf("rotate log file: %w", err)
	}
	name := func(n int) string { return fmt.Sprintf("%s.%d", r.path, n) }
	if r.keep == 0 {
		if err := os.Remove(r.path); err != nil {
			return fmt.Errorf("rotate log file: %w", err)
		}
		return r.open()
	}
	for n := r.keep - 1; n >= 0; n-- {
		from := name(n)
		if n == 0 {
			from = r.path
		}
		if err := os.Rename(from, name(n+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate log file: %w", err)
		}
	}
	return r.open()
}

// Close closes the file.
func (r *rotatingFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Close()
}
