package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Dirs are the gatekeeper's directories. All that it moves nets between lie on
// one file system.
type Dirs struct {
	Test     string // candidates
	Accepted string
	Rejected string
	SelfPlay string // gets <net>/ before a net is accepted
	PGN      string // gets <net>/games.pgn; all else of a match lies in the run, where ratings look for it
}

// dirsOf fills in what is empty: the run's own directories.
func dirsOf(root string, d Dirs) Dirs {
	own := run.Dir{Root: root}
	return Dirs{
		Test:     cmp.Or(d.Test, own.Candidates()),
		Accepted: cmp.Or(d.Accepted, own.Models()),
		Rejected: cmp.Or(d.Rejected, own.Rejected()),
		SelfPlay: cmp.Or(d.SelfPlay, own.Selfplay()),
		PGN:      cmp.Or(d.PGN, own.Gates()),
	}
}

// Options start a gatekeeper.
type Options struct {
	Effective *setup.Effective
	Dirs      Dirs          // empty ones are the run's own
	Once      bool          // end when there is no net to test; else wait for more
	Locked    bool          // the caller holds the run's lock, for a stage of a cycle
	LockWait  time.Duration // how long to wait for another gatekeeper of the run to end
	Command   string        // for the locks
	Version   string        // of the program
	Log       *slog.Logger
	Readers   []monitor.Sink // attached to the gatekeeper's events
	Progress  monitor.Sink   // may block: the terminal; nil = none

	Share setup.ShareMatch // games of matches with other machines

	// Decided, where it is not nil, is called after each decision that is carried out.
	Decided func()

	poll time.Duration // between two looks for nets, for tests; 0 = pollEvery
}

// pollEvery is how often a gatekeeper that waits looks for nets.
const pollEvery = 2 * time.Second

// gatekeeper is a gatekeeper at work. One goroutine uses it, but for page.
type gatekeeper struct {
	opt  Options
	want setup.Gatekeeper
	rule rule
	log  *slog.Logger

	root    string
	dirs    Dirs
	seed    uint64 // of the run
	process *run.Process

	page    run.Shared[Page]
	summary Summary
}

// Run tests the nets that wait, and with Options.Once false those that come. It
// returns what was decided, with run.ErrInterrupted when ctx ended first:
// finished games are on disk, and the next call goes on with the match.
func Run(ctx context.Context, opt Options) (*Summary, error) {
	g := &gatekeeper{opt: opt, log: opt.Log}
	if err := g.open(ctx); err != nil {
		return nil, err
	}
	return &g.summary, g.process.Close(g.work(g.process.Context()))
}

// work tests nets until there is nothing more to do.
func (g *gatekeeper) work(ctx context.Context) error {
	var said time.Time
	for {
		tested, err := g.next(ctx)
		if err != nil {
			return err
		}
		if tested {
			said = time.Time{}
			continue
		}
		if g.opt.Once {
			return nil
		}
		if time.Since(said) >= time.Minute {
			g.log.Info("waiting for a net to test", "dir", g.dirs.Test)
			said = time.Now()
		}
		g.page.Set(func(p *Page) { p.State, p.Match = "waiting", nil })
		if err := run.Sleep(ctx, cmp.Or(g.opt.poll, pollEvery)); err != nil {
			return err
		}
		if err := g.process.Err(); err != nil {
			return err
		}
	}
}

// next decides about the newest candidate; false where there is none.
func (g *gatekeeper) next(ctx context.Context) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	nets, err := run.ListNets(run.Dir{Root: g.root}, g.dirs.Test)
	if err != nil || len(nets) == 0 {
		return false, err
	}
	candidate := &nets[0]
	accepted, err := setup.NetsBelow(run.Dir{Root: g.root}, g.dirs.Accepted)
	if err != nil {
		return false, err
	}
	r, err := g.unlessTaken(candidate)
	if r == nil && err == nil {
		r, err = g.decide(ctx, candidate, accepted)
	}
	if err == nil {
		err = g.settle(candidate, r)
	}
	if still, _ := fsx.Exists(candidate.Path); !still && errors.Is(err, fs.ErrNotExist) {
		g.log.Warn("a net to test was taken away", "net", candidate.Name)
		return true, nil
	}
	return true, err
}

// newerThan returns the accepted net that a candidate is older than, "" = none: the newest
// one, or one of its training with more samples.
func newerThan(candidate *run.NetFile, accepted []run.NetFile) string {
	for i := range accepted {
		if n := &accepted[i]; (i == 0 || candidate.SameLine(n)) && candidate.Older(n) {
			return n.Name
		}
	}
	return ""
}

// decide returns what is to become of a candidate, which it plays where that is
// open. Of the accepted nets the newest comes first.
func (g *gatekeeper) decide(ctx context.Context, candidate *run.NetFile, accepted []run.NetFile) (*Result, error) {
	r, err := g.undone(candidate)
	if r != nil || err != nil {
		return r, err
	}
	if newer := newerThan(candidate, accepted); newer != "" && !g.want.TestOlder {
		return g.reject(candidate, "older than "+newer+", which is accepted")
	}
	challenger, err := readSide(candidate)
	if unusable(err) {
		g.log.Error("the net cannot be used and is rejected", "net", candidate.Name, "error", err)
		g.process.Publish(&monitor.Alarm{Code: "bad_net", Severity: "error", Message: err.Error(), Remedy: "export the net again"})
		return g.reject(candidate, err.Error())
	}
	if err != nil {
		return nil, err
	}
	baseline := &side{name: RandomNet, net: nn.Init(challenger.net.Arch, g.seed)}
	if len(accepted) > 0 {
		if baseline, err = readSide(&accepted[0]); err != nil {
			return nil, fmt.Errorf("the newest accepted net cannot be played against: %w; put it back from a copy, or move it away", err)
		}
	}
	return g.match(ctx, challenger, baseline)
}

// unlessTaken rejects a candidate that has the name of an accepted net, under
// another name: games and matches of the accepted one go by its name.
func (g *gatekeeper) unlessTaken(candidate *run.NetFile) (*Result, error) {
	taken, err := fsx.Exists(filepath.Join(g.dirs.Accepted, candidate.Name+run.NetSuffix))
	if !taken || err != nil {
		return nil, err
	}
	name := candidate.Name
	if err := g.rename(candidate); err != nil {
		return nil, err
	}
	return g.reject(candidate, "it came as "+name+", and a net of this name is accepted already")
}

// undone returns the decision about a candidate that a process came to which was
// killed before it had moved the net, nil where there is none.
func (g *gatekeeper) undone(candidate *run.NetFile) (*Result, error) {
	r, err := ReadResult(g.matchDir(candidate.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sum, _, err := fsx.HashFile(fsx.OS, candidate.Path)
	if err != nil {
		return nil, err
	}
	if r.Placed == "" && r.Candidate == candidate.Name && r.CandidateSHA256 == sum && len(r.Files) > 0 {
		g.log.Info("the net was decided about before the last stop", "result", r.String())
		return r, nil
	}
	g.log.Info("a net of this name was tested before; the earlier match is put aside", "net", candidate.Name)
	return nil, g.putAside(candidate.Name)
}

// putAside renames the files of an earlier match of a net.
func (g *gatekeeper) putAside(net string) error {
	dir, games := g.matchDir(net), g.gamesDir(net)
	err := arena.PutAside(dir, matchFiles...)
	if there, _ := fsx.Exists(games); there && games != dir {
		err = errors.Join(err, arena.PutAside(games, GamesName))
	}
	return err
}

// reject decides against a candidate without a match.
func (g *gatekeeper) reject(candidate *run.NetFile, reason string) (*Result, error) {
	sum, _, err := fsx.HashFile(fsx.OS, candidate.Path)
	now := time.Now().UTC()
	return &Result{Version: resultVersion, Candidate: candidate.Name, CandidateSHA256: sum, Reason: reason,
		Began: now, Ended: now, Program: g.program()}, err
}

// settled tells everybody of a decision that is carried out.
func (g *gatekeeper) settled(r *Result) {
	g.log.Info("gate", "result", r.String())
	g.summary.Results = append(g.summary.Results, r)
	g.page.Set(func(p *Page) { p.Accepted, p.Rejected = g.summary.counts() })
	if r.Games > 0 {
		g.process.Publish(&monitor.Gate{Candidate: r.Candidate, Baseline: r.Baseline, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses,
			Elo: monitor.Number(r.Elo), EloErr: monitor.Number(r.EloError), Verdict: r.Verdict()})
	}
	action := monitor.NetRejected
	if r.Accepted {
		action = monitor.NetPublished
	}
	g.process.Publish(&monitor.Net{Action: action, NetID: r.Candidate, Path: run.Dir{Root: g.root}.NetPath(r.Placed)})
	if g.opt.Decided != nil {
		g.opt.Decided()
	}
}

func (g *gatekeeper) matchDir(net string) string {
	return filepath.Join(run.Dir{Root: g.root}.Gates(), net)
}

func (g *gatekeeper) gamesDir(net string) string { return filepath.Join(g.dirs.PGN, net) }

func (g *gatekeeper) program() string { return "chessbrain " + g.opt.Version }

// unusable reports whether a net's file is at fault, and not the way to it.
func unusable(err error) bool {
	_, damaged := errors.AsType[*nn.FormatError](err)
	return damaged || errors.Is(err, nn.ErrArch) || errors.Is(err, nn.ErrParams) || errors.Is(err, nn.ErrNotFinite)
}
