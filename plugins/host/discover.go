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

// Dirs returns the plugin directories of a run, first to last: those of flags
// and configuration, those of $CHESSBRAIN_PLUGIN_DIR, and RUN/plugins. runDir
// may be empty.
func Dirs(flagDirs []string, runDir string) []string {
	all := append(slices.Clone(flagDirs), filepath.SplitList(os.Getenv(DirEnv))...)
	if runDir != "" {
		all = append(all, filepath.Join(runDir, "plugins"))
	}
	var dirs []string
	for _, dir := range all {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Discover returns the programs in dirs with their hashes, sorted by name. The
// first directory wins on equal names; a directory that is not there is passed
// over, and so are hidden files and files that cannot be executed.
func Discover(dirs []string) ([]Program, error) {
	programs, err := scan(dirs)
	if err != nil {
		return nil, err
	}
	for i := range programs {
		if programs[i].SHA256, err = hashProgram(programs[i].Path); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", programs[i].Name, err)
		}
	}
	return programs, nil
}

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
			return nil, fmt.Errorf("plugin directory: %w", err)
		}
		for _, e := range entries {
			p, ok := programAt(filepath.Join(dir, e.Name()))
			if ok && !seen[p.Name] {
				seen[p.Name] = true
				programs = append(programs, p)
			}
		}
	}
	slices.SortFunc(programs, func(a, b Program) int { return strings.Compare(a.Name, b.Name) })
	return programs, nil
}

// programAt says whether path is a program.
func programAt(path string) (Program, bool) {
	if strings.HasPrefix(filepath.Base(path), ".") {
		return Program{}, false
	}
	_, err := executableOf(path)
	return Program{Name: nameOf(path), Path: path}, err == nil
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
	return "", fmt.Errorf("directory %s holds no executable file plugin or plugin.*", path)
}

func executable(info fs.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }
