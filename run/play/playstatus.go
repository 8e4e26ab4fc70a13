package play

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/alarms"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// PlayPage is one page of a playing process's state.
type PlayPage struct {
	Job     string `json:"job"`
	Process string `json:"process"`
	Net     string `json:"net"`
	Games   int64  `json:"games"` // on disk, those of earlier starts included
	selfplay.Snapshot
	Stages  []string            `json:"stages,omitempty"` // rescorers in use
	Plugins []setup.PluginState `json:"plugins,omitempty"`
	run.Arithmetic
}

// page is the state of the process now.
func (s *selfPlayer) page() any {
	p := PlayPage{Job: s.Job, Process: s.name(), Net: s.nets.Name(), Games: s.games.Load(), Snapshot: s.stats.Snapshot(),
		Arithmetic: setup.ArithmeticOf(s.opt.Effective.Config, false, true)}
	p.Stages, p.Plugins = s.stages.Page()
	return p
}

// openEvents starts the process's own events: a metrics.jsonl beside those of
// the run's other processes, and the readers that were asked for.
func (s *selfPlayer) openEvents() error {
	s.meter = new(monitor.Meter)
	s.meter.Observe(time.Now(), monitor.Totals{})
	a := setup.ArithmeticOf(s.opt.Effective.Config, false, true)
	err := s.process.OpenEvents(run.Events{Job: s.Job, Metrics: filepath.Join(s.Dir.Metrics, string(run.Player(s.number))), Append: true, Readers: s.opt.Readers,
		Start: &monitor.Run{Command: s.opt.Command, Version: s.opt.Version, Seed: s.Seed,
			ProducerDevice: a.ProducerDevice, Kernels: a.Kernels, ProducerPrecision: a.ProducerPrecision}})
	if err != nil {
		return err
	}
	s.process.Bus().Go(256, alarms.New(s.process.Publish))
	s.process.Show(s.opt.Progress)
	s.process.OnClose(func() error {
		s.publishState()
		return nil
	})
	return nil
}

// TotalsOf are the counters of players as events have them.
func TotalsOf(n *selfplay.Snapshot) monitor.Totals {
	return monitor.Totals{
		Games: int64(n.GamesFinished), Positions: int64(n.Positions), Evaluations: int64(n.Evaluations), Batches: int64(n.Batches),
		CacheHits: int64(n.CacheHits), CacheProbes: int64(n.CacheHits + n.CacheMisses),
	}
}

// publishState makes an event of the process's state.
func (s *selfPlayer) publishState() {
	p, now := s.summary(), time.Now()
	totals := TotalsOf(&p.Snapshot)
	tree, network := p.shares()
	ends := map[string]int64{}
	for reason, count := range p.Ends {
		ends[reason] = int64(count)
	}
	s.process.Publish(&monitor.SelfPlay{
		Process: s.name(), NetID: s.nets.Name(), Games: p.Games, Wanted: s.opt.MaxGames, Totals: totals, Rates: s.meter.Observe(now, totals),
		VisitsPerSecond: monitor.Number(p.perSecond(p.Visits)), TreeShare: monitor.Number(tree), NetworkShare: monitor.Number(network),
		Results: monitor.Results{White: int64(p.WhiteWins), Draw: int64(p.Draws), Black: int64(p.BlackWins)},
		Ends:    ends, MeanPlies: monitor.Number(p.MeanPlies()),
		ResignTested: int64(p.ResignsPlayedOn), ResignFalse: int64(p.FalseResigns),
	})
}

// watch loads newer weights as they appear, publishes the state and writes a
// line a minute, until nobody plays any more.
func (s *selfPlayer) watch(ctx context.Context) error {
	first, poll, state, line := time.After(firstState), time.Tick(netPoll), time.Tick(s.Every), time.Tick(time.Minute)
	for {
		select {
		case <-first:
			s.publishState()
		case <-ctx.Done():
			return nil
		case <-poll:
			if err := s.follow(); err != nil {
				return err
			}
		case <-s.opt.Reload:
			s.swaps.ReloadNow(ctx)
		case <-state:
			s.publishState()
			s.plugins.Report(s.stages.AllHosts())
			if err := s.process.Err(); err != nil {
				return err
			}
		case <-line:
			s.log.Info("statistics", "net", s.nets.Name(), "summary", s.summary().line())
		}
	}
}

// follow loads the newest net if there is a newer one than before. One that
// cannot be read is left for the next time.
func (s *selfPlayer) follow() error {
	found, err := s.finder.Find()
	if found != nil && found.Name != s.nets.Name() {
		if err := s.nets.Publish(found.Name, found.Net, found.Samples); err != nil {
			return err
		}
		s.store.NewNet(found.Name)
		s.process.Publish(&monitor.Net{Action: monitor.NetLoaded, NetID: found.Name, Samples: int64(found.Samples)})
		s.log.Info("net loaded", "net", found.Name, "arch", found.Net.Arch.String())
	}
	s.tellUnread(err)
	return nil
}

// tellUnread says once that newer nets cannot be read, until they can.
func (s *selfPlayer) tellUnread(err error) {
	if err != nil && !s.lost {
		s.log.Warn("the newest net cannot be read; playing with "+s.nets.Name(), "error", err)
	}
	s.lost = err != nil
}

// PlaySummary is what a playing process says at its end.
type PlaySummary struct {
	Process string
	Games   int64 // on disk, those of earlier starts included, branches not
	Played  int64 // of those by this start
	Saved   int   // unfinished games that go on at the next start
	Elapsed time.Duration
	Workers int
	selfplay.Snapshot
}

func (s *selfPlayer) summary() *PlaySummary {
	games := s.games.Load()
	return &PlaySummary{Process: s.name(), Games: games, Played: games - s.before, Saved: s.saved, Elapsed: time.Since(s.began),
		Workers: s.Workers, Snapshot: s.stats.Snapshot()}
}

func (p *PlaySummary) perSecond(n uint64) float64 { return float64(n) / max(p.Elapsed.Seconds(), 1e-9) }

// shares returns the shares of the workers' time in tree work and in the
// evaluator; what is missing to 1 is storing games, waiting and starting.
func (p *PlaySummary) shares() (tree, network float64) {
	all := max(p.Elapsed.Seconds()*float64(p.Workers), 1e-9)
	return p.Tree.Seconds() / all, p.Network.Seconds() / all
}

// line is the summary in one line.
func (p *PlaySummary) line() string {
	tree, network := p.shares()
	return fmt.Sprintf("%s, %.1f positions/s, %.0f visits/s, %.0f evaluations/s, mean batch %.1f, cache hits %.1f %%, "+
		"workers' time: tree %.0f %%, network %.0f %%", monitor.Count(p.Games, "game"), p.perSecond(p.Positions), p.perSecond(p.Visits), p.perSecond(p.Evaluations),
		p.MeanBatch(), 100*p.CacheHitShare(), 100*tree, 100*network)
}

func (p *PlaySummary) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Process %s has %s on disk, %d of them from this start", strings.TrimPrefix(p.Process, "p"), monitor.Count(p.Games, "game"), p.Played)
	if p.Forks+p.SidePositions > 0 {
		fmt.Fprintf(&b, "; %s, %s", monitor.Count(p.Forks, "fork"), monitor.Count(p.SidePositions, "side position"))
	}
	if p.Saved > 0 {
		fmt.Fprintf(&b, "; %d unfinished ones go on at the next start", p.Saved)
	}
	b.WriteByte('\n')
	if p.Positions > 0 {
		fmt.Fprintf(&b, "Speed: %s\n", p.line())
		fmt.Fprintf(&b, "       %d positions, %d evaluations (%.1f a position) in %s with %s\n", p.Positions, p.Evaluations,
			float64(p.Evaluations)/float64(p.Positions), p.Elapsed.Round(time.Second), monitor.Count(p.Workers, "worker"))
	}
	if p.WhiteWins+p.Draws+p.BlackWins > 0 {
		fmt.Fprintf(&b, "Results: white %d, draw %d (%.0f %%), black %d; %.1f plies a game; ends: %s\n", p.WhiteWins, p.Draws,
			100*p.DrawShare(), p.BlackWins, p.MeanPlies(), record.EndCountsOf(p.Ends, p.WhiteWins+p.BlackWins))
	}
	if share, ok := p.ResignError(); ok {
		fmt.Fprintf(&b, "Resignations: %s played on, %d would have been false (%.1f %%)\n", monitor.Count(p.ResignsPlayedOn, "game"), p.FalseResigns, 100*share)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
