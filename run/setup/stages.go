package setup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
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
	Rescorers rescore.Chain
	Sampler   stage.Sampler  // nil where it was not asked for; still to be seeded
	Exporter  stage.Exporter // nil where it was not asked for
	looks     bool           // of a dry run: programs are found and hashed, none is started

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

// AllHosts returns the hosts of all stages that there were.
func (s *Stages) AllHosts() []*host.Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hosts)
}

// Export has the exporter write its files of a net into dir. noGames: it failed for
// want of games, of which there are none in the sequence.
func (s *Stages) Export(ctx context.Context, c *stage.Checkpoint, games iter.Seq2[*record.Game, error], dir string) (files []string, noGames bool, err error) {
	asked := &askedGames{seq: games}
	c.Games = asked.each
	files, err = s.Exporter.Export(ctx, c, dir)
	return files, err != nil && asked.none(), err
}

// OpenSampler opens the sampler that a configuration names, and no other stage;
// see OpenUsed.
func OpenSampler(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Stages, error) {
	return OpenUsed(ctx, e, Uses{Sampler: Opened}, HostOptions(e.Config.GetPlugins(), dir, log))
}

// OpenExporter opens the exporter that a configuration names, and no other stage;
// see OpenUsed.
func OpenExporter(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Stages, error) {
	return OpenUsed(ctx, e, Uses{exporter: Opened}, HostOptions(e.Config.GetPlugins(), dir, log))
}

// LookAtExporter is OpenExporter for a dry run: an exporter that is a program is
// found, hashed and held against the lock file, and is not started. There is no
// Exporter to work with then; DescribeTo says which it is.
func LookAtExporter(e *config.Effective, dir string, log *slog.Logger) (*Stages, error) {
	return LookAtStages(e, Uses{exporter: Opened}, HostOptions(e.Config.GetPlugins(), dir, log))
}

// NewHost returns a host for the built-in stages and the programs that the
// configuration names directories for. With a run directory its plugins.lock
// counts; "" = without one. c may be nil: the defaults.
func NewHost(c *config.Plugins, runDir string, log *slog.Logger) (*host.Host, error) {
	return host.New(HostOptions(c, runDir, log))
}

func HostOptions(c *config.Plugins, runDir string, log *slog.Logger) host.Options {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	o := host.Options{
		Builtin: slices.Concat(rescore.Definitions(), sample.Definitions(), export.Definitions()), Dirs: host.Dirs(c.GetDir()),
		StartTimeout: seconds(c.GetStartTimeoutSeconds()), CallTimeout: seconds(c.GetCallTimeoutSeconds()), Restarts: int(c.GetRestarts()),
		Continue: c.GetOnFailure() == config.Plugins_CONTINUE, Log: log,
	}
	if runDir != "" {
		o.LockFiles = []string{filepath.Join(runDir, LockFile)}
		warnAside(runDir, o.Dirs, log)
	}
	return o
}

// OpenUsed opens the stages that u asks for; those of a run directory, or of none. A
// name that nothing has, and settings that a stage refuses, are config errors with their
// place (exit code 2). The stages must be closed.
func OpenUsed(ctx context.Context, e *config.Effective, u Uses, o host.Options) (*Stages, error) {
	return (&Stages{}).begin(ctx, e, u, o)
}

// LookAtStages is OpenUsed without a start of a program; see Stages.looks.
func LookAtStages(e *config.Effective, u Uses, o host.Options) (*Stages, error) {
	return (&Stages{looks: true}).begin(context.Background(), e, u, o)
}

// begin opens what u asks for with a host of its own, and returns s.
func (s *Stages) begin(ctx context.Context, e *config.Effective, u Uses, o host.Options) (*Stages, error) {
	h, err := host.New(o)
	if err != nil {
		return nil, fmt.Errorf("plugins: %w", err)
	}
	s.hosts = []*host.Host{h}
	if err := s.open(ctx, e.Config, u); err != nil {
		return nil, errors.Join(located(e, err), h.Close())
	}
	return s, nil
}

// open opens what c names and u asks for. After an error what was opened is
// released.
func (s *Stages) open(ctx context.Context, c *config.Config, u Uses) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.release())
		}
	}()
	chosen, h := choicesOf(c), s.Host()
	for i, r := range chosen.rescorers {
		path := fmt.Sprintf("plugins.rescorer[%d].name", i)
		if err := openOne(ctx, s, u.Rescorers, path, stage.KindRescorer, r, h.Rescorer, func(r stage.Rescorer) { s.Rescorers = append(s.Rescorers, r) }); err != nil {
			return err
		}
	}
	if err := openOne(ctx, s, u.Sampler, "plugins.sampler.name", stage.KindSampler, chosen.sampler, h.Sampler, func(x stage.Sampler) { s.Sampler = x }); err != nil {
		return err
	}
	if err := openOne(ctx, s, u.exporter, "export.exporter", stage.KindExporter, chosen.exporter, h.Exporter, func(x stage.Exporter) { s.Exporter = x }); err != nil {
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
	if s.looks {
		program, err := s.Host().Find(c.Name)
		if err != nil {
			return &stageFault{path, err}
		}
		if program != nil { // its settings it alone can check
			if u == Opened {
				s.note(StageInfo{Kind: kind, Name: c.Name, Path: program.Path, SHA256: program.SHA256})
			}
			return nil
		}
	}
	if u == Opened {
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
	s.note(info)
	return nil
}

// note remembers what stands behind a stage.
func (s *Stages) note(i StageInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.infos = append(s.infos, i)
}

// release ends the stages, but not the host.
func (s *Stages) release() error {
	h := s.Host()
	errs := []error{releaseAll(h, s.Rescorers)}
	if s.Sampler != nil {
		errs = append(errs, h.Release(s.Sampler))
	}
	if s.Exporter != nil {
		errs = append(errs, h.Release(s.Exporter))
	}
	s.Rescorers, s.Sampler, s.Exporter = nil, nil, nil
	return errors.Join(errs...)
}

func releaseAll(h *host.Host, chain rescore.Chain) error {
	var errs []error
	for _, r := range chain {
		errs = append(errs, h.Release(r))
	}
	return errors.Join(errs...)
}

// Adopt takes over the stages of n whose kinds were opened there, and its host,
// and returns those that were in their places.
func (s *Stages) Adopt(n *Stages, u Uses) (old *Stages) {
	old = &Stages{hosts: []*host.Host{s.Host()}}
	if u.Rescorers == Opened {
		old.Rescorers, s.Rescorers = s.Rescorers, n.Rescorers
	}
	if u.Sampler == Opened {
		old.Sampler, s.Sampler = s.Sampler, n.Sampler
	}
	if u.exporter == Opened {
		old.Exporter, s.Exporter = s.Exporter, n.Exporter
	}
	var infos []StageInfo
	before, after := s.Infos(), n.Infos()
	for _, kind := range []stage.Kind{stage.KindRescorer, stage.KindSampler, stage.KindExporter} {
		from := before
		if u.of(kind) == Opened {
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
	for _, h := range s.AllHosts() {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}

// askedGames are games that notice who asks for them.
type askedGames struct {
	seq          iter.Seq2[*record.Game, error]
	asked, given atomic.Bool // an exporter may read them in another goroutine
}

func (a *askedGames) each(yield func(*record.Game, error) bool) {
	a.asked.Store(true)
	for g, err := range a.seq {
		a.given.Store(true)
		if !yield(g, err) {
			return
		}
	}
}

// none says whether somebody asked, and there was neither a game nor an error.
func (a *askedGames) none() bool { return a.asked.Load() && !a.given.Load() }
