package driver

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// root is the module of the program.
const root = "github.com/chessbrain/chessbrain"

// goTool runs the go command for the tagged build.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// TestGPUBuildDependencies: of CUDA the program may use cu alone. cu/dnn needs a
// header that cannot be had everywhere, cu/blas a library at run time.
func TestGPUBuildDependencies(t *testing.T) {
	packages := strings.Fields(goTool(t, "list", "-deps", "-tags", "chessbrain_cuda", root+"/cmd/chessbrain"))
	for _, p := range packages {
		if strings.HasPrefix(p, "gorgonia.org/cu/") {
			t.Errorf("the GPU build imports %s", p)
		}
	}
	if !slices.Contains(packages, "gorgonia.org/cu") {
		t.Error("the GPU build does not import gorgonia.org/cu: is nn/cuda/driver wired?")
	}
	plain := strings.Fields(goTool(t, "list", "-deps", root+"/cmd/chessbrain"))
	if slices.Contains(plain, "gorgonia.org/cu") {
		t.Error("the plain build imports gorgonia.org/cu, which ends the process where there is no GPU")
	}
}

// TestGPUDriver links this package's tagged files, which must need the driver's
// library and that of C and nothing else, and runs the tests of cuda_*test.go over
// testdata/fakecuda.c in its place.
func TestGPUDriver(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the GPU program is of Linux")
	}
	readSources(t)
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("!!! SKIPPED: no gcc here, the driver of the GPU build is NOT COMPILED")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "driver.test")
	for _, cmd := range []*exec.Cmd{
		exec.Command(cc, "-Wall", "-Werror", "-shared", "-fPIC", "-Icuda", "-Wl,-soname,"+library, "-o", filepath.Join(dir, library), "testdata/fakecuda.c"),
		exec.Command("../../../scripts/build_cuda.sh", binary, "./nn/cuda/driver"), // cu names more of the driver than the fake has
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	needs(t, binary)
	const names = "Info|Work|Shared|Errors|GoMemory|Ends|Two|Fault|None"
	tests := exec.Command(binary, "-test.v", "-test.run", "^TestGPU("+names+")$")
	tests.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "LD_BIND_NOW=", "FAKE_CUDA_DEVICES=2", "CUDA_VISIBLE_DEVICES=0,1")
	out, err := tests.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: TestGPU") != 1+strings.Count(names, "|") {
		t.Errorf("the driver over the fake library: %v\n%s", err, out)
	}
}

// readSources opens what the go command does not see that this test depends on: it
// keeps a result for as long as the files that a test opened are the same.
func readSources(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"*.go", "cuda/*", "testdata/*", "../../../scripts/build_cuda.sh"} {
		files, err := filepath.Glob(pattern)
		for _, f := range files {
			if err == nil {
				_, err = os.ReadFile(f)
			}
		}
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
	}
}

// needs compares the libraries that a GPU build loads with those that it may.
func needs(t *testing.T, binary string) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	ofC := regexp.MustCompile(`^(lib(c|m|dl|pthread|resolv|rt)\.so\.\d+|ld-linux.*)$`)
	for _, l := range libraries {
		if l != library && !ofC.MatchString(l) {
			t.Errorf("the GPU build needs %s", l)
		}
	}
	if !slices.Contains(libraries, library) {
		t.Errorf("the GPU build needs %q, not %s: were the tagged files compiled?", libraries, library)
	}
}
