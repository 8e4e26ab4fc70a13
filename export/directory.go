package export

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/stage"
)

// Directory publishes into a directory: each file is copied under a temporary
// name, synced and renamed. Several files of one net become a directory
// <net name>, which appears as a whole. The sources stay.
type Directory struct {
	fsys fsx.FS
	dst  string
}

var _ stage.Publisher = (*Directory)(nil)

// NewDirectory returns a publisher into dst, which is made when needed.
func NewDirectory(fsys fsx.FS, dst string) *Directory { return &Directory{fsys, dst} }

// Name returns "directory".
func (*Directory) Name() string { return "directory" }

// Publish copies files; nil means that they are there and durable. A net that
// is there already is written again if it is one file, and left if it is a
// directory, as that is always whole.
func (d *Directory) Publish(ctx context.Context, files []string, net stage.NetInfo) error {
	if len(files) == 0 {
		return fmt.Errorf("publish net %s: no files", net.Name)
	}
	if err := fsx.MkdirAll(d.fsys, d.dst); err != nil {
		return fmt.Errorf("publish net %s: %w", net.Name, err)
	}
	if len(files) == 1 {
		if err := d.copy(ctx, files[0], d.dst); err != nil {
			return fmt.Errorf("publish net %s: %w", net.Name, err)
		}
		return nil
	}
	if err := checkName(net.Name); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	target := filepath.Join(d.dst, net.Name)
	if info, err := d.fsys.Stat(target); err == nil && info.IsDir() {
		return nil
	}
	err := fsx.WriteDir(d.fsys, target, func(tmp string) error {
		for _, file := range files {
			if err := d.copy(ctx, file, tmp); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("publish net %s: %w", net.Name, err)
	}
	return nil
}

// copy copies one file into a directory, durably.
func (d *Directory) copy(ctx context.Context, file, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in, err := d.fsys.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	return fsx.WriteFileFunc(d.fsys, filepath.Join(dir, filepath.Base(file)), func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
