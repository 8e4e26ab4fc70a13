package handover

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

const (
	// Var names the GPU program, or is off: then it is never looked for.
	Var = "CHESSBRAIN_CUDA"
	// handedVar tells the GPU program the version of the program that became it.
	handedVar = "CHESSBRAIN_HANDED_OVER"
	// faultVar tells a program that it begins again, after a GPU failed.
	faultVar = "CHESSBRAIN_GPU_FAILED"
	// Program is the name of the GPU program.
	Program = "chessbrain-cuda"
)

// Search is what the plain program asks its surroundings before it becomes the
// GPU program.
type Search struct {
	built     bool // this is the GPU program
	available func() (bool, string)
	lookup    func(string) (string, bool) // environment variable
	program   func() string               // the GPU program beside this one or on PATH; "" = none
}

// New is the search of a program that was built as the GPU program, or not.
func New(built bool) Search {
	return Search{built: built, available: driver.Available, lookup: os.LookupEnv, program: findProgram}
}

// findProgram looks in this program's directory and on PATH.
func findProgram() string {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), Program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	path, err := exec.LookPath(Program)
	if err != nil {
		return ""
	}
	return path
}

// Find returns the GPU program, or why there is none. Only a program that was named
// is taken where no GPU is to be seen.
func (g Search) Find() (path, reason string) {
	named, _ := g.lookup(Var)
	if named == "off" {
		return "", Var + "=off"
	}
	if named != "" {
		return named, ""
	}
	if ok, why := g.available(); !ok {
		return "", why
	}
	if path := g.program(); path != "" {
		return path, ""
	}
	return "", "a GPU is here, but no " + Program + " beside this program or on PATH: `make cuda` builds it"
}

// Wanted returns the GPU program where one of the devices is a GPU, or may be: auto
// takes one where it can. Where the path is empty this program goes on; reason says
// why there is none for a device that must be a GPU, "" where none must.
func (g Search) Wanted(devices ...string) (path, reason string) {
	must, may := slices.ContainsFunc(devices, IsGPU), slices.Contains(devices, "auto")
	if g.built || !must && !may {
		return "", ""
	}
	path, reason = g.Find()
	if !must {
		reason = ""
	}
	return path, reason
}

// IsGPU says whether a device's name asks for a GPU.
func IsGPU(name string) bool { return name == "cuda" || strings.HasPrefix(name, "cuda:") }

// Start becomes the program at path, if any, with the same arguments. version is that
// of this program.
func Start(path, version string) error {
	if path == "" {
		return nil
	}
	env := append(os.Environ(), handedVar+"="+version)
	if err := syscall.Exec(path, append([]string{path}, os.Args[1:]...), env); err != nil {
		return fmt.Errorf("start %s: %w; rebuild it with `make cuda`, or use --device cpu", path, err)
	}
	return nil
}

// Again begins this program anew, with the same arguments, after a GPU failed. It returns where it could not.
func Again() error {
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, append(os.Environ(), faultVar+"=1"))
	}
	return fmt.Errorf("begin again on the CPU: %w; start the same command again", err)
}

// AfterFault says, once, whether this program began again after a GPU failed.
func AfterFault() bool {
	_, failed := os.LookupEnv(faultVar)
	os.Unsetenv(faultVar) // programs that this one starts have their GPUs
	return failed
}

// TakeOver checks, in a program that another one became, that the two belong
// together. The plain program under the other's name would become itself for ever.
func TakeOver(built bool, version string) error {
	from := os.Getenv(handedVar)
	if from == "" {
		return nil
	}
	if err := os.Unsetenv(handedVar); err != nil { // programs that this one starts were not handed over to
		return err
	}
	self, _ := os.Executable()
	switch {
	case !built:
		return fmt.Errorf("%s was built without CUDA: rebuild it with `make cuda`, or use --device cpu", self)
	case from != version:
		return fmt.Errorf("%s is version %s, but chessbrain is %s: rebuild both (make build cuda), or use --device cpu", self, version, from)
	}
	return nil
}
