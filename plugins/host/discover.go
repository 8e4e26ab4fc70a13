package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DirEnv names the environment variable with more plugin directories, separated
// as in PATH.
const DirEnv = "CHESSBRAIN_PLUGIN_DIR"

// Program is a plugin as it lies on disk: an executable file, or a directory
// with an executable file "plugin" or "plugin.*" in it.
type Program struct {
	Name   string // the file's name without its extension, or the directory's name; the stage has to call itself so
	Path   string // of the file or the directory
	SHA256 string // hexadecimal, of the content; of a directory over the names and hashes of its files
}

// Dirs returns the directories in which programs are looked for, first to last:
// those that flags and configuration name, and those of $CHESSBRAIN_PLUGIN_DIR. No
// other place counts, a run directory least of all: it is data that travels, and
// what lies in it would run with the rights of whoever looks at it.
func Dirs(named []string) []string {
	var dirs []string
	for _, dir := range append(slices.Clone(named), filepath.SplitList(os.Getenv(DirEnv))...) {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Discover returns the programs in dirs with their hashes, sorted by name, and
// starts none. The first directory wins on equal names; a directory that is not
// there is passed over, and so are hidden files and files that cannot be executed.
// The error names every program that cannot be used (ErrUnsafe: others can change
// it); those that can are returned beside it. A directory that others can write to
// is refused as a whole.
func Discover(dirs []string) ([]Program, error) {
	found, err := scan(dirs)
	if err != nil {
		return nil, err
	}
	var programs []Program
	var bad []error
	for _, p := range found {
		if p.SHA256, err = hashProgram(p.Path); err != nil {
			bad = append(bad, refused(p.Name, err))
			continue
		}
		programs = append(programs, p)
	}
	return programs, errors.Join(bad...)
}

// refused is the error of a program or directory of which nothing runs.
func refused(name string, err error) error { return &Error{Name: name, Did: "is refused", Err: err} }

// scan is Discover without the hashes.
func scan(dirs []string) ([]Program, error) {
	var programs []Program
	seen := map[string]bool{}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir) // sorted by name
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("plugin directory: %w; --plugin-dir and $%s name directories", err, DirEnv)
		}
		if err := checkSafeDir(dir); err != nil {
			return nil, refused("directory", err)
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			name := nameOf(path)
			if _, err := executableOf(path); err == nil && e.Name()[0] != '.' && !seen[name] {
				seen[name] = true
				programs = append(programs, Program{Name: name, Path: path})
			}
		}
	}
	slices.SortFunc(programs, func(a, b Program) int { return strings.Compare(a.Name, b.Name) })
	return programs, nil
}

// passedOver lists what lies in the plugin directories, not hidden, and is no program, and why.
func (h *Host) passedOver() (lines []Listed) {
	for _, dir := range h.o.Dirs {
		paths, _ := filepath.Glob(filepath.Join(dir, "[^.]*"))
		for _, path := range paths {
			if _, err := executableOf(path); err != nil {
				lines = append(lines, Listed{Name: nameOf(path), Path: path, Error: strings.TrimPrefix(err.Error(), path+" ")})
			}
		}
	}
	return lines
}

// nameOf returns the name of the program at path.
func nameOf(path string) string {
	name := filepath.Base(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return name
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// executableOf returns the file to execute of the program at path: path itself
// or, in a directory, "plugin" or else the first "plugin.*".
func executableOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		if !executable(info) {
			return "", fmt.Errorf("%s is not an executable file: chmod +x", path)
		}
		return path, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	for _, e := range entries { // sorted: "plugin" comes before "plugin.*"
		if name := e.Name(); name == "plugin" || strings.HasPrefix(name, "plugin.") {
			if info, err := e.Info(); err == nil && executable(info) {
				return filepath.Join(path, name), nil
			}
		}
	}
	return "", fmt.Errorf("%s holds no executable file plugin or plugin.*", path)
}
