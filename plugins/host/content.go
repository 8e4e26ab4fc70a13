package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// maxFiles bounds the files of a program that is a directory.
const maxFiles = 10_000

// filesOf returns what belongs to the program at path: relative names, sorted,
// "" for a program that is one file. In a directory hidden files and Python's
// __pycache__ do not belong to it: they are neither hashed nor copied. A directory
// that others can write to is ErrUnsafe.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{""}, nil
	}
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	var names []string
	err = filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == root:
			return checkSafeDir(file)
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "__pycache__":
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case e.IsDir():
			return checkSafeDir(file)
		case !e.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory: a plugin's directory holds nothing else", file)
		case len(names) == maxFiles:
			return fmt.Errorf("%s holds more than %d files", path, maxFiles)
		}
		name, err := filepath.Rel(root, file)
		names = append(names, name)
		return err
	})
	slices.Sort(names)
	return names, err
}

// hashProgram returns the SHA-256 of the program at path, hexadecimal. ErrUnsafe:
// others can change it.
func hashProgram(path string) (string, error) {
	names, err := filesOf(path)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	for _, name := range names {
		one := sha256.New()
		if err := readInto(one, filepath.Join(path, name)); err != nil {
			return "", err
		}
		if name == "" {
			return hex.EncodeToString(one.Sum(nil)), nil
		}
		fmt.Fprintf(all, "%s\x00%x\n", filepath.ToSlash(name), one.Sum(nil))
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

// copyProgram copies the program at path to dst, which must not exist. The copy
// belongs to this user alone.
func copyProgram(path, dst string) error {
	names, err := filesOf(path)
	if err != nil {
		return err
	}
	for _, name := range names {
		target := filepath.Join(dst, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(path, name), target); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(src, dst string) (err error) {
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if executable(info) {
		mode = 0o700
	}
	f, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return readInto(f, src)
}

// readInto writes the content of a file of a program to w. The file that is open is
// the one that is held against checkSafe: another under its name comes too late.
func readInto(w io.Writer, file string) error {
	f, err := fsx.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = checkSafe(file, info)
	}
	if err == nil {
		_, err = io.Copy(w, f)
	}
	return err
}

// checkSafeDir is checkSafe of the directory at path.
func checkSafeDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return checkSafe(path, info)
}

// install makes the private copy of a program that runs, of a content that the
// lock files allow and that nobody else can choose.
func (h *Host) install(proc *process) (err error) {
	p := &proc.program
	file, err := executableOf(p.Path)
	if err != nil {
		return err
	}
	if err := checkSafeDir(filepath.Dir(p.Path)); err != nil { // who can write there exchanges it
		return err
	}
	sum, err := hashProgram(p.Path)
	if err != nil {
		return err
	}
	if p.SHA256 != "" && p.SHA256 != sum {
		return mark(ErrLock, fmt.Errorf("%s was changed: it had SHA-256 %s when it was found and has %s now", p.Path, p.SHA256, sum))
	}
	p.SHA256 = sum
	if err := checkLocks(h.o.LockFiles, *p); err != nil {
		return err
	}
	h.o.hook("hashed")
	if proc.dir, err = h.rooms.add(); err != nil {
		return err
	}
	copied := filepath.Join(proc.dir, "program", filepath.Base(p.Path))
	if err := copyProgram(p.Path, copied); err != nil {
		return err
	}
	got, err := hashProgram(copied)
	if err != nil {
		return err
	}
	if got != sum {
		return mark(ErrLock, fmt.Errorf("%s was changed while it was being started", p.Path))
	}
	h.o.hook("copied")
	below, err := filepath.Rel(p.Path, file) // "." for a single file
	if err != nil {
		return err
	}
	proc.child = &child{
		path: filepath.Join(copied, below), exited: make(chan struct{}), memory: h.o.Memory,
		logs: &logs{log: h.o.Log.With("plugin", p.Name)},
	}
	return nil
}

// environment is what a process sees of the host's, and what the options add.
// Its temporary files lie in its private directory, and go with it.
func (h *Host) environment(proc *process) ([]string, error) {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	temp := os.TempDir()
	if filepath.Dir(filepath.Dir(proc.dir)) == filepath.Clean(temp) { // else it has a place of its own for a reason
		temp = filepath.Join(proc.dir, "tmp")
		if err := os.Mkdir(temp, 0o700); err != nil {
			return nil, err
		}
	}
	if h.o.Memory > 0 {
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", h.o.Memory/10*9))
	}
	return append(append(env, "TMPDIR="+temp), h.o.Env...), nil
}

// remove deletes what install made.
func (p *process) remove() error {
	if err := os.RemoveAll(p.dir); err != nil { // none for ""
		return errors.Join(errors.New("the plugin's private directory stays"), err)
	}
	return nil
}
