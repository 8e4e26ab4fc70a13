package join

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
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
	taskAuditShare = 10 // of one task in so many a game is played again, and of each player until that was done once
	outcomeRoom    = 64 // outcomes that wait to be looked at
)

// Matches are the matches of a run at work, of which players lease games. The methods may be
// called concurrently.
type Matches struct {
	log      *slog.Logger
	outcomes chan outcome

	mu     sync.Mutex
	offers []*offer // the newest last
	tasks  map[uint64]*task
	issued uint64 // tasks so far
	away   bool   // the store takes no nets, and that was said
}

// offer is a match under way.
type offer struct {
	match      *setup.NetMatch
	cfg        *config.Config // of the run's own players
	arithmetic string         // theirs
	shared     arena.Shared
	common     fleet.Task // what all tasks have in common
	files      [2][]byte  // of the nets
	stored     bool       // players can fetch them

	mu    sync.Mutex
	ended bool
	count int // of games that players have delivered
}

// task is a lease.
type task struct {
	*offer
	player fleet.Player
	games  []int
}

// outcome is what a player made of a task.
type outcome struct {
	*task
	entry *PlayerEntry
	games json.RawMessage
	audit bool // a game is played again before any counts
}

// NewMatches returns the matches of a run that none plays yet.
func NewMatches(log *slog.Logger) *Matches {
	return &Matches{log: log, outcomes: make(chan outcome, outcomeRoom), tasks: map[uint64]*task{}}
}

// Share is a setup.ShareMatch.
func (x *Matches) Share(m *setup.NetMatch, c *config.Config) func(context.Context, arena.Shared) {
	return func(ctx context.Context, s arena.Shared) {
		if !strings.HasPrefix(arithmeticOf(c), "cpu ") {
			return // GPUs of one name need not compute alike
		}
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
		if o.count > 0 {
			x.log.Info("players of other machines took part in the match", "player1", m.Names[0], "player2", m.Names[1], "games", o.count)
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
		o.files[i], o.common.Nets[i] = file.Bytes(), fleet.NewNetRef(m.Names[i], file.Bytes())
	}
	o.common.Match, err = json.Marshal(m)
	return o, err
}

// store makes the nets of new matches known.
func (x *Matches) store(ctx context.Context, inbox fleet.Inbox) error {
	x.mu.Lock()
	offers := slices.DeleteFunc(slices.Clone(x.offers), func(o *offer) bool { return o.stored })
	x.mu.Unlock()
	for _, o := range offers {
		for i := range o.files {
			if err := inbox.Store(ctx, o.common.Nets[i], o.files[i]); err != nil {
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
			t := o.common
			t.ID, t.Games = x.issued, games
			return t
		}
	}
	return fleet.Task{}
}

// drop takes some tasks back, and returns their games to their matches. mu is held.
func (x *Matches) drop(which func(*task) bool) {
	for id, t := range x.tasks {
		if which(t) {
			delete(x.tasks, id)
			t.shared.Return(t.games)
		}
	}
}

// finish takes the outcome of a player's task, to be looked at.
func (x *Matches) finish(p fleet.Player, e *PlayerEntry, o fleet.Outcome, audit bool) {
	x.mu.Lock()
	t := x.tasks[o.ID]
	if t == nil || t.player != p { // the match is over, or others play the games
		x.mu.Unlock()
		return
	}
	delete(x.tasks, o.ID)
	if o.Failed != "" {
		t.stored = false // perhaps the nets were gone
	}
	x.mu.Unlock()
	if o.Failed != "" {
		x.log.Warn("a player hands games of a match back", "process", e.Process, "reason", plain(o.Failed))
		t.shared.Return(t.games)
		return
	}
	select {
	case x.outcomes <- outcome{t, e, o.Games, audit || rand.IntN(taskAuditShare) == 0}:
	default:
		t.shared.Return(t.games) // rather than games that nobody has looked at
	}
}

// take looks at outcomes until ctx ends. audited is called with each player of which a game
// was played again, and with what was wrong with it, "" = nothing.
func (x *Matches) take(ctx context.Context, audited func(*PlayerEntry, string) (trusted bool)) error {
	for {
		select {
		case o := <-x.outcomes:
			games, err := o.read()
			var reason string
			if err == nil && o.audit {
				reason, err = o.playAgain(ctx, games)
			}
			if err == nil && (!o.audit || audited(o.entry, reason)) {
				err = o.deliver(games)
			}
			if err != nil && ctx.Err() == nil {
				x.log.Warn("games that a player played for a match do not count", "process", o.entry.Process, "reason", plain(err.Error()))
			}
			o.shared.Return(o.task.games) // those that are there are not played again
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read returns the games of an outcome: those of its task.
func (o *outcome) read() ([]arena.Game, error) {
	games, err := arena.DecodeGames(o.games)
	if err != nil {
		return nil, err
	}
	left := slices.Clone(o.task.games)
	for i := range games {
		at := slices.Index(left, games[i].Number)
		if at < 0 {
			return nil, fmt.Errorf("game %d was not lent, or is there twice", games[i].Number)
		}
		left = slices.Delete(left, at, at+1)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("%d of %d games are missing", len(left), len(o.task.games))
	}
	return games, nil
}

// deliver has games count.
func (o *outcome) deliver(games []arena.Game) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range games {
		if o.ended {
			return nil
		}
		if err := o.shared.Deliver(&games[i]); err != nil {
			return err
		}
		o.count++
	}
	return nil
}

// playAgain plays one of the games again and says what differs, "" where nothing does.
func (o *outcome) playAgain(ctx context.Context, games []arena.Game) (reason string, err error) {
	cfg, release, err := o.match.Open(o.cfg)
	if err != nil {
		return "", err
	}
	theirs := &games[rand.IntN(len(games))]
	cfg.Numbers = []int{theirs.Number}
	r, err := arena.Play(ctx, *cfg)
	if err = errors.Join(err, release()); err != nil {
		return "", err
	}
	if !reflect.DeepEqual(&r.Games[0], theirs) {
		return fmt.Sprintf("game %d of the match %s against %s is not what its nets and seed give", theirs.Number, o.match.Names[0], o.match.Names[1]), nil
	}
	return "", nil
}

// matches keeps the leases: new nets become known, and games of players that are missing or
// distrusted go to others.
func (h *host) matches(ctx context.Context) error {
	x := h.opt.Matches
	err := x.store(ctx, h.inbox)
	h.mu.Lock()
	defer h.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil && !x.away && ctx.Err() == nil {
		h.log.Warn("nets of a match are not published yet; the run plays it alone", "error", err)
	}
	x.away = err != nil
	now := time.Now()
	x.drop(func(t *task) bool {
		e := h.players[t.player]
		return e == nil || e.Missing(now) || e.Distrusted != ""
	})
	h.state.Matches = len(x.offers) > 0
	return nil
}

// audited notes what came of playing a game of a player again, and says whether its games
// count.
func (h *host) audited(e *PlayerEntry, reason string) bool {
	if reason != "" {
		h.distrust(e, reason)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e.Audited = e.Audited || reason == ""
	h.changed = true
	return e.Distrusted == ""
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
	h.mu.Lock()
	e := h.players[p]
	ok := h.opt.Matches != nil && e != nil && h.members.Name(p.Member) != "" && e.Distrusted == ""
	audit := ok && !e.Audited
	h.mu.Unlock()
	if ok {
		h.opt.Matches.finish(p, e, o, audit)
	}
}
