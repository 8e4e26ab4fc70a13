package trainer

import (
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Trainer decides the next step of a net in training; its device takes it. It is used
// by one goroutine at a time; Close gives the device back.
type Trainer struct {
	dev *link

	// Weights, moments and average are the device's; these are as new as the last pull.
	cfg      Config
	specs    []nn.ParamSpec // of the net
	net      *nn.Net
	opt      optimizerState
	swa      swaAverage
	scaler   lossScaler
	batch    *encoding.TrainBatch
	progress progress
	warnings []string
	failed   error // of a copy from the device, to be told by the next call that can
}

// progress counts what has been done; it is part of the state.
type progress struct {
	Step        int64 `json:"step"`        // optimizer steps taken
	Samples     int64 `json:"samples"`     // rows of those steps
	Skipped     int64 `json:"skipped"`     // steps skipped for a number that is not finite
	Consecutive int64 `json:"consecutive"` // of those, the ones since the last good step
}

// New returns a trainer of a copy of net, on the device that cfg opens. Errors wrap
// ErrConfig where the configuration is wrong or does not fit the net. Adjust
// DefaultLosses with LossesFor first. Call Close when done.
func New(net *nn.Net, cfg Config) (*Trainer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := net.Validate(); err != nil {
		return nil, fmt.Errorf("trainer: %w", err)
	}
	if err := cfg.checkNet(net.Arch); err != nil {
		return nil, err
	}
	t := &Trainer{cfg: cfg, specs: nn.Specs(net.Arch), net: net.Clone(), batch: encoding.NewTrainBatch(cfg.BatchSize)}
	t.swa.cfg = cfg.SWA
	t.opt = newOptimizerState(cfg.Optimizer, t.trained())
	var err error
	if t.dev, err = openLink(t); err != nil {
		return nil, err
	}
	precision, why := t.dev.Precision()
	t.scaler = newLossScaler(precision == device.FP16)
	if why != "" {
		t.warnings = append(t.warnings, why)
	}
	return t, nil
}

// trained lists the specs of the trained parameters, in the order of moments.
func (t *Trainer) trained() []nn.ParamSpec {
	return slices.DeleteFunc(slices.Clone(t.specs), func(s nn.ParamSpec) bool { return !s.Kind.Trained() })
}

// Close gives the device back. The trainer must not be used afterwards.
func (t *Trainer) Close() error { return t.dev.Close() }

// Warnings are what the user should be told once about this device.
func (t *Trainer) Warnings() []string { return t.warnings }

// NumSteps and NumSamples say how far training is: optimizer steps taken and
// rows trained on in them. NumSkipped counts steps skipped for a loss or
// gradient that was not finite.
func (t *Trainer) NumSteps() int64   { return t.progress.Step }
func (t *Trainer) NumSamples() int64 { return t.progress.Samples }
func (t *Trainer) NumSkipped() int64 { return t.progress.Skipped }

// Net returns a copy of the weights for exporters. Where they cannot be had from the
// device they are those of an earlier step, and the next Step, Evaluate or save returns
// that error.
func (t *Trainer) Net() *nn.Net { return t.View().Clone() }

// View returns Net's weights, the trainer's own, to be read before the next step.
func (t *Trainer) View() *nn.Net {
	t.pull(false)
	return t.net
}

// pull brings the memory up to date and keeps an error for check.
func (t *Trainer) pull(all bool) {
	if t.failed == nil {
		t.failed = t.dev.pull(all)
	}
}

// paramData lists the memory of all parameters in the order of Specs.
func (t *Trainer) paramData() [][]float32 {
	d := make([][]float32, len(t.net.Params))
	for i := range d {
		d[i] = t.net.Params[i].Data
	}
	return d
}
