package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// LockFile is the name of the lock file of plugins in a run directory.
const LockFile = "plugins.lock"

// Stages are the exchangeable steps of a process, built in or programs, and the
// host that runs the programs.
type Stages struct {
	rescorers rescore.Chain
	sampler   stage.Sampler  // nil where it was not asked for; still to be seeded
	exporter  stage.Exporter // nil where it was not asked for

	mu    sync.Mutex // guards what follows; the rest is used by one goroutine at a time
	infos []StageInfo
	hosts []*host.Host // the last one makes stages, the others had other options
}

// Host makes the stages.
func (s *Stages) Host() *host.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[len(s.hosts)-1]
}

// allHosts returns the hosts of all stages that there were.
func (s *Stages) allHosts() []*host.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hosts)
}

// Rescorers returns the configured rescorers in their order.
func (s *Stages) Rescorers() rescore.Chain { return s.rescorers }

// Sampler returns the configured sampler, still to be seeded.
func (s *Stages) Sampler() stage.Sampler { return s.sampler }

// Exporter returns the configured exporter.
func (s *Stages) Exporter() stage.Exporter { return s.exporter }

// Export has the exporter write its files of a net into dir. noGames: it failed for
// want of games, of which there are none in the sequence.
func (s *Stages) Export(ctx context.Context, c *stage.Checkpoint, games iter.Seq2[*record.Game, error], dir string) (files []string, noGames bool, err error) {
	asked := &askedGames{seq: games}
	c.Games = asked.each
	files, err = s.exporter.Export(ctx, c, dir)
	return files, err != nil && asked.none(), err
}

// OpenExporter opens the exporter that a configuration names, and no other stage;
// see OpenStages.
func OpenExporter(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Stages, error) {
	return openStages(ctx, e, uses{exporter: opened}, hostOptions(e.Config.GetPlugins(), dir, log))
}

// NewHost returns a host for the built-in stages and the programs that the
// configuration names directories for. With a run directory programs in its
// plugins/ are found, too, and its plugins.lock counts; "" = without one. c may
// be nil: the defaults.
func NewHost(c *config.Plugins, runDir string, log *slog.Logger) (*host.Host, error) {
	return host.New(hostOptions(c, runDir, log))
}

func hostOptions(c *config.Plugins, runDir string, log *slog.Logger) host.Options {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	o := host.Options{
		Builtin: slices.Concat(rescore.Definitions(), sample.Definitions(), export.Definitions()), Dirs: host.Dirs(c.GetDir(), runDir),
		StartTimeout: seconds(c.GetStartTimeoutSeconds()), CallTimeout: seconds(c.GetCallTimeoutSeconds()), Restarts: int(c.GetRestarts()),
		Continue: c.GetOnFailure() == config.Plugins_CONTINUE, Log: log,
	}
	if runDir != "" {
		o.LockFiles = []string{filepath.Join(runDir, LockFile)}
	}
	return o
}

// OpenStages opens all stages that a configuration names; dir is the run
// directory, or "". A name that nothing has, and settings that a stage refuses,
// are config errors with their place (exit code 2). The stages must be closed.
func OpenStages(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Stages, error) {
	return openStages(ctx, e, uses{opened, opened, opened}, hostOptions(e.Config.GetPlugins(), dir, log))
}

// openStages opens the stages that u asks for.
func openStages(ctx context.Context, e *config.Effective, u uses, o host.Options) (*Stages, error) {
	h, err := host.New(o)
	if err != nil {
		return nil, fmt.Errorf("plugins: %w", err)
	}
	s := &Stages{hosts: []*host.Host{h}}
	if err := s.open(ctx, e.Config, u); err != nil {
		return nil, errors.Join(located(e, err), h.Close())
	}
	return s, nil
}

// open opens what c names and u asks for. After an error what was opened is
// released.
func (s *Stages) open(ctx context.Context, c *config.Config, u uses) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	chosen, h := choicesOf(c), s.Host()
	for i, r := range chosen.rescorers {
		path := fmt.Sprintf("plugins.rescorer[%d].name", i)
		if err := openOne(ctx, s, u.rescorers, path, stage.KindRescorer, r, h.Rescorer, func(r stage.Rescorer) { s.rescorers = append(s.rescorers, r) }); err != nil {
			return err
		}
	}
	if err := openOne(ctx, s, u.sampler, "plugins.sampler.name", stage.KindSampler, chosen.sampler, h.Sampler, func(x stage.Sampler) { s.sampler = x }); err != nil {
		return err
	}
	if err := openOne(ctx, s, u.exporter, "export.exporter", stage.KindExporter, chosen.exporter, h.Exporter, func(x stage.Exporter) { s.exporter = x }); err != nil {
		return err
	}
	return nil
}

// openOne opens or checks one stage and notes what stands behind it.
func openOne[T any](ctx context.Context, s *Stages, u use, path string, kind stage.Kind, c stage.Choice,
	open func(context.Context, stage.Choice) (T, error), take func(T)) error {
	if u == ignored {
		return nil
	}
	if u == opened {
		one, err := open(ctx, c)
		if err != nil {
			return &stageFault{path, err}
		}
		take(one)
	}
	d, program, err := s.Host().Definition(ctx, kind, c.Name) // of a program that runs the host knows it
	if err == nil {
		_, err = d.Values(c.Settings)
	}
	if err != nil {
		return &stageFault{path, err}
	}
	if u == checked {
		return nil
	}
	info := StageInfo{Kind: kind, Name: d.Name, Version: d.Version}
	if program != nil {
		info.Path, info.SHA256 = program.Path, program.SHA256
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.infos = append(s.infos, info)
	return nil
}

// release ends the stages, but not the host.
func (s *Stages) release() error {
	h := s.Host()
	errs := []error{releaseAll(h, s.rescorers)}
	if s.sampler != nil {
		errs = append(errs, h.Release(s.sampler))
	}
	if s.exporter != nil {
		errs = append(errs, h.Release(s.exporter))
	}
	s.rescorers, s.sampler, s.exporter = nil, nil, nil
	return errors.Join(errs...)
}

func releaseAll(h *host.Host, chain rescore.Chain) error {
	var errs []error
	for _, r := range chain {
		errs = append(errs, h.Release(r))
	}
	return errors.Join(errs...)
}

// adopt takes over the stages of n whose kinds were opened there, and its host,
// and returns those that were in their places.
func (s *Stages) adopt(n *Stages, u uses) (old *Stages) {
	old = &Stages{hosts: []*host.Host{s.Host()}}
	if u.rescorers == opened {
		old.rescorers, s.rescorers = s.rescorers, n.rescorers
	}
	if u.sampler == opened {
		old.sampler, s.sampler = s.sampler, n.sampler
	}
	if u.exporter == opened {
		old.exporter, s.exporter = s.exporter, n.exporter
	}
	var infos []StageInfo
	before, after := s.Infos(), n.Infos()
	for _, kind := range []stage.Kind{stage.KindRescorer, stage.KindSampler, stage.KindExporter} {
		from := before
		if u.of(kind) == opened {
			from = after
			old.infos = append(old.infos, infosOf(before, kind)...)
		}
		infos = append(infos, infosOf(from, kind)...)
	}
	h := n.Host()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.infos = infos
	if h != s.hosts[len(s.hosts)-1] {
		s.hosts = append(s.hosts, h)
	}
	return old
}

// Close ends the stages and all programs. A nil *Stages has none.
func (s *Stages) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for _, h := range s.allHosts() {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}
