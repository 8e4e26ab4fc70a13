package gate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run/setup"
)

// cacheEntries is how many answers a net remembers in each worker.
const cacheEntries = 50_000

// contest is a match under way.
type contest struct {
	g     *gatekeeper
	sides [2]*side // candidate, baseline
	// Their nets, ready to play; closed after the match.
	players []*setup.NetPlayer
	last    arena.Progress
	where   verdict
	tally   arena.Pentanomial // of all finished pairs
	half    map[int]int       // result of the game of a pair that finished first, by pair
}

// match plays a candidate against the baseline, or goes on where an earlier
// start was stopped, and returns the decision.
func (g *gatekeeper) match(ctx context.Context, candidate, baseline *side) (_ *Result, err error) {
	c := &contest{g: g, sides: [2]*side{candidate, baseline}, half: map[int]int{}}
	defer func() {
		for _, p := range c.players {
			if closeErr := p.Close(); closeErr != nil {
				err = errors.Join(err, closeErr)
			}
		}
	}()
	dir := g.matchDir(candidate.name)
	if err := g.prepareMatch(dir); err != nil {
		return nil, err
	}
	cfg, err := c.config()
	if err != nil {
		return nil, err
	}
	began, err := c.openLog(dir, cfg)
	if err != nil {
		return nil, err
	}
	for i := range cfg.Done {
		c.count(&cfg.Done[i])
	}
	g.log.Info("match", "candidate", candidate.name, "baseline", baseline.name, "games", 2*len(cfg.Openings), "finished_before", len(cfg.Done),
		"decided_by", g.rule.String(), "settings", c.settings())
	g.page.Set(func(p *Page) { p.State, p.Match = "playing", c.standing() })
	games, err := arena.Play(ctx, *cfg)
	err = errors.Join(err, cfg.Log.Close())
	if err != nil {
		if errors.Is(err, arena.ErrStopped) && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("match of %s against %s: %w", candidate.name, baseline.name, err)
	}
	if !c.where.decided {
		return nil, fmt.Errorf("match of %s against %s: %d of %d games decide nothing", candidate.name, baseline.name, c.last.Games(), c.last.Total)
	}
	if err := fsx.WriteFileFunc(fsx.OS, filepath.Join(dir, GamesName), games.WritePGN); err != nil {
		return nil, fmt.Errorf("write games of the match: %w", err)
	}
	return c.result(began, games.Games), nil
}

// prepareMatch makes the directory of a match.
func (g *gatekeeper) prepareMatch(dir string) error {
	if err := fsx.MkdirAll(fsx.OS, dir); err != nil {
		return fmt.Errorf("make directory of the match: %w", err)
	}
	if _, err := fsx.RemoveTemps(fsx.OS, dir); err != nil { // of a process that was killed
		return fmt.Errorf("clean up %s: %w", dir, err)
	}
	return fsx.CheckSpace(fsx.OS, dir, 0)
}

// config describes the match to the arena.
func (c *contest) config() (*arena.Config, error) {
	g := c.g
	cfg := &arena.Config{Seed: c.seed(), Workers: int(g.gate.GetWorkers()), MaxPlies: int(g.gate.GetMaxPlies()),
		Decided: c.decided, OnGame: c.finished}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	for i, s := range c.sides {
		player, err := setup.OpenNetPlayer(g.cfg, s.net)
		if err != nil {
			return nil, fmt.Errorf("prepare net %s for the match: %w", s.name, err)
		}
		c.players = append(c.players, player)
		settings := settingsOf(g.cfg)
		cfg.Players[i], err = arena.NewNet(arena.NetConfig{
			Name:         s.name,
			NewEvaluator: player.NewEvaluator,
			Settings:     [2]arena.Settings{settings, settings},
			CacheEntries: cacheEntries,
		})
		if err != nil {
			return nil, g.opt.Effective.Errorf("loop.gatekeeper", "correct the settings of the match", "%v", err)
		}
	}
	var err error
	cfg.Openings, err = arena.Vary(nil, int(g.gate.GetGames())/2, int(g.gate.GetOpeningPlies()), cfg.Seed)
	if err != nil {
		return nil, g.opt.Effective.Errorf("loop.gatekeeper.opening_plies", "play more random plies, or fewer games", "%v", err)
	}
	return cfg, nil
}

// settingsOf is how both nets search: as in self-play (section mcts), without
// noise.
func settingsOf(c *config.Config) arena.Settings {
	k := c.GetLoop().GetGatekeeper()
	s := arena.Settings{Search: setup.SearchConfig(c.GetMcts()), TreeReuse: true,
		Temperature: k.GetTemperature(), TemperaturePlies: max(0, int(k.GetTemperaturePlies()-k.GetOpeningPlies()))} // the arena counts from the opening's end
	s.Search.Simulations, s.Search.Playouts = int(k.GetVisits()), 0
	s.Search.Gumbel.Enabled = k.GetGumbel()
	// The most visited move is played: visits that cannot change it are saved.
	s.Search.Stop.SmartPruning = s.Temperature == 0 && !k.GetGumbel()
	return s
}

// settings says how the nets search, so that games of other settings are not
// counted.
func (c *contest) settings() string {
	s := settingsOf(c.g.cfg)
	text := fmt.Sprintf("visits=%d cpuct=%g fpu=%g", s.Search.Simulations, s.Search.CPUCT, s.Search.FPUReduction)
	if s.Search.Gumbel.Enabled {
		text += fmt.Sprintf(" gumbel=%d", s.Search.Gumbel.Candidates)
	}
	if s.Temperature > 0 {
		text += fmt.Sprintf(" temperature=%g plies=%d", s.Temperature, s.TemperaturePlies)
	}
	return text
}

// seed is the match's own: each pair of nets plays other openings.
func (c *contest) seed() uint64 {
	h := sha256.New()
	h.Write(binary.LittleEndian.AppendUint64([]byte("chessbrain gatekeeper\x00"), c.g.seed))
	for _, s := range c.sides {
		h.Write([]byte(s.sha256 + "\x00"))
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

// openLog opens the log of the match and hands it, with the games in it, to the
// arena. A log of another match (another baseline, other settings) is put aside.
func (c *contest) openLog(dir string, cfg *arena.Config) (began time.Time, err error) {
	h := arena.LogHeader{Seed: cfg.Seed, Openings: arena.HashOpenings(cfg.Openings), MaxPlies: cfg.MaxPlies,
		Program: c.g.program(), Began: time.Now().UTC()}
	for i, s := range c.sides {
		h.Players[i] = arena.LogPlayer{Name: s.name, NetID: s.net.ID(), SHA256: s.sha256, Settings: c.settings()}
	}
	path := filepath.Join(dir, LogName)
	cfg.Log, cfg.Done, err = arena.OpenLog(fsx.OS, path, h)
	if other, ok := errors.AsType[*arena.OtherMatchError](err); ok {
		c.g.log.Warn("the match begins anew; the games of the other one are put aside", "log", path, "differences", other.Differences)
		if err := putAside(dir); err != nil {
			return began, err
		}
		cfg.Log, cfg.Done, err = arena.OpenLog(fsx.OS, path, h)
	}
	if err != nil {
		return began, err
	}
	first, _, err := arena.ReadLog(fsx.OS, path)
	if err != nil {
		return began, errors.Join(err, cfg.Log.Close())
	}
	return first.Began, nil
}

// decided is told how far the match is and says whether that is enough.
func (c *contest) decided(p arena.Progress) bool {
	c.last, c.where = p, c.g.rule.judge(p)
	return c.where.decided
}

// count takes a finished game into the pairs.
func (c *contest) count(g *arena.Game) {
	first, ok := c.half[g.Number/2]
	if !ok {
		c.half[g.Number/2] = g.Result(0)
		return
	}
	delete(c.half, g.Number/2)
	c.tally[2+first+g.Result(0)]++
}

// finished writes a line a game and tells the readers of events.
func (c *contest) finished(g *arena.Game) {
	c.count(g)
	color := [2]string{"white", "black"}[g.White] // player 0 is the candidate
	p, e := c.last, arena.EstimateElo(c.tally)
	c.g.log.Info("game", "number", fmt.Sprintf("%d (%d of %d)", g.Number+1, p.Games(), p.Total), "candidate", color,
		"result", map[int8]string{1: "1-0", 0: "1/2-1/2", -1: "0-1"}[g.WhiteResult], "end", string(g.End), "plies", len(g.Moves),
		"score", fmt.Sprintf("+%d =%d -%d", p.Wins, p.Draws, p.Losses), "elo", arena.EloText(float64(e.Elo), float64(e.High-e.Low)/2))
	c.g.page.Set(func(page *Page) { page.Match = c.standing() })
	c.g.process.Publish(&monitor.Gate{Candidate: c.sides[0].name, Baseline: c.sides[1].name, Wins: p.Wins, Draws: p.Draws, Losses: p.Losses,
		Elo: monitor.Number(e.Elo), EloErr: monitor.Number((e.High - e.Low) / 2), Verdict: "running"})
}

// result is the decision, with the figures of all games of the log: of those that
// were finished when an earlier start was killed, fewer may have decided.
func (c *contest) result(began time.Time, games []arena.Game) *Result {
	s, rule := arena.Summarise(games), c.g.rule
	r := &Result{
		Version: resultVersion, Candidate: c.sides[0].name, Baseline: c.sides[1].name,
		CandidateSHA256: c.sides[0].sha256, BaselineSHA256: c.sides[1].sha256,
		CandidateNetID: c.sides[0].net.ID(), BaselineNetID: c.sides[1].net.ID(),
		Games: s.Games(), GamesWanted: c.last.Total, Wins: s.Wins, Draws: s.Draws, Losses: s.Losses, Points: s.Points(), Pentanomial: s.Pentanomial,
		Accepted: c.where.accepted, Reason: c.where.reason, Began: began, Ended: time.Now().UTC(), Program: c.g.program(),
	}
	if rule.sprt != nil {
		r.SPRT = &Sequential{Elo0: rule.sprt.Elo0, Elo1: rule.sprt.Elo1, Alpha: rule.sprt.Alpha, Beta: rule.sprt.Beta, SPRTResult: *c.where.test}
	}
	r.estimate()
	return r
}
