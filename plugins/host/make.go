package host

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Rescorer makes a rescorer: a built-in one, or a program, which is started. The
// latter is also a stage.BatchRescorer and a stage.Faulty. Errors: ErrUnknown,
// ErrSettings, ErrLock, and others of type *Error.
func (h *Host) Rescorer(ctx context.Context, c stage.Choice) (stage.Rescorer, error) {
	var r stage.Rescorer
	err := h.choose(ctx, stage.KindRescorer, c.Name, func(ctx context.Context, proc *process) (external, error) {
		made, err := h.newRescorer(ctx, proc, c.Settings)
		r = made
		return made, err
	}, func(d *stage.Definition) (err error) {
		r, err = d.MakeRescorer(c.Settings)
		r = limit(r, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Sampler makes a sampler; see Rescorer.
func (h *Host) Sampler(ctx context.Context, c stage.Choice) (stage.Sampler, error) {
	var s stage.Sampler
	err := h.choose(ctx, stage.KindSampler, c.Name, func(ctx context.Context, proc *process) (external, error) {
		made, err := h.newSampler(ctx, proc, c.Settings)
		s = made
		return made, err
	}, func(d *stage.Definition) (err error) {
		s, err = d.MakeSampler(c.Settings)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Exporter makes an exporter; see Rescorer.
func (h *Host) Exporter(ctx context.Context, c stage.Choice) (stage.Exporter, error) {
	var e stage.Exporter
	err := h.choose(ctx, stage.KindExporter, c.Name, func(ctx context.Context, proc *process) (external, error) {
		made, err := h.newExporter(ctx, proc, c.Settings)
		e = made
		return made, err
	}, func(d *stage.Definition) (err error) {
		e, err = d.MakeExporter(c.Settings)
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// choose makes a stage by one of two functions: of the program's process where
// there is a program of that kind and name, else of the built-in definition.
func (h *Host) choose(ctx context.Context, kind stage.Kind, name string,
	program func(context.Context, *process) (external, error), builtin func(*stage.Definition) error) error {
	ctx, leave, err := h.enter(ctx, name)
	if err != nil {
		return err
	}
	defer leave()
	proc, err := h.open(ctx, kind, name)
	if err != nil {
		return err
	}
	if proc != nil {
		e, err := program(ctx, proc)
		if err == nil {
			h.mu.Lock()
			h.live = append(h.live, e)
			h.mu.Unlock()
		}
		return err
	}
	d, err := h.builtin(kind, name)
	if err != nil {
		return err
	}
	if err := builtin(d); err != nil {
		return mark(ErrSettings, err)
	}
	return nil
}

// open starts the program of a name, if there is one of that kind. nil: the
// built-in stage is meant.
func (h *Host) open(ctx context.Context, kind stage.Kind, name string) (*process, error) {
	p, found, err := h.find(name)
	if err != nil || !found {
		return nil, err
	}
	proc, err := h.begin(ctx, p)
	if err != nil {
		return nil, err
	}
	isBuiltin := h.HasBuiltin(kind, name)
	switch {
	case proc.def.Kind == kind && isBuiltin:
		h.o.Log.Warn(fmt.Sprintf("%s %s: the program %s takes the place of the built-in one", kind, name, p.Path), "plugin", name)
		return proc, nil
	case proc.def.Kind == kind:
		return proc, nil
	case isBuiltin:
		h.o.Log.Warn(fmt.Sprintf("%s %s: the built-in one is used; the program %s of that name is a %s", kind, name, p.Path, proc.def.Kind), "plugin", name)
		return nil, proc.stop()
	}
	is := proc.def.Kind
	if err := proc.stop(); err != nil {
		return nil, err
	}
	return nil, mark(ErrUnknown, fmt.Errorf("unknown %s %q: %s is a plugin, but a %s", kind, name, p.Path, is))
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
	return nil, unknown(kind, name, h.o.Builtin, all, h.o.Dirs)
}
