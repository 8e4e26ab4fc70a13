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
	Uses     Uses // of the process
	Stages   *Stages
	Plugins  *PluginMonitor
	Log      *slog.Logger
	Exchange func(context.Context, *Exchange) error // puts the new stages to work; after an error the old ones work on
	Save     func(text []byte) error                // makes the configuration durable; nil = others do that

	mu      sync.Mutex // held during a swap; guards what follows
	Started *config.Effective
	Cfg     *config.Config // effective, as of the newest swap; replaced, never changed
}

// Exchange is what a swap has ready: new stages that work.
type Exchange struct {
	Cfg    *config.Config // that names them
	Stages *Stages        // the new ones
	Uses   Uses           // the kinds that are new are opened
	Old    *Stages        // set by whoever exchanged them: those to release
	Began  string         // set so too: why the sampler began a state of its own; "" = it did not
}

// swapInto writes the swap into a configuration and says which kind it changes.
func swapInto(w run.Swap, c *config.Config) (Uses, error) {
	if kind := stage.Kind(w.Kind); kind != stage.KindRescorer && len(w.Stages) != 1 {
		return Uses{}, fmt.Errorf("%d stages of kind %q: want one of kind sampler or exporter, or any number of kind rescorer", len(w.Stages), w.Kind)
	}
	stages := make([]*config.Stage, len(w.Stages))
	for i, s := range w.Stages {
		stages[i] = &config.Stage{Name: &s.Name, Settings: maps.Clone(s.Settings)}
	}
	switch stage.Kind(w.Kind) {
	case stage.KindRescorer:
		c.Plugins.Rescorer = stages
		return Uses{Rescorers: Opened}, nil
	case stage.KindSampler:
		c.Plugins.Sampler = stages[0]
		return Uses{Sampler: Opened}, nil
	case stage.KindExporter:
		c.Export.Exporter, c.Export.Settings = stages[0].Name, stages[0].Settings
		return Uses{exporter: Opened}, nil
	}
	return Uses{}, fmt.Errorf("unknown kind %q; there are: rescorer, sampler, exporter", w.Kind)
}

// Swap exchanges the stages of one kind. It returns when the new ones work; after
// an error the old ones do.
func (s *Swapper) Swap(ctx context.Context, w run.Swap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := config.Clone(s.Cfg)
	u, err := swapInto(w, next)
	if err != nil {
		return err
	}
	if s.Uses.of(stage.Kind(w.Kind)) != Opened {
		return fmt.Errorf("this process uses no %s", w.Kind)
	}
	return s.apply(ctx, next, u, s.Stages.Host())
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
	var changes []string
	for _, c := range slices.Concat(diff.Refused, diff.Logged) {
		if strings.HasPrefix(c.Path, "plugins.") || strings.HasPrefix(c.Path, "export.") {
			changes = append(changes, c.String())
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
	u, h, err := s.changed(next)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, next, u, h); err != nil {
		return located(e, err)
	}
	for _, c := range changes {
		s.Log.Info("configuration changed", "change", c)
	}
	return nil
}

// ReloadNow is reload for who cannot be answered: its error goes to the log.
func (s *Swapper) ReloadNow(ctx context.Context) {
	if err := s.reload(ctx); err != nil {
		s.Log.Error("the configuration file was not applied", "error", err)
	}
}

// changed says which stages of next are others than now, and which host makes
// them: another one where programs are to be found or treated otherwise, and then
// all are new.
func (s *Swapper) changed(next *config.Config) (Uses, *host.Host, error) {
	a, b := s.Cfg.GetPlugins(), next.GetPlugins()
	same := func(x, y stage.Choice) bool { return x.Name == y.Name && maps.Equal(x.Settings, y.Settings) }
	was, is := choicesOf(s.Cfg), choicesOf(next)
	u := s.Uses
	if slices.Equal(a.GetDir(), b.GetDir()) && a.GetOnFailure() == b.GetOnFailure() && a.GetRestarts() == b.GetRestarts() &&
		a.GetStartTimeoutSeconds() == b.GetStartTimeoutSeconds() && a.GetCallTimeoutSeconds() == b.GetCallTimeoutSeconds() {
		if slices.EqualFunc(was.rescorers, is.rescorers, same) {
			u.Rescorers = ignored
		}
		if same(was.sampler, is.sampler) {
			u.Sampler = ignored
		}
		if same(was.exporter, is.exporter) {
			u.exporter = ignored
		}
		return u, s.Stages.Host(), nil
	}
	h, err := host.New(s.Plugins.Options(b))
	if err != nil {
		return u, nil, fmt.Errorf("plugins: %w", err)
	}
	return u, h, nil
}

// apply opens the stages of next that u names, by h, and puts them to work. h is
// closed after an error unless it is the host that makes the stages now.
func (s *Swapper) apply(ctx context.Context, next *config.Config, u Uses, h *host.Host) (err error) {
	was := s.Stages.Host()
	defer func() {
		if err != nil && h != was && h != s.Stages.Host() {
			err = errors.Join(err, h.Close())
		}
	}()
	x := &Exchange{Cfg: next, Stages: &Stages{hosts: []*host.Host{h}}, Uses: u}
	if err := x.Stages.open(ctx, next, u); err != nil {
		return err
	}
	if err := s.Exchange(ctx, x); err != nil {
		return errors.Join(err, x.Stages.release())
	}
	s.Cfg = next
	s.announce(x)
	s.Plugins.Report(s.Stages.AllHosts()) // what the old ones did, before they go
	if err := x.Old.release(); err != nil {
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
func (s *Swapper) announce(x *Exchange) {
	for _, kind := range []stage.Kind{stage.KindRescorer, stage.KindSampler, stage.KindExporter} {
		if x.Uses.of(kind) != Opened {
			continue
		}
		fresh := infosOf(x.Stages.Infos(), kind)
		old, now := describe(infosOf(x.Old.Infos(), kind)), describe(fresh)
		s.Log.Info("stage exchanged", "kind", string(kind), "old", old, "new", now)
		s.Plugins.publish(&monitor.Plugin{Kind: string(kind), Name: namesOf(fresh), State: monitor.PluginSwapped, Detail: old + " -> " + now})
	}
	if x.Began != "" {
		s.Log.Info("the sampler begins a state of its own", "sampler", namesOf(infosOf(x.Stages.Infos(), stage.KindSampler)), "reason", x.Began)
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

// Retire returns what ends rescorers that were replaced: for Store.SetRescorers.
func (s *Swapper) Retire(h *host.Host) func(old rescore.Chain) {
	return func(old rescore.Chain) {
		LogFaults(s.Log, old)
		if err := releaseAll(h, old); err != nil {
			s.Log.Warn("a rescorer that was replaced did not end well", "error", err)
		}
	}
}

func LogFaults(log *slog.Logger, chain rescore.Chain) {
	if err := chain.Err(); err != nil {
		log.Error("a rescorer went on without what it found broken", "error", err)
	}
}
