package fsx

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// AppendFile is a file that grows at its end. Used by one goroutine at a time.
// After a failed Sync every call fails with ErrSync.
type AppendFile struct {
	path string
	f    File
	size int64 // bytes written
	err  error // sticky
}

// OpenAppend opens path for appending and makes it if it is missing; its
// directory entry is durable then.
func OpenAppend(fsys FS, path string) (*AppendFile, error) {
	return openAppend(fsys, path, 0)
}

// CreateAppend is OpenAppend of a file that must not exist (fs.ErrExist).
func CreateAppend(fsys FS, path string) (*AppendFile, error) {
	return openAppend(fsys, path, os.O_EXCL)
}

func openAppend(fsys FS, path string, flag int) (*AppendFile, error) {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|flag, 0o666)
	if err != nil {
		return nil, fmt.Errorf("open for appending: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = SyncDir(fsys, filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open for appending %s: %w", path, err)
	}
	return &AppendFile{path: path, f: f, size: info.Size()}, nil
}

// Path returns the name that the file was opened by.
func (a *AppendFile) Path() string { return a.path }

// Size returns the bytes of the file, synced or not.
func (a *AppendFile) Size() int64 { return a.size }

// Write appends p as a whole: after an error the file is cut back to what it
// was; where even that fails, every later call fails. nil does not mean
// durable: see Sync.
func (a *AppendFile) Write(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.f.Write(p)
	if err == nil {
		a.size += int64(n)
		return n, nil
	}
	err = fmt.Errorf("append to %s: %w", a.path, err)
	if cutErr := a.f.Truncate(a.size); cutErr != nil {
		a.err = fmt.Errorf("%w; cutting the torn end off: %w", err, cutErr)
	}
	return 0, err
}

// AddLine appends a value as a line of JSON; nil means on stable storage.
func (a *AppendFile) AddLine(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = a.Write(append(line, '\n'))
	}
	if err != nil {
		return err
	}
	return a.Sync()
}

// Sync puts everything written before on stable storage (fdatasync).
func (a *AppendFile) Sync() error {
	if a.err != nil {
		return a.err
	}
	if err := a.f.SyncData(); err != nil {
		a.err = syncError(a.path, err)
	}
	return a.err
}

// Truncate cuts the file back to size bytes, durably. A size beyond the end is
// an error.
func (a *AppendFile) Truncate(size int64) error {
	if a.err != nil {
		return a.err
	}
	if size < 0 || size > a.size {
		return fmt.Errorf("cut %s to %d bytes: it has %d", a.path, size, a.size)
	}
	if err := a.f.Truncate(size); err != nil {
		return fmt.Errorf("cut %s: %w", a.path, err)
	}
	a.size = size
	return a.Sync()
}

// Close closes the file without a Sync. A second Close does nothing.
func (a *AppendFile) Close() error {
	if a.f == nil {
		return nil
	}
	err := a.f.Close()
	a.f = nil
	if a.err == nil {
		a.err = &fs.PathError{Op: "use", Path: a.path, Err: fs.ErrClosed}
	}
	if err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("close %s: %w", a.path, err)
	}
	return nil
}
