package run

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
)

// swapper exchanges stages of a running process, one swap at a time: for the
// control message swap-plugin, and when the configuration file is read again.
type swapper struct {
	uses     uses // of the process
	stages   *Stages
	desk     *pluginDesk
	log      *slog.Logger
	exchange func(context.Context, *exchange) error // puts the new stages to work; after an error the old ones work on
	save     func(*config.Config) error             // makes the configuration durable; nil = others do that

	mu      sync.Mutex // held during a swap; guards what follows
	started *config.Effective
	cfg     *config.Config // effective, as of the newest swap; replaced, never changed
}

// exchange is what a swap has ready: new stages that work.
type exchange struct {
	cfg    *config.Config // that names them
	stages *Stages        // the new ones
	uses   uses           // the kinds that are new are opened
	old    *Stages        // set by whoever exchanged them: those to release
	began  string         // set so too: why the sampler began a state of its own; "" = it did not
}

// swapInto writes the swap into a configuration and says which kind it changes.
func swapInto(w Swap, c *config.Config) (uses, error) {
	if kind := stage.Kind(w.Kind); kind != stage.KindRescorer && len(w.Stages) != 1 {
		return uses{}, fmt.Errorf("%d stages of kind %q: want one of kind sampler or exporter, or any number of kind rescorer", len(w.Stages), w.Kind)
	}
	stages := make([]*config.Stage, len(w.Stages))
	for i, s := range w.Stages {
		stages[i] = &config.Stage{Name: &s.Name, Settings: maps.Clone(s.Settings)}
	}
	switch stage.Kind(w.Kind) {
	case stage.KindRescorer:
		c.Plugins.Rescorer = stages
		return uses{rescorers: opened}, nil
	case stage.KindSampler:
		c.Plugins.Sampler = stages[0]
		return uses{sampler: opened}, nil
	case stage.KindExporter:
		c.Export.Exporter, c.Export.Settings = stages[0].Name, stages[0].Settings
		return uses{exporter: opened}, nil
	}
	return uses{}, fmt.Errorf("unknown kind %q; there are: rescorer, sampler, exporter", w.Kind)
}

// swap exchanges the stages of one kind. It returns when the new ones work; after
// an error the old ones do.
func (s *swapper) swap(ctx context.Context, w Swap) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := config.Clone(s.cfg)
	u, err := swapInto(w, next)
	if err != nil {
		return err
	}
	if s.uses.of(stage.Kind(w.Kind)) != opened {
		return fmt.Errorf("this process uses no %s", w.Kind)
	}
	return s.apply(ctx, next, u, s.stages.Host())
}

// reload reads the configuration file again and applies its sections plugins and
// export; other changes in it are named and left for the next start.
func (s *swapper) reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.started.Reload()
	if err == nil {
		err = CheckConfig(e)
	}
	if err != nil {
		return err
	}
	diff := config.Compare(s.cfg, e.Config)
	var changes []string
	for _, c := range slices.Concat(diff.Refused, diff.Logged) {
		if strings.HasPrefix(c.Path, "plugins.") || strings.HasPrefix(c.Path, "export.") {
			changes = append(changes, c.String())
		} else {
			s.log.Warn("a change in the configuration file is left for the next start: only plugins and export change in a running process", "change", c.String())
		}
	}
	if len(changes) == 0 {
		s.log.Info("the configuration file was read again: plugins and export are as before")
		return nil
	}
	next := config.Clone(s.cfg)
	next.Plugins, next.Export = e.Config.Plugins, e.Config.Export
	u, h, err := s.changed(next)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, next, u, h); err != nil {
		return located(e, err)
	}
	for _, c := range changes {
		s.log.Info("configuration changed", "change", c)
	}
	return nil
}

// reloadNow is reload for who cannot be answered: its error goes to the log.
func (s *swapper) reloadNow(ctx context.Context) {
	if err := s.reload(ctx); err != nil {
		s.log.Error("the configuration file was not applied", "error", err)
	}
}

// changed says which stages of next are others than now, and which host makes
// them: another one where programs are to be found or treated otherwise, and then
// all are new.
func (s *swapper) changed(next *config.Config) (uses, *host.Host, error) {
	a, b := s.cfg.GetPlugins(), next.GetPlugins()
	same := func(x, y stage.Choice) bool { return x.Name == y.Name && maps.Equal(x.Settings, y.Settings) }
	was, is := choicesOf(s.cfg), choicesOf(next)
	u := s.uses
	if slices.Equal(a.GetDir(), b.GetDir()) && a.GetOnFailure() == b.GetOnFailure() && a.GetRestarts() == b.GetRestarts() &&
		a.GetStartTimeoutSeconds() == b.GetStartTimeoutSeconds() && a.GetCallTimeoutSeconds() == b.GetCallTimeoutSeconds() {
		if slices.EqualFunc(was.rescorers, is.rescorers, same) {
			u.rescorers = ignored
		}
		if same(was.sampler, is.sampler) {
			u.sampler = ignored
		}
		if same(was.exporter, is.exporter) {
			u.exporter = ignored
		}
		return u, s.stages.Host(), nil
	}
	h, err := host.New(s.desk.options(b))
	if err != nil {
		return u, nil, fmt.Errorf("plugins: %w", err)
	}
	return u, h, nil
}

// apply opens the stages of next that u names, by h, and puts them to work. h is
// closed after an error unless it is the host that makes the stages now.
func (s *swapper) apply(ctx context.Context, next *config.Config, u uses, h *host.Host) (err error) {
	was := s.stages.Host()
	defer func() {
		if err != nil && h != was && h != s.stages.Host() {
			err = errors.Join(err, h.Close())
		}
	}()
	x := &exchange{cfg: next, stages: &Stages{hosts: []*host.Host{h}}, uses: u}
	if err := x.stages.open(ctx, next, u); err != nil {
		return err
	}
	if err := s.exchange(ctx, x); err != nil {
		return errors.Join(err, x.stages.release())
	}
	s.cfg = next
	s.announce(x)
	s.desk.report(s.stages.allHosts()) // what the old ones did, before they go
	if err := x.old.release(); err != nil {
		s.log.Warn("a stage that was replaced did not end well", "error", err)
	}
	if s.save != nil {
		if err := s.save(next); err != nil {
			return fmt.Errorf("the new stages work, but the configuration could not be written down: %w", err)
		}
	}
	return nil
}

// announce tells the log and the events what was exchanged.
func (s *swapper) announce(x *exchange) {
	for _, kind := range []stage.Kind{stage.KindRescorer, stage.KindSampler, stage.KindExporter} {
		if x.uses.of(kind) != opened {
			continue
		}
		fresh := infosOf(x.stages.Infos(), kind)
		old, now := describe(infosOf(x.old.Infos(), kind)), describe(fresh)
		s.log.Info("stage exchanged", "kind", string(kind), "old", old, "new", now)
		s.desk.publish(&monitor.Plugin{Kind: string(kind), Name: namesOf(fresh), State: monitor.PluginSwapped, Detail: old + " -> " + now})
	}
	if x.began != "" {
		s.log.Info("the sampler begins a state of its own", "sampler", namesOf(infosOf(x.stages.Infos(), stage.KindSampler)), "reason", x.began)
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

// retire returns what ends rescorers that were replaced: for Store.SetRescorers.
func (s *swapper) retire(h *host.Host) func(old rescore.Chain) {
	return func(old rescore.Chain) {
		logFaults(s.log, old)
		if err := releaseAll(h, old); err != nil {
			s.log.Warn("a rescorer that was replaced did not end well", "error", err)
		}
	}
}

func logFaults(log *slog.Logger, chain rescore.Chain) {
	if err := chain.Err(); err != nil {
		log.Error("a rescorer went on without what it found broken", "error", err)
	}
}
