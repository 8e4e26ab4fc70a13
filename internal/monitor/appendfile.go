package monitor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// appendFile is a buffered file that only grows, and that a resume cuts back to where
// a checkpoint knew it.
type appendFile struct {
	*bufio.Writer
	file *fsx.AppendFile
}

// openAppend opens or creates the file and cuts it to size bytes. It fails with
// errShort, changing nothing, where the file has fewer.
func openAppend(path string, size int64) (*appendFile, error) {
	f, err := fsx.OpenAppend(fsx.OS, path)
	if err != nil {
		return nil, err
	}
	if have := f.Size(); have < size {
		err = fmt.Errorf("%s: %w: %d of %d bytes", path, errShort, have, size)
	} else if have > size {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &appendFile{bufio.NewWriterSize(f, 1<<16), f}, nil
}

var errShort = errors.New("shorter than the checkpoint says")

// sync returns the size once all of it is on stable storage.
func (a *appendFile) sync() (int64, error) {
	if err := a.Flush(); err != nil {
		return 0, err
	}
	return a.file.Size(), a.file.Sync()
}

// close makes all of it durable and closes the file.
func (a *appendFile) close() error {
	_, err := a.sync()
	return errors.Join(err, a.file.Close())
}

// moveAside renames a file that holds anything to the first free name of format with
// 1, 2, ... in its directory, and returns it; "" where there was nothing to keep.
func moveAside(path, format string) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", path, err)
	}
	for n := 1; ; n++ {
		to := filepath.Join(filepath.Dir(path), fmt.Sprintf(format, n))
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
