package join

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

const (
	taskGames      = 32 // at most in a task: as many at once make whole batches
	taskAuditShare = 10 // of one task in so many a game is played again, and of each player's first
	taskAudits     = 64 // tasks that wait for that
)

// Matches are the matches of a run at work, of which players lease games. The methods may be
// called concurrently.
type Matches struct {
	log    *slog.Logger
	audits chan audit

	mu     sync.Mutex
	offers []*offer // the newest last
	tasks  map[uint64]*task
	issued uint64 // tasks so far
}

// offer is a match under way.
type offer struct {
	match      *setup.NetMatch
	cfg        *config.Config // of the run's own players
	arithmetic string         // theirs
	shared     arena.Shared
	fleet.Task           // what all tasks have in common
	files      [2][]byte // of the nets
	stored     bool      // players can fetch them

	mu    sync.Mutex
	ended bool
	games int // that players have delivered
}

// task is a lease.
type task struct {
	*offer
	player fleet.Player
	games  []int
}

// audit is a task whose games count once one of them was played again.
type audit struct {
	*task
	entry *PlayerEntry
	games []arena.Game
}

// NewMatches returns the matches of a run that none plays yet.
func NewMatches(log *slog.Logger) *Matches {
	return &Matches{log: log, audits: make(chan audit, taskAudits), tasks: map[uint64]*task{}}
}

// Share is a setup.ShareMatch.
func (x *Matches) Share(m *setup.NetMatch, c *config.Config) func(context.Context, arena.Shared) {
	return func(ctx context.Context, s arena.Shared) {
		o, err := newOffer(m, c, s)
		if err != nil {
			x.log.Error("players take no part in a match", "error", err)
			return
		}
		x.mu.Lock()
		x.offers = append(x.offers, o)
		x.mu.Unlock()
		<-ctx.Done()
		x.mu.Lock()
		x.offers = slices.DeleteFunc(x.offers, func(other *offer) bool { return other == o })
		for id, t := range x.tasks {
			if t.offer == o {
				delete(x.tasks, id)
			}
		}
		x.mu.Unlock()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ended = true
		if o.games > 0 {
			x.log.Info("players of other machines took part in the match", "player1", m.Names[0], "player2", m.Names[1], "games", o.games)
		}
	}
}

func newOffer(m *setup.NetMatch, c *config.Config, s arena.Shared) (o *offer, err error) {
	o = &offer{match: m, cfg: c, arithmetic: arithmeticOf(c), shared: s}
	for i, net := range m.Nets {
		var file bytes.Buffer
		if err := nn.WriteSafetensors(&file, net, nil); err != nil {
			return nil, err
		}
		o.files[i], o.Nets[i] = file.Bytes(), fleet.NewNetRef(m.Names[i], file.Bytes())
	}
	o.Match, err = json.Marshal(m)
	return o, err
}

// some says whether there are matches.
func (x *Matches) some() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.offers) > 0
}

// store makes the nets of new matches known.
func (x *Matches) store(ctx context.Context, inbox fleet.Inbox) error {
	x.mu.Lock()
	offers := slices.DeleteFunc(slices.Clone(x.offers), func(o *offer) bool { return o.stored })
	x.mu.Unlock()
	for _, o := range offers {
		for i := range o.files {
			if err := inbox.Store(ctx, o.Nets[i], o.files[i]); err != nil {
				return err
			}
		}
		x.mu.Lock()
		o.stored = true
		x.mu.Unlock()
	}
	return nil
}

// lease gives a player games of the newest match that it can play exactly as the run does.
func (x *Matches) lease(p fleet.Player, arithmetic string) fleet.Task {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(func(t *task) bool { return t.player == p }) // of an earlier start
	for _, o := range slices.Backward(x.offers) {
		if !o.stored || o.arithmetic != arithmetic {
			continue
		}
		if games := o.shared.Lend(taskGames); len(games) > 0 {
			x.issued++
			x.tasks[x.issued] = &task{offer: o, player: p, games: games}
			t := o.Task
			t.ID, t.Games = x.issued, games
			return t
		}
	}
	return fleet.Task{}
}

// drop returns the games of some tasks to their matches. mu is held.
func (x *Matches) drop(which func(*task) bool) {
	for id, t := range x.tasks {
		if which(t) {
			delete(x.tasks, id)
			t.shared.Return(t.games)
		}
	}
}

// finish takes the outcome of a player's task; first says that it is the player's first.
func (x *Matches) finish(p fleet.Player, e *PlayerEntry, o fleet.Outcome, first bool) {
	x.mu.Lock()
	t := x.tasks[o.ID]
	if t == nil || t.player != p { // the match is over, or others play the games
		x.mu.Unlock()
		return
	}
	delete(x.tasks, o.ID)
	x.mu.Unlock()
	games, err := t.read(o)
	if err != nil {
		x.log.Warn("a player hands games of a match back", "process", e.Process, "reason", plain(err.Error()))
		t.shared.Return(t.games)
		return
	}
	a := audit{t, e, games}
	if !first && rand.IntN(taskAuditShare) > 0 {
		x.deliver(a)
		return
	}
	select {
	case x.audits <- a:
	default:
		t.shared.Return(t.games) // rather than games that nobody has looked at
	}
}

// read returns the games of a task's outcome.
func (t *task) read(o fleet.Outcome) ([]arena.Game, error) {
	if o.Failed != "" {
		return nil, errors.New(o.Failed)
	}
	games, err := arena.DecodeGames(o.Games)
	if err != nil {
		return nil, err
	}
	left := slices.Clone(t.games)
	for i := range games {
		at := slices.Index(left, games[i].Number)
		if at < 0 {
			return nil, fmt.Errorf("game %d was not lent, or is there twice", games[i].Number)
		}
		left = slices.Delete(left, at, at+1)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("%d of %d games are missing", len(left), len(t.games))
	}
	return games, nil
}

// deliver has games count.
func (x *Matches) deliver(a audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.games {
		if a.ended {
			return
		}
		if err := a.shared.Deliver(&a.games[i]); err != nil {
			x.log.Error("a game that a player played for a match does not count", "process", a.entry.Process, "error", err)
			a.shared.Return(a.task.games)
			return
		}
		a.offer.games++
	}
}

// audit plays games again until ctx ends. found is called with a player whose game differs.
func (x *Matches) audit(ctx context.Context, found func(*PlayerEntry, string)) error {
	for {
		select {
		case a := <-x.audits:
			reason, err := a.playAgain(ctx)
			switch {
			case reason != "":
				a.shared.Return(a.task.games)
				found(a.entry, reason)
			case err == nil:
				x.deliver(a)
			case ctx.Err() == nil:
				x.log.Error("a game of a match cannot be audited", "process", a.entry.Process, "error", err)
				a.shared.Return(a.task.games)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// playAgain plays one of the games again and says what differs, "" where nothing does.
func (a *audit) playAgain(ctx context.Context) (reason string, err error) {
	cfg, release, err := a.match.Open(a.cfg)
	if err != nil {
		return "", err
	}
	theirs := &a.games[rand.IntN(len(a.games))]
	cfg.Numbers = []int{theirs.Number}
	r, err := arena.Play(ctx, *cfg)
	if err = errors.Join(err, release()); err != nil {
		return "", err
	}
	if ours := &r.Games[0]; !slices.Equal(ours.Moves, theirs.Moves) || ours.WhiteResult != theirs.WhiteResult || ours.End != theirs.End {
		return fmt.Sprintf("game %d of the match %s against %s is not what its nets and seed give", theirs.Number, a.match.Names[0], a.match.Names[1]), nil
	}
	return "", nil
}

// matches keeps the leases: new nets become known, and games of players that are missing or
// distrusted go to others.
func (h *host) matches(ctx context.Context) error {
	if err := h.opt.Matches.store(ctx, h.inbox); err != nil && ctx.Err() == nil {
		h.log.Error("nets of a match are not published yet", "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state.Matches = h.opt.Matches.some()
	now := time.Now()
	h.opt.Matches.mu.Lock()
	defer h.opt.Matches.mu.Unlock()
	h.opt.Matches.drop(func(t *task) bool {
		e := h.players[t.player]
		return e == nil || e.Missing(now) || e.Distrusted != ""
	})
	return nil
}

// Lease gives a player games of a match.
func (h *host) Lease(p fleet.Player) fleet.Task {
	h.mu.Lock()
	e := h.players[p]
	ok := h.opt.Matches != nil && e != nil && h.members.Name(p.Member) != "" && e.Distrusted == "" && e.Version == h.opt.Version && !h.state.Drain
	var arithmetic string
	if ok {
		arithmetic = e.Beat.Arithmetic
	}
	h.mu.Unlock()
	if !ok {
		return fleet.Task{}
	}
	return h.opt.Matches.lease(p, arithmetic)
}

// Finish takes a task back.
func (h *host) Finish(p fleet.Player, o fleet.Outcome) {
	if h.opt.Matches == nil {
		return
	}
	h.mu.Lock()
	e := h.players[p]
	first := false
	if e != nil && e.Distrusted == "" && o.Failed == "" {
		first = e.Tasks == 0
		e.Tasks++
		h.changed = true
	}
	ok := e != nil && e.Distrusted == ""
	h.mu.Unlock()
	if ok {
		h.opt.Matches.finish(p, e, o, first)
	}
}
