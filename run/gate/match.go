package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/setup"
)

// contest is a match under way.
type contest struct {
	g     *gatekeeper
	sides [2]*side // candidate, baseline
	last  arena.Progress
	where verdict
}

// match plays a candidate against the baseline, or goes on where an earlier
// start was stopped, and returns the decision.
func (g *gatekeeper) match(ctx context.Context, candidate, baseline *side) (_ *Result, err error) {
	c := &contest{g: g, sides: [2]*side{candidate, baseline}}
	dir, games := g.matchDir(candidate.name), g.gamesDir(candidate.name)
	if err := errors.Join(PrepareDir(dir), PrepareDir(games)); err != nil {
		return nil, err
	}
	cfg, release, err := c.config()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := c.openLog(dir, cfg); err != nil {
		return nil, err
	}
	done := arena.Summarise(cfg.Done)
	c.last = arena.Progress{Count: done.Count, All: done.Pentanomial}
	g.log.Info("match", "candidate", candidate.name, "baseline", baseline.name, "games", 2*len(cfg.Openings), "finished_before", len(cfg.Done),
		"decided_by", g.rule.String(), "settings", c.settings())
	g.page.Set(func(p *Page) { p.State, p.Match = "playing", c.standing() })
	played, err := arena.PlayLogged(ctx, *cfg, filepath.Join(games, GamesName))
	if err != nil {
		return nil, err
	}
	if !c.where.decided {
		return nil, fmt.Errorf("match of %s against %s: %d of %d games decide nothing", candidate.name, baseline.name, c.last.Games(), c.last.Total)
	}
	return c.result(cfg.Log.Began, played.Games), nil
}

// PrepareDir makes a directory of matches, or cleans it up after a process that was killed.
func PrepareDir(dir string) error {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("make directory of the match: %w", err)
	}
	if err := fsx.RemoveTemps(fsx.OS, dir, ""); err != nil {
		return fmt.Errorf("clean up %s: %w", dir, err)
	}
	return fsx.DefaultReserve.Check(fsx.OS, dir, 0)
}

// config describes the match to the arena.
func (c *contest) config() (cfg *arena.Config, release func() error, err error) {
	want, e := &c.g.want, c.g.opt.Effective
	m := &setup.NetMatch{Search: want.Search, Games: want.Games, OpeningPlies: want.OpeningPlies, MaxPlies: want.MaxPlies,
		Seed: arena.MatchSeed("chessbrain gatekeeper", c.g.seed, c.sides[0].sha256, c.sides[1].sha256)}
	for i, s := range c.sides {
		m.Names[i], m.Nets[i] = s.name, s.net
	}
	if cfg, release, err = m.Open(e.Config); errors.Is(err, setup.ErrMatch) {
		return nil, nil, e.Errorf("loop.gatekeeper", "correct them; too few different openings want more opening_plies, or fewer games", "%v", err)
	}
	if err != nil {
		return nil, nil, err
	}
	cfg.Workers, cfg.Decided, cfg.OnGame, cfg.Share = want.Workers, c.decided, c.finished, c.g.opt.Share.With(m, e.Config)
	return cfg, release, nil
}

// settings says how the nets search, so that games of other settings are not
// counted.
func (c *contest) settings() string {
	s := &c.g.want.Search
	text := fmt.Sprintf("visits=%d cpuct=%g fpu=%g", s.Search.Simulations, s.Search.CPUCT, s.Search.FPUReduction)
	if s.Search.Gumbel.Enabled {
		text += fmt.Sprintf(" gumbel=%d", s.Search.Gumbel.Candidates)
	}
	if s.Temperature > 0 {
		text += fmt.Sprintf(" temperature=%g plies=%d", s.Temperature, s.TemperaturePlies)
	}
	return text
}

// openLog opens the log of the match. One of another match (another baseline, other
// settings) is put aside.
func (c *contest) openLog(dir string, cfg *arena.Config) error {
	h := arena.LogHeader{Openings: arena.HashOpenings(cfg.Openings), Program: c.g.program()}
	for i, s := range c.sides {
		h.Players[i] = arena.LogPlayer{Name: s.name, NetID: s.net.ID(), SHA256: s.sha256, Settings: c.settings()}
	}
	path := filepath.Join(dir, LogName)
	return cfg.OpenLog(h, path, func(other *arena.OtherMatchError) error {
		c.g.log.Warn("the match begins anew; the games of the other one are put aside", "log", path, "differences", other.Differences)
		return c.g.putAside(c.sides[0].name)
	})
}

// decided is told how far the match is and says whether that is enough.
func (c *contest) decided(p arena.Progress) bool {
	c.last, c.where = p, c.g.rule.judge(p)
	return c.where.decided
}

// finished tells the log and the readers of events.
func (c *contest) finished(g *arena.Game, p arena.Progress) {
	color := [2]string{"white", "black"}[g.White] // player 0 is the candidate
	e := arena.EstimateElo(p.All).Of(p.Count)
	c.g.log.Debug("game", "number", fmt.Sprintf("%d (%d of %d)", g.Number+1, p.Games(), p.Total), "candidate", color,
		"result", map[int8]string{1: "1-0", 0: "1/2-1/2", -1: "0-1"}[g.WhiteResult], "end", string(g.End), "plies", len(g.Moves),
		"score", fmt.Sprintf("+%d =%d -%d", p.Wins, p.Draws, p.Losses), "elo", arena.EloText(e.Elo, e.Error()))
	c.g.page.Set(func(page *Page) { page.Match = c.standing() })
	c.g.process.Publish(&monitor.Gate{Candidate: c.sides[0].name, Baseline: c.sides[1].name, Wins: p.Wins, Draws: p.Draws, Losses: p.Losses, Wanted: p.Total,
		Elo: monitor.Number(e.Elo), EloErr: monitor.Number(e.Error()), Verdict: "running"})
}

// result is the decision, with the figures of all games of the log: of those that
// were finished when an earlier start was killed, fewer may have decided.
func (c *contest) result(began time.Time, games []arena.Game) *Result {
	s, rule := arena.Summarise(games), c.g.rule
	r := &Result{
		Version: resultVersion, Candidate: c.sides[0].name, Baseline: c.sides[1].name,
		CandidateSHA256: c.sides[0].sha256, BaselineSHA256: c.sides[1].sha256,
		CandidateNetID: c.sides[0].net.ID(), BaselineNetID: c.sides[1].net.ID(),
		Games: s.Games(), GamesWanted: c.last.Total, Count: s.Count, Points: s.Points(), Pentanomial: s.Pentanomial,
		Accepted: c.where.accepted, Reason: c.where.reason, Began: began, Ended: time.Now().UTC(), Program: c.g.program(),
	}
	if rule.sprt != nil {
		r.SPRT = &arena.SPRTReport{SPRT: *rule.sprt, SPRTResult: *c.where.test}
	}
	r.estimate()
	return r
}
