package match

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Options say what a match is.
type Options struct {
	Specs    [2]string     // players 1 and 2, in PlayerForms
	Flags    Flags         // of the players
	Margin   time.Duration // what a move may take beyond its time
	Rules    Rules
	Openings Openings
	Games    int // an even number
	Seed     uint64
	MaxPlies int

	Workers     int
	Parallel    int // games of each worker; 0 = its share
	Concurrency int // games of all workers; 0 = as Workers and Parallel say

	PGN string // file for all games; "" = none
	Log string // file to go on from; "" = beside PGN as long as the match lasts, NoLog = none

	Program   string                           // for the log's header
	Precision string                           // in which nets are computed, for the log and the report
	OpenNet   func(spec string) (Net, error)   // makes the net of a specification
	Tell      func(format string, args ...any) // gets progress, a line a call
}

// Validate says what is out of range and whether the files can be written.
func (o *Options) Validate() error {
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"games", o.Games, 2, 1e6}, {"workers", o.Workers, 1, 1024}, {"parallel", o.Parallel, 0, 1 << 15}, {"max-plies", o.MaxPlies, 1, 10000},
		{"concurrency", o.Concurrency, 0, 1 << 15},
	} {
		if f.value < f.low || f.value > f.high {
			return askedf("--%s %d: want %d to %d", f.name, f.value, f.low, f.high)
		}
	}
	if o.Games%2 != 0 {
		return askedf("--games %d: want an even number, games come in pairs", o.Games)
	}
	if o.PGN != "" {
		if err := fsx.CanCreate(o.PGN); err != nil {
			return fmt.Errorf("--pgn: %w", err)
		}
		if fsx.IsFile(o.PGN) && !startsPGN(o.PGN) {
			return askedf("--pgn: %s is there and is no PGN; name another file", o.PGN)
		}
		for _, other := range []string{o.logPath(), o.Openings.File} {
			if other != "" && fsx.SameFile(o.PGN, other) {
				return askedf("--pgn: %s is the log or the openings of this match, too; name another file", o.PGN)
			}
		}
	}
	if o.Concurrency > 0 && o.Parallel > 0 {
		return askedf("--concurrency and --parallel exclude each other")
	}
	if o.Margin < 0 || o.Margin > time.Minute {
		return askedf("--margin %v: want 0s to 1m", o.Margin)
	}
	if err := o.Rules.validate(); err != nil {
		return err
	}
	return o.Openings.validate()
}

// startsPGN says whether a file begins as PGN does, or says nothing.
func startsPGN(path string) bool {
	text, err := fsx.ReadUpTo(fsx.OS, path, 1<<12)
	text = bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r\n")
	return err != nil || len(text) == 0 || bytes.IndexByte([]byte("[%;{"), text[0]) >= 0
}

// shape returns how many threads play, and how many games each (0 = a default).
func (o *Options) shape(players [2]arena.Player) (workers, parallel int) {
	if o.Concurrency == 0 {
		return o.Workers, o.Parallel
	}
	if slices.ContainsFunc(players[:], arena.Player.OneGame) {
		return o.Concurrency, 1
	}
	for workers = min(o.Workers, o.Concurrency); o.Concurrency%workers != 0; {
		workers--
	}
	return workers, o.Concurrency / workers
}

// unused refuses a flag of players that is given although neither of them is of
// the kind that has it.
func (o *Options) unused(players [2]*Player) error {
	nets := slices.ContainsFunc(players[:], func(p *Player) bool { return p.NetID != "" })
	engines := slices.ContainsFunc(players[:], func(p *Player) bool { return p.programSHA256 != "" })
	for _, prefix := range prefixes {
		if given := o.Flags.given(prefix, forNets); given != "" && !nets && !engines {
			return askedf("%s: neither player searches", given)
		} else if given != "" && !nets {
			return askedf("%s: neither player is a net", given)
		}
	}
	if given := o.Flags.given("", forSearchers, forEngines); given != "" && !nets && !engines {
		return askedf("%s: neither player searches", given)
	}
	if given := o.Flags.given("", forEngines); given != "" && !engines {
		return askedf("%s: neither player is an engine", given)
	}
	return nil
}

// Match is a match that is ready to be played.
type Match struct {
	options  *Options
	config   arena.Config
	report   Report
	openings string // where they are from
	locks    []*fsx.Lock
}

// New makes the players. The caller closes the match, also after an error of
// another method.
func New(o *Options) (_ *Match, err error) {
	m := &Match{options: o, report: Report{Games: o.Games, Seed: o.Seed, Precision: o.Precision}}
	m.config = arena.Config{Seed: o.Seed, MaxPlies: o.MaxPlies, Adjudicate: o.Rules.Adjudicate, Decided: o.Rules.decided()}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	for i, spec := range o.Specs {
		p, err := newPlayer(i+1, spec, o)
		if err != nil {
			return nil, err
		}
		m.report.Players[i], m.config.Players[i] = p, p.player
	}
	m.config.Workers, m.config.Parallel = o.shape(m.config.Players)
	m.report.Workers = m.config.Workers
	return m, o.unused(m.report.Players)
}

// ReadOpenings reads or draws the openings.
func (m *Match) ReadOpenings() (err error) {
	m.config.Openings, m.openings, err = m.options.Openings.openings(m.options.Games/2, m.options.Seed)
	return err
}

// Play plays the match, and writes its games and its log, also when it is
// interrupted or fails. The report is nil where nothing was begun.
func (m *Match) Play(ctx context.Context) (*Report, error) {
	m.config.OnGame = tellProgress(m.options.Tell)
	if err := m.warm(ctx); err != nil {
		return nil, errors.Join(err, m.closeLog(false))
	}
	began := time.Now()
	result, err := arena.Play(ctx, m.config)
	if result == nil { // nothing was begun
		return nil, errors.Join(askedError{err}, m.closeLog(false))
	}
	m.report.Seconds = time.Since(began).Seconds()
	return m.finish(result, err)
}

// warm makes nets ready whose first moves would lose time otherwise.
func (m *Match) warm(ctx context.Context) error {
	for i, p := range m.report.Players {
		if p.net == nil || !p.player.OneGame() {
			continue
		}
		if err := p.net.Warm(ctx, 1); err != nil {
			return fmt.Errorf("--player%d: %w", i+1, err)
		}
	}
	return nil
}

// finish writes the finished games and sums them up. err is what ended the match.
func (m *Match) finish(result *arena.Result, err error) (*Report, error) {
	r := &m.report
	stopped := errors.Is(err, arena.ErrStopped)
	if stopped {
		err = nil
		r.Interrupted = &Interrupted{Played: len(result.Games), Games: m.options.Games, Logged: m.config.Log != nil}
	}
	ended := err == nil && !stopped
	if m.options.PGN != "" {
		err = errors.Join(err, fsx.WriteNamed(m.options.PGN, result.WritePGN))
	}
	err = errors.Join(err, m.closeLog(ended && err == nil))
	r.Summary, r.SPRT = arena.Summarise(result.Games), m.options.Rules.report(result.Games)
	r.Players[0].Name, r.Players[1].Name = result.Names[0], result.Names[1]
	return r, err
}

// Close gives the nets back, and the files free.
func (m *Match) Close() (err error) {
	for _, l := range m.locks {
		err = errors.Join(err, l.Remove())
	}
	for _, p := range m.report.Players {
		if p != nil && p.net != nil {
			err = errors.Join(err, p.net.Close())
		}
	}
	return err
}

// askedError is a fault of what was asked for; its text is the whole message.
type askedError struct{ error }

func (e askedError) Unwrap() error { return e.error }

// ExitCode is that of a usage error.
func (askedError) ExitCode() int { return 2 }

func askedf(format string, args ...any) error { return askedError{fmt.Errorf(format, args...)} }

// Interrupted says that a match was stopped.
type Interrupted struct {
	Played, Games int
	Logged        bool // the same command goes on
}

// Error implements error.
func (e *Interrupted) Error() string {
	text := fmt.Sprintf("match interrupted after %d of %d games; the result is theirs", e.Played, e.Games)
	if e.Logged {
		return text + ", and the same command goes on"
	}
	return text + "; with --pgn or --log FILE it could go on"
}

// ExitCode is that of work that was interrupted and kept.
func (*Interrupted) ExitCode() int { return 5 }
