package plugintest

import (
	"cmp"
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Subject is a stage under test and the way in which it is reached.
type Subject struct {
	Definition *stage.Definition // what it says of itself
	Settings   map[string]string // of the instances under test; nil = the defaults

	// New makes an instance of its own with the given settings, or says what is
	// wrong with them.
	New func(ctx context.Context, settings map[string]string) (Stage, error)

	// Describe asks the other side for its description; nil where there is no
	// other side.
	Describe func(ctx context.Context) (*stage.Definition, error)
}

// Stage is one instance. Exactly one of the first three is set.
type Stage struct {
	Rescorer stage.Rescorer
	Sampler  stage.Sampler
	Exporter stage.Exporter

	FS       fsx.FS       // where the exporter writes; nil = the real file system
	CutPower func()       // takes what FS has not synced; nil = its power cannot be cut
	Close    func() error // lets go of the instance; nil = nothing to do
}

// close lets go of the instance.
func (s Stage) close() error {
	if s.Close == nil {
		return nil
	}
	return s.Close()
}

// Bare reaches a stage by plain calls.
func Bare(d *stage.Definition, settings map[string]string) Subject {
	return Subject{Definition: d, Settings: settings, New: func(_ context.Context, settings map[string]string) (Stage, error) {
		var s Stage
		var err error
		switch d.Kind {
		case stage.KindRescorer:
			s.Rescorer, err = d.MakeRescorer(settings)
		case stage.KindSampler:
			s.Sampler, err = d.MakeSampler(settings)
		case stage.KindExporter:
			s.Exporter, err = d.MakeExporter(settings)
		default:
			err = fmt.Errorf("stage %s: unknown kind %q", d.Name, d.Kind)
		}
		return s, err
	}}
}

// Hosted reaches a stage through a host, as a run does: a built-in one or a
// program. d is what host.Definition says of it.
func Hosted(h *host.Host, d *stage.Definition, settings map[string]string) Subject {
	return Subject{
		Definition: d, Settings: settings,
		New: func(ctx context.Context, settings map[string]string) (s Stage, err error) {
			choice := stage.Choice{Name: d.Name, Settings: settings}
			switch d.Kind {
			case stage.KindRescorer:
				s.Rescorer, err = h.Rescorer(ctx, choice)
			case stage.KindSampler:
				s.Sampler, err = h.Sampler(ctx, choice)
			case stage.KindExporter:
				s.Exporter, err = h.Exporter(ctx, choice)
			default:
				err = fmt.Errorf("stage %s: unknown kind %q", d.Name, d.Kind)
			}
			s.Close = func() error { return h.Release(cmp.Or[any](s.Rescorer, s.Sampler, s.Exporter)) }
			return s, err
		},
		Describe: func(ctx context.Context) (*stage.Definition, error) {
			described, _, err := h.Definition(ctx, d.Kind, d.Name)
			return described, err
		},
	}
}
