package setup

import (
	"errors"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// use says what a process does with the stages of a kind.
type use int

const (
	ignored use = iota // others may; not even the name is looked at
	checked            // unused here, but the name and the settings must be right
	Opened
)

// Uses say this for each kind.
type Uses struct{ Rescorers, Sampler, exporter use }

// of returns what is done with a kind.
func (u Uses) of(kind stage.Kind) use {
	switch kind {
	case stage.KindRescorer:
		return u.Rescorers
	case stage.KindSampler:
		return u.Sampler
	case stage.KindExporter:
		return u.exporter
	}
	return ignored
}

// TrainUses are those of a trainer.
func TrainUses(c *config.Config) Uses {
	u := Uses{Rescorers: checked, Sampler: checked, exporter: Opened}
	switch c.GetTraining().GetSource() {
	case config.Training_SELFPLAY:
		u.Rescorers, u.Sampler = Opened, Opened
	case config.Training_DIR:
		u.Sampler = Opened
	}
	return u
}

// PlayUses are those of a process that only plays.
var PlayUses = Uses{Rescorers: Opened}

// choices are the stages that a configuration names.
type choices struct {
	rescorers         []stage.Choice
	sampler, exporter stage.Choice
}

func choicesOf(c *config.Config) choices {
	p, x := c.GetPlugins(), c.GetExport()
	chosen := choices{
		sampler:  stage.Choice{Name: p.GetSampler().GetName(), Settings: p.GetSampler().GetSettings()},
		exporter: stage.Choice{Name: x.GetExporter(), Settings: x.GetSettings()},
	}
	for _, r := range p.GetRescorer() {
		chosen.rescorers = append(chosen.rescorers, stage.Choice{Name: r.GetName(), Settings: r.GetSettings()})
	}
	return chosen
}

// stageFault is why a stage of the configuration cannot be had.
type stageFault struct {
	path string // of the field that names it
	err  error
}

func (f *stageFault) Error() string { return f.path + ": " + f.err.Error() }
func (f *stageFault) Unwrap() error { return f.err }

// located makes a config error with its place of a name that nothing has or of
// settings that a stage refuses. What a program did wrong stays what it is.
func located(e *config.Effective, err error) error {
	fault, ok := errors.AsType[*stageFault](err)
	if !ok {
		return err
	}
	if _, program := errors.AsType[*host.Error](fault.err); program && !errors.Is(err, host.ErrUnknown) && !errors.Is(err, host.ErrSettings) {
		return err
	}
	return &config.Error{Where: e.Origin(fault.path), Field: fault.path, Reason: fault.err.Error(),
		Remedy: "chessbrain plugins list shows what there is, chessbrain plugins describe NAME its settings"}
}
