package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/handover"
	"github.com/chessbrain/chessbrain/run/setup"
)

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
	path, reason := handover.New(setup.CUDABuild).Wanted(devices...)
	if reason != "" {
		return e.Errorf(fields[slices.IndexFunc(devices, handover.IsGPU)], setup.HowToBuild, "%s: %s", noBackend, reason)
	}
	return handover.Start(path, version())
}

// settleDevices is handOver, and refuses devices that are not there.
func settleDevices(e *config.Effective, trains bool) error {
	if err := handOver(e, trains); err != nil {
		return err
	}
	return setup.CheckDevices(e, trains)
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
	path, reason := handover.New(setup.CUDABuild).Wanted(name)
	if reason != "" {
		return usagef("--%s %s: %s: %s; %s", flag, name, noBackend, reason, setup.HowToBuild)
	}
	return handover.Start(path, version())
}
