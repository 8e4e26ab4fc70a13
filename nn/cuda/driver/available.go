package driver

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// library is the driver's, as the loader finds it.
const library = "libcuda.so.1"

// Available says whether this machine has an NVIDIA driver and a device that this
// process may see; the string says what was found, or what is missing. It neither
// loads the driver nor needs the build tag.
func Available() (bool, string) { return available("/", os.LookupEnv) }

// available is Available below another root, with another environment.
func available(root string, environment func(string) (string, bool)) (bool, string) {
	if visible, ok := environment("CUDA_VISIBLE_DEVICES"); ok {
		if first, _, _ := strings.Cut(visible, ","); !namesDevice(strings.TrimSpace(first)) {
			return false, "CUDA_VISIBLE_DEVICES=" + visible + " hides all devices"
		}
	}
	path := findLibrary(root, environment)
	if path == "" {
		return false, "no NVIDIA driver: " + library + " is not found"
	}
	nodes, _ := filepath.Glob(filepath.Join(root, "dev/nvidia[0-9]*"))
	node := firstOf(append(nodes, filepath.Join(root, "dev/dxg")))
	if node == "" {
		return false, path + " is there, but no device node /dev/nvidia0 (in a container: was it started with GPUs?)"
	}
	return true, path + ", " + node
}

// namesDevice says whether an entry of CUDA_VISIBLE_DEVICES can be a device: a number,
// or a UUID of a GPU or of a part of one. CUDA stops at the first that is none.
func namesDevice(entry string) bool {
	if strings.HasPrefix(entry, "GPU-") || strings.HasPrefix(entry, "MIG-") {
		return true
	}
	return entry != "" && entry[0] >= '0' && entry[0] <= '9'
}

// findLibrary returns where the loader would find the driver's library, or "".
func findLibrary(root string, environment func(string) (string, bool)) string {
	search, _ := environment("LD_LIBRARY_PATH")
	dirs := slices.DeleteFunc(filepath.SplitList(search), func(dir string) bool { return dir == "" })
	// The loader's cache holds paths as strings that end in a zero byte.
	cache, _ := os.ReadFile(filepath.Join(root, "etc/ld.so.cache"))
	for entry := range bytes.SplitSeq(cache, []byte{0}) {
		if at := bytes.IndexByte(entry, '/'); at >= 0 && filepath.Base(string(entry)) == library {
			dirs = append(dirs, filepath.Dir(string(entry[at:])))
		}
	}
	// Default folders, that of WSL, and of NixOS, which has no cache.
	dirs = append(dirs, "lib64", "usr/lib64", "lib", "usr/lib",
		"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
		"usr/lib/wsl/lib", "run/opengl-driver/lib")
	for i, dir := range dirs {
		dirs[i] = filepath.Join(root, dir, library)
	}
	return firstOf(dirs)
}

// firstOf returns the first path that exists, or "".
func firstOf(paths []string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
