package api

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
)

// Limits of one export.
const (
	maxFiles       = 1000
	maxFileName    = 200      // bytes
	maxExportBytes = 64 << 30 // of all files together
)

// incoming are the files of one export while they come in: in a hidden directory
// beside their place, until all are complete. After a crash fsx.RemoveDead
// removes it.
type incoming struct {
	fsys      fsx.FS
	dst, temp string // temp = "" until the first file
	names     []string
	size      int64

	file fsx.File // the one that is being written; nil = none
	sum  hash.Hash
}

// piece takes the next part of a file.
func (in *incoming) piece(r *pluginpb.ExportReply) error {
	if in.file == nil {
		if err := in.begin(r.GetName()); err != nil {
			return err
		}
	}
	name := in.names[len(in.names)-1]
	if r.GetName() != name {
		return wrongAnswer("a part of file %.80q before %s has ended", r.GetName(), name)
	}
	if in.size += int64(len(r.GetData())); in.size > maxExportBytes {
		return wrongAnswer("more than %d GiB of files", maxExportBytes>>30)
	}
	if _, err := in.file.Write(r.GetData()); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(in.dst, name), err)
	}
	in.sum.Write(r.GetData())
	if len(r.GetSha256()) == 0 {
		return nil
	}
	if got := in.sum.Sum(nil); !bytes.Equal(got, r.GetSha256()) {
		return wrongAnswer("file %s: the plugin says SHA-256 %x, what came has %x", name, r.GetSha256(), got)
	}
	err := in.file.Sync()
	if err != nil {
		err = fmt.Errorf("sync %s: %w: %w", name, fsx.ErrSync, err)
	}
	err = errors.Join(err, in.file.Close())
	in.file = nil
	return err
}

// begin opens the next file.
func (in *incoming) begin(name string) error {
	if err := checkFileName(name); err != nil {
		return wrongAnswer("%w", err)
	}
	if slices.Contains(in.names, name) {
		return wrongAnswer("file %s comes twice", name)
	}
	if len(in.names) == maxFiles {
		return wrongAnswer("more than %d files", maxFiles)
	}
	if in.temp == "" {
		if err := fsx.MkdirAll(in.fsys, in.dst); err != nil {
			return err
		}
		temp, err := fsx.MkdirTemp(in.fsys, filepath.Join(in.dst, "export"))
		if err != nil {
			return err
		}
		in.temp = temp
	}
	file, err := in.fsys.OpenFile(filepath.Join(in.temp, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(in.dst, name), err)
	}
	in.file, in.sum, in.names = file, sha256.New(), append(in.names, name)
	return nil
}

// finish checks that the last file has ended and that there is one.
func (in *incoming) finish() error {
	switch {
	case in.file != nil:
		return wrongAnswer("export: file %s has no end", in.names[len(in.names)-1])
	case len(in.names) == 0:
		return wrongAnswer("export: the plugin wrote no file")
	}
	return nil
}

// commit gives the files their names, durably, and returns their paths. On error
// it takes back what it has named.
func (in *incoming) commit() ([]string, error) {
	paths, err := in.rename()
	if err == nil {
		return paths, nil
	}
	for _, path := range paths {
		in.fsys.Remove(path)
	}
	in.discard()
	return nil, fmt.Errorf("export: %w", err)
}

// rename moves the files to their place. On error it returns those that are there.
func (in *incoming) rename() (paths []string, err error) {
	for _, name := range in.names {
		path := filepath.Join(in.dst, name)
		if err := in.fsys.Rename(filepath.Join(in.temp, name), path); err != nil {
			return paths, err
		}
		paths = append(paths, path)
	}
	if err := in.fsys.Remove(in.temp); err != nil {
		return paths, err
	}
	return paths, fsx.SyncDir(in.fsys, in.dst)
}

// discard removes what has come in.
func (in *incoming) discard() {
	if in.file != nil {
		in.file.Close()
		in.file = nil
	}
	if in.temp != "" {
		fsx.RemoveAll(in.fsys, in.temp)
	}
}

// checkFileName refuses names that are no plain, visible file names.
func checkFileName(name string) error {
	switch {
	case name == "" || len(name) > maxFileName:
		return fmt.Errorf("file name of %d bytes, want 1 to %d", len(name), maxFileName)
	case strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\:`) || name != filepath.Base(name):
		return fmt.Errorf("file name %q is not a plain file name", name)
	case !printable(name):
		return fmt.Errorf("file name %q has characters that cannot be printed", name)
	}
	return nil
}
