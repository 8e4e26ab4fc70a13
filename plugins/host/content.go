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
	f, err := os.Open(file)
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
