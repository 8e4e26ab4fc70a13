package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run"
)

// ArithmeticOf resolves the devices and precisions of a process that trains, plays
// or does both, in the active tier.
func ArithmeticOf(c *config.Config, trains, plays bool) run.Arithmetic {
	a := run.Arithmetic{Kernels: kernel.ActiveTier().String()}
	if trains {
		a.Precision, a.Device = trainerPrecision(c).String(), TrainerDevice(c).String()
	}
	if plays {
		a.ProducerDevice, a.ProducerPrecision = DescribePlayers(c)
	}
	return a
}

// wanted is a precision that a configuration asks for.
type wanted struct {
	device.Precision
	firmly bool   // more than a default
	field  string // that says so
}

// wantedPrecision is what the trainer shall compute in.
func wantedPrecision(c *config.Config) wanted {
	switch c.GetTraining().GetAmp() {
	case config.Training_OFF:
		return wanted{device.FP32, true, "training.amp"}
	case config.Training_FP16:
		return wanted{device.FP16, true, "training.amp"}
	case config.Training_ON, config.Training_BF16:
		return wanted{device.BF16, true, "training.amp"}
	}
	return wanted{device.BF16, false, "training.amp"}
}

// wantedByPlayers is the same of the nets that play.
func wantedByPlayers(c *config.Config) wanted {
	switch c.GetSelfplay().GetPrecision() {
	case config.SelfPlay_FP32:
		return wanted{device.FP32, true, "selfplay.precision"}
	case config.SelfPlay_BF16:
		return wanted{device.BF16, true, "selfplay.precision"}
	case config.SelfPlay_FP16:
		return wanted{device.FP16, true, "selfplay.precision"}
	}
	return wantedPrecision(c)
}

// trainerPrecision is the wanted one where the trainer's device has it, else fp32.
func trainerPrecision(c *config.Config) device.Precision {
	return TrainerDevice(c).precision(wantedPrecision(c))
}

// playerPrecision is that of the evaluators of self-play.
func playerPrecision(c *config.Config) device.Precision {
	return PlayerDevice(c).precision(wantedByPlayers(c))
}

// precision is the wanted one where p has it, and where it is only a default is no slower with it.
func (p Device) precision(want wanted) device.Precision {
	if !p.supports(want.Precision) || !want.firmly && p.isCPU() && !kernel.PrefersBF16() {
		return device.FP32
	}
	return want.Precision
}

// LacksPrecision returns a warning where a precision was asked for by one that works
// here, and its device has none such, or where a GPU would have been taken and does
// not answer, or is asked for to play and there is none, else "".
func LacksPrecision(e *config.Effective, trains, plays bool) string {
	var lacks []string
	complain := func(d Device, want wanted) {
		if !want.firmly || d.supports(want.Precision) {
			return
		}
		text := fmt.Sprintf("%s was asked for (%s from %s), but %s: computing in fp32", want.Precision, want.field, e.Origin(want.field), d.lacks(want.Precision))
		if !slices.Contains(lacks, text) {
			lacks = append(lacks, text)
		}
	}
	c := e.Config
	trainer, player := TrainerDevice(c), PlayerDevice(c)
	if trains {
		complain(trainer, wantedPrecision(c))
	}
	if plays && (len(lacks) == 0 || !slices.Equal(player, trainer)) {
		complain(player, wantedByPlayers(c))
	}
	if _, err := Machine.count(); CUDABuild && err != nil && trains && c.GetTraining().GetDevice() == "auto" {
		lacks = append(lacks, fmt.Sprintf("no GPU is used: %v", err))
	} else if c.GetTraining().GetDevice() == "auto" && c.GetSelfplay().GetProducerDevice() == "auto" && player.isCPU() && forCPUs(c) == nil {
		lacks = append(lacks, fmt.Sprintf("self-play is made for a GPU (selfplay.producer_device auto from %s), and none is used: the CPU is slow with this net; --recipe laptop is made for CPUs", e.Origin("selfplay.producer_device")))
	}
	return strings.Join(lacks, "; ")
}

// ArithmeticChanges compares what a run was computed with before with what it is computed
// with now. A field that was not noted, or has no meaning now, has not changed.
func ArithmeticChanges(a, before run.Arithmetic) []config.Change {
	var changed []config.Change
	for _, f := range []struct{ name, old, new string }{
		{"kernels in use", before.Kernels, a.Kernels},
		{"precision in use, training", before.Precision, a.Precision},
		{"precision in use, self-play", before.ProducerPrecision, a.ProducerPrecision},
		{"device in use, training", before.Device, a.Device},
		{"device in use, self-play", before.ProducerDevice, a.ProducerDevice},
	} {
		if f.old != "" && f.new != "" && f.old != f.new {
			changed = append(changed, config.Change{Path: f.name, Old: f.old, New: f.new})
		}
	}
	return changed
}
