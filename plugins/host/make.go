package host

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Rescorer makes a rescorer: a built-in one, or a program, which is started. The
// latter is also a stage.BatchRescorer and a stage.Faulty. Errors: ErrUnknown,
// ErrSettings, ErrLock, and others of type *Error.
func (h *Host) Rescorer(ctx context.Context, c stage.Choice) (stage.Rescorer, error) {
	return choose(ctx, h, stage.KindRescorer, c, newRescorer, (*stage.Definition).MakeRescorer)
}

// Sampler makes a sampler; see Rescorer.
func (h *Host) Sampler(ctx context.Context, c stage.Choice) (stage.Sampler, error) {
	return choose(ctx, h, stage.KindSampler, c, func(s *supervisor) stage.Sampler { return &sampler{supervisor: s} },
		(*stage.Definition).MakeSampler)
}

// Exporter makes an exporter; see Rescorer.
func (h *Host) Exporter(ctx context.Context, c stage.Choice) (stage.Exporter, error) {
	return choose(ctx, h, stage.KindExporter, c, func(s *supervisor) stage.Exporter { return &exporter{s} }, (*stage.Definition).MakeExporter)
}

// choose makes a stage by one of two functions: over the program's process where
// there is a program of that kind and name, else of the built-in definition.
func choose[T any](ctx context.Context, h *Host, kind stage.Kind, c stage.Choice,
	program func(*supervisor) T, builtin func(*stage.Definition, map[string]string) (T, error)) (none T, err error) {
	ctx, leave, err := h.enter(ctx, c.Name)
	if err != nil {
		return none, err
	}
	defer leave()
	proc, err := h.open(ctx, kind, c.Name)
	if err != nil {
		return none, err
	}
	if proc != nil {
		sup, err := h.supervise(ctx, proc, c.Settings)
		if err != nil {
			return none, err
		}
		h.mu.Lock()
		h.live = append(h.live, sup)
		h.mu.Unlock()
		return program(sup), nil
	}
	d, err := h.builtin(kind, c.Name)
	if err != nil {
		return none, err
	}
	made, err := builtin(d, c.Settings)
	if err != nil {
		return none, mark(ErrSettings, err)
	}
	return made, nil
}

// open starts the program of a name, if there is one of that kind. nil: the
// built-in stage is meant.
func (h *Host) open(ctx context.Context, kind stage.Kind, name string) (*process, error) {
	p, err := h.find(name)
	if err != nil || p == nil {
		return nil, err
	}
	proc, err := h.begin(ctx, *p)
	if err != nil {
		return nil, err
	}
	isBuiltin, is := h.HasBuiltin(kind, name), proc.def.Kind
	if is == kind {
		if isBuiltin {
			h.warn(name, fmt.Sprintf("%s %s: the program %s takes the place of the built-in one", kind, name, p.Path))
		}
		return proc, nil
	}
	err = proc.stop()
	if isBuiltin {
		h.warn(name, fmt.Sprintf("%s %s: the built-in one is used; the program %s of that name is a %s", kind, name, p.Path, is))
	} else if err == nil {
		err = mark(ErrUnknown, fmt.Errorf("unknown %s %q: %s is a plugin, but a %s", kind, name, p.Path, is))
	}
	return nil, err
}

// builtin returns a built-in definition, or says what there is instead.
func (h *Host) builtin(kind stage.Kind, name string) (*stage.Definition, error) {
	if d, err := stage.Find(h.o.Builtin, kind, name); err == nil {
		return d, nil
	}
	all, err := scan(h.o.Dirs)
	if err != nil {
		return nil, err
	}
	return nil, h.unknown(kind, name, all)
}

// Look makes rescorers for a dry run: it starts no program. Built-in ones are those
// of the host. In the place of a program that is there, that nobody else can change
// and that the lock files allow stands a rescorer that refuses all games. Settings
// of a program stay unchecked: only the program knows them.
type Look struct{ Host *Host }

// Rescorer is Host.Rescorer without a start.
func (l Look) Rescorer(ctx context.Context, c stage.Choice) (stage.Rescorer, error) {
	if p, err := l.Host.Find(c.Name); p != nil || err != nil {
		return idle(c.Name), err
	}
	return l.Host.Rescorer(ctx, c)
}

// idle is a program that was not started, by its name.
type idle string

func (i idle) Name() string { return string(i) }

func (i idle) Rescore(context.Context, *record.Game) (*record.Game, error) {
	return nil, fmt.Errorf("rescorer %s was only looked at, not started", string(i))
}
