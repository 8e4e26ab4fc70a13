package setup

import (
	"fmt"
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
		a.Precision, a.Device = trainerPrecision(c).String(), TrainerPlace(c).String()
	}
	if plays {
		a.ProducerPrecision, a.ProducerDevice = playerPrecision(c).String(), PlayerPlace(c).String()
	}
	return a
}

// wantedPrecision is what amp asks the trainer to compute in; firmly, where it is
// more than the default.
func wantedPrecision(c *config.Config) (p device.Precision, firmly bool) {
	switch c.GetTraining().GetAmp() {
	case config.Training_OFF:
		return device.FP32, true
	case config.Training_FP16:
		return device.FP16, true
	case config.Training_ON, config.Training_BF16:
		return device.BF16, true
	}
	return device.BF16, false
}

// wantedByPlayers is the same of the nets that play, and the field that says so.
func wantedByPlayers(c *config.Config) (p device.Precision, firmly bool, field string) {
	switch c.GetSelfplay().GetPrecision() {
	case config.SelfPlay_FP32:
		return device.FP32, true, "selfplay.precision"
	case config.SelfPlay_BF16:
		return device.BF16, true, "selfplay.precision"
	case config.SelfPlay_FP16:
		return device.FP16, true, "selfplay.precision"
	}
	p, firmly = wantedPrecision(c)
	return p, firmly, "training.amp"
}

// trainerPrecision is the wanted one where the trainer's device has it, else fp32.
func trainerPrecision(c *config.Config) device.Precision {
	p, _ := wantedPrecision(c)
	return TrainerPlace(c).orFP32(p)
}

// playerPrecision is that of the evaluators of self-play.
func playerPrecision(c *config.Config) device.Precision {
	p, _, _ := wantedByPlayers(c)
	return PlayerPlace(c).orFP32(p)
}

func (p place) orFP32(want device.Precision) device.Precision {
	if p.supports(want) {
		return want
	}
	return device.FP32
}

// LacksPrecision returns a warning where a precision was asked for by one that works
// here, and its device has none such, or where a GPU would have been taken and does
// not answer, else "".
func LacksPrecision(e *config.Effective, trains, plays bool) string {
	var lacks []string
	complain := func(p place, want device.Precision, field string) {
		text := fmt.Sprintf("%s was asked for (%s from %s), but %s: computing in fp32", want, field, e.Origin(field), p.lacks(want))
		if len(lacks) == 0 || lacks[0] != text {
			lacks = append(lacks, text)
		}
	}
	c := e.Config
	if want, firmly := wantedPrecision(c); trains && firmly && !TrainerPlace(c).supports(want) {
		complain(TrainerPlace(c), want, "training.amp")
	}
	want, firmly, field := wantedByPlayers(c)
	if plays && firmly && !PlayerPlace(c).supports(want) && (len(lacks) == 0 || PlayerPlace(c) != TrainerPlace(c)) {
		complain(PlayerPlace(c), want, field)
	}
	if _, err := Machine.count(); CUDABuild && err != nil && trains && c.GetTraining().GetDevice() == "auto" {
		lacks = append(lacks, fmt.Sprintf("no GPU is used: %v", err))
	}
	return strings.Join(lacks, "; ")
}

// SameArithmetic is the remedy of a change that --deterministic does not bear.
const SameArithmetic = "compute as before (--device, --cpu-tier, --precision, --amp, --no-amp), or give up --deterministic"

// changes compares what a run was computed with before with what it is computed
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
