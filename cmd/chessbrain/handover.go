package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/run"
)

const (
	// gpuVar names the GPU program, or is off: then it is never looked for.
	gpuVar = "CHESSBRAIN_CUDA"
	// handedVar tells the GPU program the version of the program that became it.
	handedVar  = "CHESSBRAIN_HANDED_OVER"
	gpuProgram = "chessbrain-cuda"
)

// gpuSearch is what the plain program asks its surroundings before it becomes the
// GPU program.
type gpuSearch struct {
	built     bool // this is the GPU program
	available func() (bool, string)
	lookup    func(string) (string, bool) // environment variable
	program   func() string               // the GPU program beside this one or on PATH; "" = none
}

func searchGPU() gpuSearch {
	return gpuSearch{built: run.CUDABuild, available: driver.Available, lookup: os.LookupEnv, program: findGPUProgram}
}

// findGPUProgram looks in this program's directory and on PATH.
func findGPUProgram() string {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), gpuProgram)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	path, err := exec.LookPath(gpuProgram)
	if err != nil {
		return ""
	}
	return path
}

// find returns the GPU program, or why there is none. Only a program that was named
// is taken where no GPU is to be seen.
func (g gpuSearch) find() (path, reason string) {
	named, _ := g.lookup(gpuVar)
	if named == "off" {
		return "", gpuVar + "=off"
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
	return "", "a GPU is here, but no " + gpuProgram + " beside this program or on PATH: `make cuda` builds it"
}

// wanted returns the GPU program where one of the devices is a GPU, or may be: auto
// takes one where it can. Where the path is empty this program goes on; reason says
// why there is none for a device that must be a GPU, "" where none must.
func (g gpuSearch) wanted(devices ...string) (path, reason string) {
	must, may := false, false
	for _, d := range devices {
		may, must = may || d == "auto", must || isGPU(d)
	}
	if g.built || !must && !may {
		return "", ""
	}
	path, reason = g.find()
	if !must {
		reason = ""
	}
	return path, reason
}

// isGPU says whether a device's name asks for a GPU.
func isGPU(name string) bool { return name == "cuda" || strings.HasPrefix(name, "cuda:") }

// noBackend is the fault of a GPU that the plain program cannot give.
const noBackend = "this build has no CUDA backend"

// handOver becomes the GPU program, with the same arguments, where a configuration
// asks for a GPU, or leaves it open and there is one. The trainer's device counts where
// the command trains, or the players' is the same. It returns where this program goes on.
func handOver(e *config.Effective, trains bool) error {
	fields := []string{"selfplay.producer_device"}
	devices := []string{e.Config.GetSelfplay().GetProducerDevice()}
	if trains || devices[0] == "auto" {
		fields, devices = append(fields, "training.device"), append(devices, e.Config.GetTraining().GetDevice())
	}
	if devices[0] == "auto" {
		fields, devices = fields[1:], devices[1:]
	}
	path, reason := searchGPU().wanted(devices...)
	if reason != "" {
		return e.Errorf(fields[slices.IndexFunc(devices, isGPU)], run.HowToBuild, "%s: %s", noBackend, reason)
	}
	return startGPU(path)
}

// settleDevices is handOver, and refuses devices that are not there.
func settleDevices(e *config.Effective, trains bool) error {
	if err := handOver(e, trains); err != nil {
		return err
	}
	return run.CheckDevices(e, trains)
}

// handOverOrCPU is settleDevices of a tool that works on a run wherever it is: where there
// is no such GPU it computes on the CPU, and says so.
func handOverOrCPU(c *cobra.Command, e *config.Effective, trains bool) error {
	err := settleDevices(e, trains)
	if !as[*config.Error](err) {
		return err
	}
	tell(c)("%v; computing on the CPU", err)
	cpu := "cpu"
	e.Config.Training.Device, e.Config.Selfplay.ProducerDevice = &cpu, &cpu
	return nil
}

// handOverFor is handOver of a command that takes a device by a flag.
func handOverFor(flag, name string) error {
	path, reason := searchGPU().wanted(name)
	if reason != "" {
		return usagef("--%s %s: %s: %s; %s", flag, name, noBackend, reason, run.HowToBuild)
	}
	return startGPU(path)
}

// startGPU becomes the program at path, if any.
func startGPU(path string) error {
	if path == "" {
		return nil
	}
	env := append(os.Environ(), handedVar+"="+version())
	if err := become(path, append([]string{path}, os.Args[1:]...), env); err != nil {
		return fmt.Errorf("start %s: %w; rebuild it with `make cuda`, or use --device cpu", path, err)
	}
	return nil
}

// takeOver checks, in a program that another one became, that the two belong
// together. The plain program under the other's name would become itself for ever.
func takeOver() error {
	from := os.Getenv(handedVar)
	if from == "" {
		return nil
	}
	if err := os.Unsetenv(handedVar); err != nil { // programs that this one starts were not handed over to
		return err
	}
	self, _ := os.Executable()
	switch {
	case !run.CUDABuild:
		return fmt.Errorf("%s was built without CUDA: rebuild it with `make cuda`, or use --device cpu", self)
	case from != version():
		return fmt.Errorf("%s is version %s, but chessbrain is %s: rebuild both (make build cuda), or use --device cpu", self, version(), from)
	}
	return nil
}

// errNoExec says that a system cannot replace a program by another.
var errNoExec = errors.New("this system cannot hand a process over")
