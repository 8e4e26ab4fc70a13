package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/handover"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run/setup"
)

// autoName lets the program choose a tier or a precision.
const autoName = bench.PrecisionAuto

// tierFlag names the flag of all commands that forces a CPU tier.
const tierFlag = "cpu-tier"

// tierNames lists what --cpu-tier takes on this machine.
func tierNames() string {
	var names []string
	for _, t := range kernel.Tiers() {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// bindTier adds --cpu-tier to all commands below root.
func bindTier(root *cobra.Command) {
	root.PersistentFlags().String(tierFlag, autoName,
		"CPU kernels: auto (the fastest), generic, neon, avx2, avx512 or amx; `doctor` lists those of this machine [$"+kernel.TierEnv+"]")
}

// chooseTier honours --cpu-tier, which wins, or CHESSBRAIN_CPU_TIER, before any
// kernel runs. Commands that only describe the machine bear a bad variable.
func chooseTier(c *cobra.Command) error {
	f := c.Flags().Lookup(tierFlag)
	if f == nil || !f.Changed {
		if err := kernel.TierError(); err != nil && c.Name() != "doctor" && c.Name() != "version" {
			return usagef("%w; this machine has %s", err, tierNames())
		}
		return nil
	}
	if f.Value.String() == autoName {
		return kernel.SetTier(kernel.BestTier())
	}
	return setTier(tierFlag, f.Value.String())
}

// setTier takes the tier that a flag names.
func setTier(flag, name string) error {
	t, err := kernel.ParseTier(name)
	if err == nil {
		err = kernel.SetTier(t)
	}
	if err != nil {
		return usagef("--%s: %w; this machine has %s", flag, err, tierNames())
	}
	return nil
}

// bindPrecision adds --precision to a command that works without a run's
// configuration.
func bindPrecision(c *cobra.Command, name *string) {
	c.Flags().StringVar(name, "precision", autoName, "of the convolutions' products: auto (bf16 where the CPU is faster in it), fp32 or bf16")
}

// warnLacking says that the precision in use is not the one that was asked for.
func warnLacking(c *cobra.Command, asked, used, tier string) {
	if asked == kernel.BF16.String() && used != asked {
		tell(c)("--precision %s: the CPU kernels in use (%s) have no bf16 products: computing in %s", asked, tier, used)
	}
}

// bindPlayDevice adds --device to such a command, and --precision where it is left to
// choose. playDevice reads them.
func bindPlayDevice(c *cobra.Command, device *string, usual string, precision *string) {
	f := c.Flags()
	f.StringVar(device, "device", usual, "where nets are evaluated: cpu, cuda, cuda:N, or auto = the first GPU where there is one")
	if precision != nil {
		f.StringVar(precision, "precision", autoName, "of the convolutions' products: auto (bf16 where the device is faster in it), fp32 or bf16; on a GPU fp16, too")
	}
}

// deviceFlags is --device of a command that does not take it from a configuration's
// flags: where nets are evaluated.
func deviceFlags(name string) (*config.FlagSet, error) {
	flags := config.NewFlagSet(config.Group_GATEKEEPER)
	return flags, flags.Lookup("device").Set(name)
}

// playDevice is the configuration of a command that has no other, for nets that play
// on a device in a precision. The plain program becomes the GPU program for it.
func playDevice(c *cobra.Command, name, precision string) (*config.Config, error) {
	flags, err := deviceFlags(name)
	if err != nil {
		return nil, err
	}
	e, err := config.Resolve(config.Input{Flags: flags})
	if err != nil {
		return nil, err
	}
	none := ""
	e.Config.RunDir = &none // the net of a run that happens to be here decides nothing
	if err := settleDevices(e, false); err != nil {
		return nil, err
	}
	cfg := e.Config
	device, _ := setup.DescribePlayers(cfg)
	if device == "cpu" {
		if _, err := kernel.ParsePrecision(precision); err != nil && precision != autoName {
			return nil, usagef("--precision: %w, or %s", err, autoName)
		}
		used := bench.Precision(precision).String()
		warnLacking(c, precision, used, kernel.ActiveTier().String())
		precision = used
	}
	word, ok := config.SelfPlay_Precision_value[strings.ToUpper(precision)]
	if !ok {
		return nil, usagef("--precision %s: want auto, fp32, bf16 or fp16", precision)
	}
	p := config.SelfPlay_Precision(word)
	cfg.Selfplay.Precision = &p
	if _, used := setup.DescribePlayers(cfg); p != config.SelfPlay_AUTO && !strings.EqualFold(used, p.String()) {
		tell(c)("--precision %s: %s has no such products: computing in %s", precision, device, used)
	}
	return cfg, nil
}

// noBackend is the fault of a GPU that the plain program cannot give.
const noBackend = "this build has no CUDA backend"

// handOver becomes the GPU program, with the same arguments, where a configuration
// asks for a GPU, or leaves it open and there is one. The trainer's device counts where
// the command trains, or the players' is the same. It returns where this program goes on.
func handOver(e *config.Effective, trains bool) error {
	if err := setup.CheckGPU(e, trains); err != nil {
		return err
	}
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

// gpuFault is the end of a command that goes on with the CPU.
type gpuFault struct{ error }

func (e gpuFault) Unwrap() error { return e.error }

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
