//go:build linux || darwin

package emulated

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Folders of the module's root that hold what is compiled.
const (
	kernelFolder  = "nn/cuda/kernels"
	runtimeFolder = "internal/testing/emulated/runtime"
)

// flags of every compilation. Kernels reinterpret memory freely, as nvcc allows, but
// a misaligned access traps, as on a GPU. Line numbers are for faults.
var flags = []string{
	"-std=c++17", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", "-ffp-contract=off", "-U_FORTIFY_SOURCE",
	"-fsanitize=alignment", "-fsanitize-undefined-trap-on-error", "-g1", "-Wno-unknown-pragmas", "-DF32", "-DHALF",
}

// checkedFlags let a kernel tell the runtime of each access to memory (races.h,
// profile.h). The optimiser is neither to merge or split accesses nor lines, nor to
// make calls of its own: a struct of 16 bytes moves at once, as on a GPU. The runtime
// takes the place of the sanitizer's library: that is not linked, and the others are
// named.
var checkedFlags = []string{
	"-fsanitize=thread", "-fno-tree-vectorize", "-fno-tree-loop-distribute-patterns", "-fno-tree-sra", "-fno-ipa-sra", "-fno-crossjumping", "-fno-tree-tail-merge",
	"-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset", "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset",
	"-nodefaultlibs",
}

// compiler finds a C++ compiler: $CXX, else the first of the usual names.
var compiler = sync.OnceValues(func() (string, error) {
	names := []string{"g++", "c++", "clang++"}
	if s := os.Getenv("CXX"); s != "" {
		names = []string{s}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no C++ compiler found (tried %s): install g++ or set CXX", strings.Join(names, ", "))
})

// root returns the folder of go.mod: tests run in their package's folder.
var root = sync.OnceValues(func() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, kernelFolder)); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s in a folder above %s: the emulator runs in the source tree only", kernelFolder, at)
		}
	}
})

// supported says why kernels cannot be run here.
func supported() error {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return fmt.Errorf("the emulator knows amd64 and arm64, not %s", runtime.GOARCH)
	}
	if _, err := compiler(); err != nil {
		return err
	}
	_, err := root()
	return err
}

// checkedSupported says why kernels that report their accesses cannot be built here.
func checkedSupported() error {
	cxx, err := compiler()
	if err != nil {
		return err
	}
	version, err := exec.Command(cxx, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", cxx, err)
	}
	if runtime.GOOS != "linux" || bytes.Contains(version, []byte("clang")) {
		return fmt.Errorf("kernels that report their accesses need Linux and GCC (%s on %s): set CXX", cxx, runtime.GOOS)
	}
	return nil
}

// profileSupported says why accesses cannot be counted here: another compiler may
// split or join them otherwise than nvcc does.
func profileSupported() error {
	if err := checkedSupported(); err != nil {
		return err
	}
	cxx, err := compiler()
	if err != nil {
		return err
	}
	version, err := exec.Command(cxx, "-dumpversion").Output()
	if err != nil {
		return fmt.Errorf("%s -dumpversion: %w", cxx, err)
	}
	major, _, _ := strings.Cut(strings.TrimSpace(string(version)), ".")
	if runtime.GOARCH != "amd64" || major != "11" && major != "12" {
		return fmt.Errorf("they are known to be a GPU's with GCC 11 and 12 on amd64, this is GCC %s on %s: set CXX", major, runtime.GOARCH)
	}
	return nil
}

// buildFolder is where what is built lies.
func buildFolder() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("chessbrain-emulated-%d", os.Getuid()))
	return dir, os.MkdirAll(dir, 0o700)
}

// build compiles source, a file below root or a whole path, to a shared object that is linked to
// others, unless the same was built before. It returns the object's path, which
// names everything that went into it: compiler, flags and sources.
func build(source string, more []string, link ...string) (string, error) {
	cxx, err := compiler()
	if err != nil {
		return "", err
	}
	top, err := root()
	if err != nil {
		return "", err
	}
	kernels, runtimes := filepath.Join(top, kernelFolder), filepath.Join(top, runtimeFolder)
	if !filepath.IsAbs(source) {
		source = filepath.Join(top, source)
	}
	args := append(slices.Concat(flags, more), "-I", kernels, "-I", runtimes, "-x", "c++", source, "-x", "none")
	args = append(args, link...)
	key, err := digest(cxx, args, source, kernels, runtimes)
	if err != nil {
		return "", err
	}
	dir, err := buildFolder()
	if err != nil {
		return "", err
	}
	base := filepath.Base(source)
	object := filepath.Join(dir, strings.TrimSuffix(base, filepath.Ext(base))+"-"+key+".so")
	unlock, err := lock(object + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(object); err == nil {
		return object, nil
	}
	removeOld(dir)
	half := fmt.Sprintf("%s.%d", object, os.Getpid())
	var output bytes.Buffer
	c := exec.Command(cxx, append(args, "-o", half)...)
	c.Stdout, c.Stderr = &output, &output
	if err := c.Run(); err != nil {
		return "", errors.Join(fmt.Errorf("compile %s with %s: %w\n%s", source, cxx, err, output.String()), os.RemoveAll(half))
	}
	return object, os.Rename(half, object)
}

// removeOld deletes what was built more than a week ago: those that are still
// needed are built again.
func removeOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if i, err := e.Info(); err == nil && time.Since(i.ModTime()) > 7*24*time.Hour {
			os.Remove(filepath.Join(dir, e.Name())) // another process may have been faster
		}
	}
}

// sourceLine names the line of an object's source whose code is at an offset, and from
// where that was inlined; it returns "" where it cannot be found out.
func sourceLine(object string, offset uint64) string {
	lines := sourceLines(object, []uint64{offset})[offset]
	for i := 1; i < len(lines); i++ {
		lines[i] = filepath.Base(lines[i])
	}
	if len(lines) > 1 {
		return fmt.Sprintf("%s (from %s)", lines[0], strings.Join(lines[1:], ", "))
	}
	return strings.Join(lines, "")
}

// sourceLines returns, for offsets into an object, the lines of the source, innermost
// first, that its code there was made of; none where that cannot be found out.
// Primitives are left out.
func sourceLines(object string, offsets []uint64) map[uint64][]string {
	args := []string{"-a", "-i", "-e", object}
	for _, o := range offsets {
		args = append(args, fmt.Sprintf("%#x", o))
	}
	out, err := exec.Command("addr2line", args...).Output()
	if err != nil {
		return nil
	}
	all := map[uint64][]string{}
	var at uint64
	for line := range strings.Lines(string(out)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " ") // before "(discriminator 1)"
		if number, err := strconv.ParseUint(line, 0, 64); err == nil {
			at = number
		} else if !strings.HasPrefix(line, "?") && !strings.Contains(line, "/emulated.h:") && !slices.Contains(all[at][max(0, len(all[at])-1):], line) {
			all[at] = append(all[at], line)
		}
	}
	return all
}

// digest hashes a command with its source and all that the source includes.
func digest(cxx string, args []string, source string, folders ...string) (string, error) {
	version, err := exec.Command(cxx, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", cxx, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%q\n", cxx, version, args)
	folders = append([]string{filepath.Dir(source)}, folders...)
	seen := map[string]bool{source: true}
	for queue := []string{source}; len(queue) > 0; queue = queue[1:] {
		text, err := os.ReadFile(queue[0])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.Base(queue[0]), len(text), text)
		for _, include := range includes.FindAllSubmatch(text, -1) {
			for _, folder := range folders {
				path := filepath.Join(folder, string(include[1]))
				if _, err := os.Stat(path); err == nil && !seen[path] {
					seen[path] = true
					queue = append(queue, path)
				}
			}
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:10]), nil
}

var includes = regexp.MustCompile(`(?m)^\s*#\s*include\s*"([^"]+)"`)

// lock holds a file so that processes which test at the same time build once.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { f.Close() }, nil
}

// Sources names the .cu files that may hold a kernel, likeliest first: those whose
// text has the longest beginning of its name.
func (d *device) Sources(kernel string) []string {
	top, err := root()
	if err != nil {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(top, kernelFolder, "*.cu"))
	if err != nil {
		return nil
	}
	var names []string
	score := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".cu")
		for n := len(kernel); n > 0 && score[name] == 0; n-- {
			if bytes.Contains(text, []byte(kernel[:n])) {
				score[name] = n
			}
		}
		names = append(names, name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return score[b] - score[a] })
	return names
}
