package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
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

// Stages are the exchangeable steps of a process, built in or programs.
type Stages struct {
	Rescorers rescore.Chain
	Sampler   stage.Sampler  // nil where it was not asked for; still to be seeded
	Exporter  stage.Exporter // nil where it was not asked for
	looks     bool           // of a dry run: programs are found and hashed, none is started

	options host.Options // of all hosts; replaced by Adopt
	base    *host.Host   // for what is not one of the stages above, such as a loader's

	mu    sync.Mutex // guards what follows; the rest is used by one goroutine at a time
	parts map[stage.Kind]part
	hosts []*host.Host // all that there were
}

// part is what stands behind the stages of a kind that was opened.
type part struct {
	host  *host.Host // makes them, and no others
	infos []StageInfo
}

// Host makes other stages than those that were opened.
func (s *Stages) Host() *host.Host { return s.base }

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

// OpenKinds opens the stages of some kinds that a configuration names, and no others;
// see OpenUsed. dir is the run directory, or "".
func OpenKinds(ctx context.Context, e *config.Effective, dir string, log *slog.Logger, kinds ...stage.Kind) (*Stages, error) {
	u := Uses{}
	for _, kind := range kinds {
		u[kind] = Opened
	}
	return OpenUsed(ctx, e, u, HostOptions(e.Config.GetPlugins(), dir, log))
}

// HostOptions are those of a host for the built-in stages and the programs that the
// configuration names directories for. With a run directory its plugins.lock
// counts; "" = without one. c may be nil: the defaults.
func HostOptions(c *config.Plugins, runDir string, log *slog.Logger) host.Options {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	o := host.Options{
		Builtin: slices.Concat(rescore.Definitions(), sample.Definitions(), export.Definitions()), Dirs: host.Dirs(c.GetDir()),
		StartTimeout: seconds(c.GetStartTimeoutSeconds()), CallTimeout: seconds(c.GetCallTimeoutSeconds()), Restarts: int(c.GetRestarts()),
		Memory: c.GetMemoryMib() << 20, Continue: c.GetOnFailure() == config.Plugins_CONTINUE, Log: log,
	}
	if runDir != "" {
		o.LockFiles = []string{filepath.Join(runDir, LockFile)}
		warnAside(runDir, o.Dirs, log)
	}
	return o
}

// OpenUsed opens the stages that a configuration names and u asks for. A name that
// nothing has, and settings that a stage refuses, are config errors with their place
// (exit code 2). The stages must be closed.
func OpenUsed(ctx context.Context, e *config.Effective, u Uses, o host.Options) (*Stages, error) {
	s := &Stages{options: o}
	return s, located(e, s.open(ctx, e.Config, u))
}

// LookAtStages is OpenUsed for a dry run. Programs are found, hashed and held against the
// lock file; none is started, for who looks has not yet decided to run them. A stage that
// is a program is not there to work with; DescribeTo says which it is.
func LookAtStages(e *config.Effective, u Uses) (*Stages, error) {
	s := &Stages{looks: true, options: HostOptions(e.Config.GetPlugins(), e.Config.GetRunDir(), slog.New(slog.DiscardHandler))}
	return s, located(e, s.open(context.Background(), e.Config, u))
}

// open opens what c names and u asks for. After an error what was opened is closed.
func (s *Stages) open(ctx context.Context, c *config.Config, u Uses) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.parts = map[stage.Kind]part{}
	if s.base, err = s.newHost(); err != nil {
		return err
	}
	for _, kind := range kinds {
		if u[kind] == ignored {
			continue
		}
		p := part{host: s.base}
		if u[kind] == Opened {
			if p.host, err = s.newHost(); err != nil {
				return err
			}
		}
		for _, one := range choicesOf(c, kind) {
			info, err := s.openOne(ctx, p.host, u[kind], kind, one.Choice)
			if err != nil {
				return &stageFault{one.path, err}
			}
			p.infos = append(p.infos, info)
		}
		if u[kind] == Opened {
			s.parts[kind] = p
		}
	}
	return nil
}

func (s *Stages) newHost() (*host.Host, error) {
	h, err := host.New(s.options)
	if err != nil {
		return nil, fmt.Errorf("plugins: %w", err)
	}
	s.hosts = append(s.hosts, h)
	return h, nil
}

// openOne opens or checks one stage and says what stands behind it.
func (s *Stages) openOne(ctx context.Context, h *host.Host, u use, kind stage.Kind, c stage.Choice) (info StageInfo, err error) {
	if s.looks {
		if program, err := h.Find(c.Name); err != nil || program != nil { // its settings it alone can check
			if program != nil {
				info = StageInfo{Kind: kind, Name: c.Name, Path: program.Path, SHA256: program.SHA256}
			}
			return info, err
		}
	}
	switch {
	case u == checked:
	case kind == stage.KindRescorer:
		var r stage.Rescorer
		if r, err = h.Rescorer(ctx, c); err == nil {
			s.Rescorers = append(s.Rescorers, r)
		}
	case kind == stage.KindSampler:
		s.Sampler, err = h.Sampler(ctx, c)
	case kind == stage.KindExporter:
		s.Exporter, err = h.Exporter(ctx, c)
	}
	if err != nil {
		return info, err
	}
	d, program, err := h.Definition(ctx, kind, c.Name) // of a program that runs the host knows it
	if err == nil {
		_, err = d.Values(c.Settings)
	}
	if err != nil {
		return info, err
	}
	info = StageInfo{Kind: kind, Name: d.Name, Version: d.Version}
	if program != nil {
		info.Path, info.SHA256 = program.Path, program.SHA256
	}
	return info, nil
}

// Adopt takes over the stages of the kinds that n opened, and returns those that were
// in their places: to be closed.
func (s *Stages) Adopt(n *Stages) (old *Stages) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = &Stages{parts: map[stage.Kind]part{}}
	for kind, p := range n.parts {
		was := s.parts[kind]
		old.parts[kind], s.parts[kind] = was, p
		old.hosts, s.hosts = append(old.hosts, was.host), append(s.hosts, p.host)
		switch kind {
		case stage.KindRescorer:
			s.Rescorers = n.Rescorers
		case stage.KindSampler:
			s.Sampler = n.Sampler
		case stage.KindExporter:
			s.Exporter = n.Exporter
		}
	}
	s.options = n.options
	old.hosts = append(old.hosts, n.base) // which no stage uses
	return old
}

// Close ends the stages and all programs. A nil *Stages has none.
func (s *Stages) Close() (err error) {
	if s == nil {
		return nil
	}
	for _, h := range s.AllHosts() {
		err = errors.Join(err, h.Close())
	}
	return err
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

// StageInfo says what stands behind a stage.
type StageInfo struct {
	Kind    stage.Kind
	Name    string
	Version string // "" = a program that was not started to be asked
	Path    string // of the program; "" = built in
	SHA256  string // of the program, hexadecimal
}

// String returns "sampler uniform 1.0.0 (built in)", or the program's path and hash.
func (i StageInfo) String() string {
	text := string(i.Kind) + " " + i.Name
	if i.Version != "" {
		text += " " + i.Version
	}
	if i.Path == "" {
		return text + " (built in)"
	}
	return fmt.Sprintf("%s (%s, SHA-256 %s)", text, i.Path, i.SHA256)
}

// Infos says what stands behind each stage: rescorers, sampler, exporter.
func (s *Stages) Infos() (infos []StageInfo) {
	for _, kind := range kinds {
		infos = append(infos, s.infosOf(kind)...)
	}
	return infos
}

// infosOf says it of the stages of a kind.
func (s *Stages) infosOf(kind stage.Kind) []StageInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[kind].infos
}

// Log writes a line for each stage.
func (s *Stages) Log(log *slog.Logger) {
	for _, i := range s.Infos() {
		if i.Path == "" {
			log.Info("stage", "kind", string(i.Kind), "name", i.Name, "version", i.Version, "program", "built in")
		} else {
			log.Info("stage", "kind", string(i.Kind), "name", i.Name, "version", i.Version, "program", i.Path, "sha256", i.SHA256)
		}
	}
}

// DescribeTo writes a line for each stage, as dry runs do, and warns of programs
// that have the name of a built-in stage.
func (s *Stages) DescribeTo(w io.Writer) {
	for _, i := range s.Infos() {
		fmt.Fprintf(w, "stage: %s\n", i)
		if i.Path != "" && s.Host().HasBuiltin(i.Kind, i.Name) {
			fmt.Fprintf(w, "warning: %s %s: the program %s takes the place of the built-in one, if it is a %s\n", i.Kind, i.Name, i.Path, i.Kind)
		}
	}
}

// describe returns infos in one line.
func describe(infos []StageInfo) string {
	var parts []string
	for _, i := range infos {
		parts = append(parts, i.String())
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}
