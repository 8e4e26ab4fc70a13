package setup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
)

// Swapper exchanges stages of a running process, one swap at a time: for the
// control message swap-plugin, and when the configuration file is read again.
type Swapper struct {
	Uses    Uses // of the process
	Stages  *Stages
	Plugins *PluginMonitor
	Log     *slog.Logger
	Save    func(text []byte) error // makes the configuration durable; nil = others do that

	// Exchange puts new stages to work, whose nets leave as x says, and returns those that
	// were in their places; began says why the sampler began a state of its own, "" = it
	// did not. After an error the old ones work on.
	Exchange func(ctx context.Context, x Export, fresh *Stages) (old *Stages, began string, err error)

	mu      sync.Mutex // held during a swap; guards what follows
	Started *config.Effective
	Cfg     *config.Config // effective, as of the newest swap; replaced, never changed
}

// OpenSwapper opens the stages that a process uses and what exchanges them; the caller
// sets its Exchange.
func OpenSwapper(ctx context.Context, e *config.Effective, u Uses, plugins *PluginMonitor) (*Stages, *Swapper, error) {
	s, err := OpenUsed(ctx, e, u, plugins.Options(e.Config.GetPlugins()))
	if err != nil {
		return nil, nil, err
	}
	return s, &Swapper{Uses: u, Stages: s, Plugins: plugins, Log: plugins.Log, Started: e, Cfg: config.Clone(e.Config)}, nil
}

// swapInto writes the swap into a configuration.
func swapInto(w run.Swap, c *config.Config) error {
	if kind := stage.Kind(w.Kind); kind != stage.KindRescorer && len(w.Stages) != 1 {
		return fmt.Errorf("%d stages of kind %q: want one of kind sampler or exporter, or any number of kind rescorer", len(w.Stages), w.Kind)
	}
	stages := make([]*config.Stage, len(w.Stages))
	for i, s := range w.Stages {
		stages[i] = &config.Stage{Name: &s.Name, Settings: maps.Clone(s.Settings)}
	}
	switch stage.Kind(w.Kind) {
	case stage.KindRescorer:
		c.Plugins.Rescorer = stages
	case stage.KindSampler:
		c.Plugins.Sampler = stages[0]
	case stage.KindExporter:
		c.Export.Exporter, c.Export.Settings = stages[0].Name, stages[0].Settings
	default:
		return fmt.Errorf("unknown kind %q; there are: rescorer, sampler, exporter", w.Kind)
	}
	return nil
}

// Swap exchanges the stages of one kind. It returns when the new ones work; after
// an error, and of a dry run, the old ones do.
func (s *Swapper) Swap(ctx context.Context, w run.Swap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := config.Clone(s.Cfg)
	if err := swapInto(w, next); err != nil {
		return err
	}
	kind := stage.Kind(w.Kind)
	if s.Uses[kind] != Opened {
		return fmt.Errorf("this process uses no %s", w.Kind)
	}
	if w.DryRun {
		fresh := &Stages{options: s.Stages.options}
		if err := fresh.open(ctx, next, Uses{kind: Opened}); err != nil {
			return err
		}
		return fresh.Close()
	}
	return s.apply(ctx, next, Uses{kind: Opened}, s.Stages.options)
}

// reload reads the configuration file again and applies its sections plugins and
// export; other changes in it are named and left for the next start.
func (s *Swapper) reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.Started.Reload()
	if err == nil {
		err = CheckConfig(e)
	}
	if err != nil {
		return err
	}
	diff := config.Compare(s.Cfg, e.Config)
	var changes []config.Change
	for _, c := range slices.Concat(diff.Refused, diff.Logged) {
		if strings.HasPrefix(c.Path, "plugins.") || strings.HasPrefix(c.Path, "export.") {
			changes = append(changes, c)
		} else {
			s.Log.Warn("a change in the configuration file is left for the next start: only plugins and export change in a running process", "change", c.String())
		}
	}
	if len(changes) == 0 {
		s.Log.Info("the configuration file was read again: plugins and export are as before")
		return nil
	}
	next := config.Clone(s.Cfg)
	next.Plugins, next.Export = e.Config.Plugins, e.Config.Export
	u, o := s.changed(changes, next)
	if err := s.apply(ctx, next, u, o); err != nil {
		return located(e, err)
	}
	for _, c := range changes {
		s.Log.Info("configuration changed", "change", c.String())
	}
	return nil
}

// ReloadNow is reload for who cannot be answered: its error goes to the log.
func (s *Swapper) ReloadNow(ctx context.Context) {
	if err := s.reload(ctx); err != nil {
		s.Log.Error("the configuration file was not applied", "error", err)
	}
}

// changed says which stages are others after some changes, which make next, and the
// options of their hosts: all are new where programs are to be found or treated
// otherwise.
func (s *Swapper) changed(changes []config.Change, next *config.Config) (Uses, host.Options) {
	u := Uses{}
	for _, c := range changes {
		switch {
		case strings.HasPrefix(c.Path, "plugins.rescorer"):
			u[stage.KindRescorer] = s.Uses[stage.KindRescorer]
		case strings.HasPrefix(c.Path, "plugins.sampler"):
			u[stage.KindSampler] = s.Uses[stage.KindSampler]
		case strings.HasPrefix(c.Path, "plugins."):
			return s.Uses, s.Plugins.Options(next.GetPlugins())
		case strings.HasPrefix(c.Path, "export.exporter"), strings.HasPrefix(c.Path, "export.settings"):
			u[stage.KindExporter] = s.Uses[stage.KindExporter]
		}
	}
	return u, s.Stages.options
}

// apply opens the stages of next that u names and puts them to work.
func (s *Swapper) apply(ctx context.Context, next *config.Config, u Uses, o host.Options) error {
	fresh := &Stages{options: o}
	if err := fresh.open(ctx, next, u); err != nil {
		return err
	}
	old, began, err := s.Exchange(ctx, ExportOf(next), fresh)
	if err != nil {
		return errors.Join(err, fresh.Close())
	}
	s.Cfg = next
	s.announce(old, fresh, began)
	s.Plugins.Report(s.Stages.AllHosts()) // what the old ones did, before they go
	if err := old.Close(); err != nil {
		s.Log.Warn("a stage that was replaced did not end well", "error", err)
	}
	if s.Save != nil {
		if err := s.Save(config.Format(next)); err != nil {
			return fmt.Errorf("the new stages work, but the configuration could not be written down: %w", err)
		}
	}
	return nil
}

// announce tells the log and the events what was exchanged.
func (s *Swapper) announce(old, fresh *Stages, began string) {
	for _, kind := range kinds {
		if _, opened := fresh.parts[kind]; !opened {
			continue
		}
		was, now := describe(old.infosOf(kind)), describe(fresh.infosOf(kind))
		s.Log.Info("stage exchanged", "kind", string(kind), "old", was, "new", now)
		s.Plugins.publish(&monitor.Plugin{Kind: string(kind), Name: namesOf(fresh.infosOf(kind)), State: monitor.PluginSwapped, Detail: was + " -> " + now})
	}
	if began != "" {
		s.Log.Info("the sampler begins a state of its own", "sampler", namesOf(fresh.infosOf(stage.KindSampler)), "reason", began)
	}
}

// namesOf joins the names of stages.
func namesOf(infos []StageInfo) string {
	var names []string
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return strings.Join(names, ",")
}

// Retire leaves it to the store to end the rescorers of old, which were replaced: what
// it returns is for Store.SetRescorers. nil: the rescorers stay.
func (s *Swapper) Retire(old *Stages) func(rescore.Chain) {
	h := old.parts[stage.KindRescorer].host
	if h == nil {
		return nil
	}
	old.hosts = slices.DeleteFunc(old.hosts, func(other *host.Host) bool { return other == h })
	return func(chain rescore.Chain) {
		LogFaults(s.Log, chain)
		if err := h.Close(); err != nil {
			s.Log.Warn("a rescorer that was replaced did not end well", "error", err)
		}
	}
}

func LogFaults(log *slog.Logger, chain rescore.Chain) {
	if err := chain.Err(); err != nil {
		log.Error("a rescorer went on without what it found broken", "error", err)
	}
}
