package setup

import (
	"errors"
	"fmt"

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
type Uses map[stage.Kind]use

// TrainUses are those of a trainer.
func TrainUses(c *config.Config) Uses {
	u := Uses{stage.KindRescorer: checked, stage.KindSampler: checked, stage.KindExporter: Opened}
	switch c.GetTraining().GetSource() {
	case config.Training_SELFPLAY:
		u[stage.KindRescorer], u[stage.KindSampler] = Opened, Opened
	case config.Training_DIR:
		u[stage.KindSampler] = Opened
	}
	return u
}

// PlayUses are those of a process that only plays.
var PlayUses = Uses{stage.KindRescorer: Opened}

// kinds are all kinds in the order in which they are named to users.
var kinds = []stage.Kind{stage.KindRescorer, stage.KindSampler, stage.KindExporter}

// choice is a stage that a configuration names, and the path of the field that does.
type choice struct {
	stage.Choice
	path string
}

// choicesOf returns the stages of a kind that a configuration names.
func choicesOf(c *config.Config, kind stage.Kind) (chosen []choice) {
	p, x := c.GetPlugins(), c.GetExport()
	add := func(name string, settings map[string]string, path string) {
		chosen = append(chosen, choice{stage.Choice{Name: name, Settings: settings}, path})
	}
	switch kind {
	case stage.KindRescorer:
		for i, r := range p.GetRescorer() {
			add(r.GetName(), r.GetSettings(), fmt.Sprintf("plugins.rescorer[%d].name", i))
		}
	case stage.KindSampler:
		add(p.GetSampler().GetName(), p.GetSampler().GetSettings(), "plugins.sampler.name")
	case stage.KindExporter:
		add(x.GetExporter(), x.GetSettings(), "export.exporter")
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
	if programFailed(fault.err) {
		return err
	}
	return &config.Error{Where: e.Origin(fault.path), Field: fault.path, Reason: fault.err.Error(),
		Remedy: "chessbrain plugins list shows what there is, chessbrain plugins describe NAME its settings"}
}

// programFailed says whether err is what a program did wrong, and not the configuration.
func programFailed(err error) bool {
	_, program := errors.AsType[*host.Error](err)
	return program && !errors.Is(err, host.ErrUnknown) && !errors.Is(err, host.ErrSettings)
}
