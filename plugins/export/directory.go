package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Publish copies files into the directory dst, which is made when needed: each under a
// temporary name, synced and renamed. Several files of one net become a directory
// <net name>, which appears as a whole. The sources stay. It is idempotent: the same net
// twice is no error. nil means that they are there and durable. One file
// replaces what has its name. Several are left alone where they are there
// already; a directory of that name with anything else in it is taken away first,
// so that for a moment there is none.
func Publish(ctx context.Context, fsys fsx.FS, dst string, files []string, net stage.NetInfo) error {
	if len(files) == 0 {
		return fmt.Errorf("publish net %s: no files", net.Name)
	}
	err := fsx.MkdirAll(fsys, dst)
	switch {
	case err != nil:
	case len(files) == 1:
		err = copyFile(ctx, fsys, files[0], dst)
	default:
		err = publishDir(ctx, fsys, dst, files, net.Name)
	}
	if err != nil {
		return fmt.Errorf("publish net %s: %w", net.Name, err)
	}
	return nil
}

func publishDir(ctx context.Context, fsys fsx.FS, dst string, files []string, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	target := filepath.Join(dst, name)
	info, err := fsys.Stat(target)
	if err == nil && info.IsDir() {
		same, err := holds(fsys, target, files)
		if same || err != nil {
			return err
		}
		if err := fsx.RemoveDir(fsys, target); err != nil {
			return err
		}
	}
	return fsx.WriteDir(fsys, target, func(tmp string) error {
		for _, file := range files {
			if err := copyFile(ctx, fsys, file, tmp); err != nil {
				return err
			}
		}
		return nil
	})
}

// holds says whether a directory holds just these files, with the same content.
func holds(fsys fsx.FS, dir string, files []string) (bool, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil || len(entries) != len(files) {
		return false, err
	}
	for _, file := range files {
		want, _, err := fsx.HashFile(fsys, file)
		if err != nil {
			return false, err
		}
		got, _, err := fsx.HashFile(fsys, filepath.Join(dir, filepath.Base(file)))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil || got != want {
			return false, err
		}
	}
	return true, nil
}

// Published returns where Publish puts files of a net below dst, and the
// directory that is theirs alone, "" for a single file.
func Published(dst string, files []string, net stage.NetInfo) (paths []string, dir string) {
	in := dst
	if len(files) > 1 {
		dir = filepath.Join(dst, net.Name)
		in = dir
	}
	for _, f := range files {
		paths = append(paths, filepath.Join(in, filepath.Base(f)))
	}
	return paths, dir
}

// copyFile copies one file into a directory, durably.
func copyFile(ctx context.Context, fsys fsx.FS, file, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in, err := fsys.OpenFile(file, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	return fsx.WriteFileFunc(fsys, filepath.Join(dir, filepath.Base(file)), func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
