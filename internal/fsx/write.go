package fsx

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/internal/spawn"
)

// tempSuffix ends the names of files and directories that are not whole yet.
// Such names also begin with a dot.
const tempSuffix = ".partial"

var tempCounter atomic.Uint64

// WriteFile makes path hold data, replacing what was there. nil means that the
// new content is on stable storage under its name; after an error or a crash
// path holds the whole old or the whole new content. ErrSync is fatal.
func WriteFile(fsys FS, path string, data []byte) error {
	return WriteFileFunc(fsys, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// PutFile is WriteFile into a directory that is made, durably, where it is not there.
func PutFile(fsys FS, path string, data []byte) error {
	if err := MkdirAll(fsys, filepath.Dir(path)); err != nil {
		return err
	}
	return WriteFile(fsys, path, data)
}

// WriteFileFunc is WriteFile of what write writes. The writer is buffered.
func WriteFileFunc(fsys FS, path string, write func(io.Writer) error) error {
	var f File
	temp, err := makeTemp(path, func(temp string) (err error) {
		f, err = fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err == nil {
		if err = cmp.Or(fillAndSync(f, write), f.Close()); err == nil {
			err = renameAndSync(fsys, temp, path)
		} else {
			fsys.Remove(temp)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// WriteUnsynced is WriteFile for what may be lost: nobody reads half of it, but after a crash
// of the machine path may be empty, or not there.
func WriteUnsynced(path string, data []byte) error {
	temp := tempName(path)
	err := os.WriteFile(temp, data, 0o666)
	if err == nil {
		err = osFS{}.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// WriteNamed is WriteFileFunc for a path that somebody named: the file that a symbolic link
// means is replaced, and what is no regular file, such as a device or a pipe, is written to.
func WriteNamed(path string, write func(io.Writer) error) error {
	if !Special(path) {
		return WriteFileFunc(OS, linked(path), write)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		w := bufio.NewWriterSize(f, 1<<16)
		err = errors.Join(cmp.Or(write(w), w.Flush()), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// linked is the path that a chain of symbolic links leads to, there or not.
func linked(path string) string {
	for range 40 {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
}

// Special says whether a path leads to what is neither file nor directory.
func Special(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// fillAndSync writes the content of f and makes it durable.
func fillAndSync(f File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := cmp.Or(write(w), w.Flush()); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return syncError(f.Name(), err)
	}
	return nil
}

// renameAndSync gives temp its final name and makes that durable. Without the
// directory's fsync a crash can undo the rename after the caller was told.
func renameAndSync(fsys FS, temp, path string) error {
	if err := fsys.Rename(temp, path); err != nil {
		RemoveAll(fsys, temp)
		return err
	}
	return SyncDir(fsys, filepath.Dir(path))
}

// SyncDir is FS.SyncDir with a failure reported as ErrSync.
func SyncDir(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil {
		return syncError(dir, err)
	}
	return nil
}

// makeTemp has something made under a temporary name beside path.
func makeTemp(path string, make1 func(temp string) error) (temp string, err error) {
	for range 100 {
		temp = tempName(path)
		if err = make1(temp); !errors.Is(err, fs.ErrExist) {
			return temp, err
		}
	}
	return "", fmt.Errorf("no free temporary name: %w", fs.ErrExist)
}

// tempName is a hidden name beside path, another one at each call.
func tempName(path string) string {
	dir, base := filepath.Split(path)
	return filepath.Join(dir, fmt.Sprintf(".%s.%d-%d-%s%s", base, os.Getpid(), tempCounter.Add(1), machine()+boot(), tempSuffix))
}

// IsTemp says whether a base name is one of WriteFile's or WriteDir's
// temporary names.
func IsTemp(base string) bool {
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, tempSuffix)
}

// RemovedMark is the mark of what RemoveDir was killed at.
const RemovedMark = ".old"

// MarkedTemp is the temporary name beside path that has a mark, for what RemoveTemps
// is to find after a kill.
func MarkedTemp(path, mark string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+mark+tempSuffix)
}

// RemoveTemps removes what crashed WriteFile and WriteDir calls left in dir, which need not
// be there. No other process may be writing in it, but with a mark: then it removes only
// what has that.
func RemoveTemps(fsys FS, dir, mark string) error {
	return removeWhere(fsys, dir, 0, func(e fs.DirEntry) bool {
		return IsTemp(e.Name()) && strings.HasSuffix(e.Name(), mark+tempSuffix)
	})
}

// tempOf are the process, the machine and its start, which earlier programs left out, of a
// temporary name.
var tempOf = regexp.MustCompile(`\.(\d+)-\d+(?:-([0-9a-f]{8})([0-9a-f]{8})?)?\` + tempSuffix + `$`)

// RemoveDead is RemoveTemps of a directory where other processes may be writing, and of
// those so many levels below it. What a living process of this machine is writing stays, and
// what was left before the machine was started goes. Of other machines nobody knows: an hour
// decides.
func RemoveDead(fsys FS, dir string, levels int) error {
	return removeWhere(fsys, dir, levels, dead)
}

// dead says whether nobody is writing under a temporary name any more.
func dead(e fs.DirEntry) bool {
	of := tempOf.FindStringSubmatch(e.Name())
	info, err := e.Info()
	if of == nil || err != nil || !IsTemp(e.Name()) { // or it has its final name meanwhile
		return false
	}
	if of[2] == machine() && of[3] != "" && of[3] != boot() {
		return true
	}
	// A process that was killed in a container may have had our number.
	if pid, err := strconv.Atoi(of[1]); err == nil && of[2]+of[3] == machine()+boot() && pid != os.Getpid() {
		return spawn.Gone(pid)
	}
	return time.Since(info.ModTime()) > time.Hour
}

// removeWhere removes what is left in dir and so many levels below it.
func removeWhere(fsys FS, dir string, levels int, left func(fs.DirEntry) bool) error {
	entries, err := fsys.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); left(e) {
			errs = append(errs, removeRenamed(fsys, path))
		} else if levels > 0 && e.IsDir() && !IsTemp(e.Name()) {
			errs = append(errs, removeWhere(fsys, path, levels-1, left))
		}
	}
	gone := func(err error) bool { return errors.Is(err, fs.ErrNotExist) } // another process removed it, too
	return errors.Join(slices.DeleteFunc(errs, gone)...)
}

// IsTempOf says whether a base name is one of WriteFile's temporary names for a file
// called final.
func IsTempOf(base, final string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(base, tempSuffix), "."+final+".")
	// Process and number. Without the dot it could be of final.json, without the dash a mark.
	return ok && IsTemp(base) && strings.Contains(rest, "-") && !strings.Contains(rest, ".")
}

// RemoveTempsOf removes what crashed WriteFile calls for path left beside it. Nobody may
// be writing it.
func RemoveTempsOf(fsys FS, path string) error {
	dir, final := filepath.Split(path)
	return removeWhere(fsys, filepath.Clean(dir), 0, func(e fs.DirEntry) bool { return IsTempOf(e.Name(), final) })
}

// LinkOrCopy makes to, which must not be there, the same file as from, or where they are on
// two disks a copy of it.
func LinkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	f, err := Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	return WriteFileFunc(OS, to, func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
}
