package loop

import (
	"fmt"

	"github.com/chessbrain/chessbrain/config"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// Arithmetic is what a process computes with: its results are bit-equal only to
// those of the same. It stands in run.json, in the status page and in the log.
type Arithmetic struct {
	Kernels           string `json:"kernels,omitempty"`            // CPU tier
	Precision         string `json:"precision,omitempty"`          // of the trainer's products; empty = does not train
	ProducerPrecision string `json:"producer_precision,omitempty"` // of self-play's; empty = others play
}

// arithmeticOf resolves the precisions of a process that trains, plays or does
// both, in the active tier.
func arithmeticOf(c *config.Config, trains, plays bool) Arithmetic {
	a := Arithmetic{Kernels: kernel.ActiveTier().String()}
	if trains {
		a.Precision = trainerPrecision(c).String()
	}
	if plays {
		a.ProducerPrecision = playerPrecision(c).String()
	}
	return a
}

// trainerPrecision is bf16 where the active tier has it, unless amp is OFF.
func trainerPrecision(c *config.Config) kernel.Precision {
	if c.GetTraining().GetAmp() != config.Training_OFF && kernel.HasBF16() {
		return kernel.BF16
	}
	return kernel.FP32
}

// playerPrecision is that of the evaluators of self-play: AUTO is the trainer's.
func playerPrecision(c *config.Config) kernel.Precision {
	switch p := c.GetSelfplay().GetPrecision(); {
	case p == config.SelfPlay_FP32:
		return kernel.FP32
	case p == config.SelfPlay_BF16 && kernel.HasBF16():
		return kernel.BF16
	}
	return trainerPrecision(c)
}

// lacksBF16 returns a warning where bf16 was asked for (ON or BF16, not AUTO) by
// one that works here and the active tier has none, else "".
func lacksBF16(e *config.Effective, trains, plays bool) string {
	amp, players := e.Config.GetTraining().GetAmp(), e.Config.GetSelfplay().GetPrecision()
	field := "selfplay.precision"
	switch {
	case kernel.HasBF16():
		return ""
	case amp == config.Training_ON && (trains || plays && players == config.SelfPlay_AUTO):
		field = "training.amp"
	case !plays || players != config.SelfPlay_BF16:
		return ""
	}
	return fmt.Sprintf("bf16 was asked for (%s from %s), but the CPU kernels in use (%s) have no bf16 products: computing in fp32",
		field, e.Origin(field), kernel.ActiveTier())
}

// sameArithmetic is the remedy of a change that --deterministic does not bear.
const sameArithmetic = "compute as before (--cpu-tier, --precision, --amp, --no-amp), or give up --deterministic"

// changes compares what a run was computed with before with what it is computed
// with now. A field that was not noted, or has no meaning now, has not changed.
func (a Arithmetic) changes(before Arithmetic) []config.Change {
	var changed []config.Change
	for _, f := range []struct{ name, old, new string }{
		{"kernels in use", before.Kernels, a.Kernels},
		{"precision in use, training", before.Precision, a.Precision},
		{"precision in use, self-play", before.ProducerPrecision, a.ProducerPrecision},
	} {
		if f.old != "" && f.new != "" && f.old != f.new {
			changed = append(changed, config.Change{Path: f.name, Old: f.old, New: f.new})
		}
	}
	return changed
}
