package cycle

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// DiskStatus is what a run takes on disk.
type DiskStatus struct {
	Used  int64            `json:"used"`
	Parts map[string]int64 `json:"parts"` // of Used, by the name in the run directory; files there are "files"
	Free  uint64           `json:"free"`
	Total uint64           `json:"total"`
	Keep  uint64           `json:"keep_free"` // below this nobody plays on
}

// readDisk adds up the sizes of the run's files. Files that go away meanwhile do
// not count.
func readDisk(root string) (DiskStatus, error) {
	d := DiskStatus{Parts: map[string]int64{}}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err != nil {
			return gone(err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		part, _, below := strings.Cut(filepath.ToSlash(rel), "/")
		if !below {
			part = "files"
		}
		d.Parts[part] += info.Size()
		d.Used += info.Size()
		return nil
	})
	if err != nil {
		return d, fmt.Errorf("disk use: %w", err)
	}
	space, err := fsx.OS.Space(root)
	if err != nil {
		return d, fmt.Errorf("disk use: %w", err)
	}
	d.Free, d.Total = space.Free, space.Total
	d.Keep = max(fsx.DefaultReserve.Bytes, uint64(fsx.DefaultReserve.Share*float64(space.Total)))
	return d, nil
}

// gone drops the error of what is not there any more.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
