package arena

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// NetConfig describes a player that searches over a net.
type NetConfig struct {
	Name string
	// NewEvaluator returns a worker's own evaluator for batches of up to
	// maxBatch positions. All of them give the same answers, bit for bit.
	NewEvaluator func(maxBatch int) mcts.Evaluator
	Settings     [2]Settings // by the player's colour
	CacheEntries int         // answers that a worker remembers; 0 = none

	// Limits of time hold besides the Settings' visits, which may then be left
	// out. A player with limited time does not play the same game again.
	Limits Limits

	now func() time.Time // nil = time.Now
}

// DefaultCache is a usual NetConfig.CacheEntries.
const DefaultCache = 50_000

// Settings say how a net player searches and picks its moves.
type Settings struct {
	// Search needs Simulations or Playouts, or limited time. No noise is mixed in.
	Search mcts.Config
	// TreeReuse keeps the subtree of the moves played for the next search.
	TreeReuse bool
	// Temperature, where above 0, picks the moves of the first TemperaturePlies
	// plies after the opening with probability N^(1/Temperature), or the
	// search's policy target instead of N where it has one; else the search's
	// best move is played.
	Temperature      float64
	TemperaturePlies int
}

// validate says what is out of range.
func (s *Settings) validate(timed bool) error {
	endless := s.Search.Simulations < 1 && s.Search.Playouts < 1
	switch {
	case endless && !timed:
		return errors.New("search settings: no simulations and no playouts: the search has no end")
	case endless && s.Search.Gumbel.Enabled:
		return errors.New("search settings: Gumbel search divides its visits beforehand: give it simulations besides the time")
	case endless && s.Search.Stop.SmartPruning:
		return errors.New("search settings: smart pruning looks at the visits that remain: give it simulations besides the time")
	case !(s.Temperature >= 0 && s.Temperature <= 100) || s.TemperaturePlies < 0:
		return fmt.Errorf("temperature %v for %d plies: want 0 to 100 for 0 or more", s.Temperature, s.TemperaturePlies)
	}
	return s.Search.Validate()
}

// netPlayer is a net with its settings.
type netPlayer struct{ cfg NetConfig }

// NewNet returns a player that searches over a net, or says what is wrong with
// its settings.
func NewNet(cfg NetConfig) (Player, error) {
	if err := cfg.Limits.validate(); err != nil {
		return nil, fmt.Errorf("player %s: %w", cfg.Name, err)
	}
	if cfg.Limits.Nodes > 0 || cfg.Limits.Depth > 0 {
		return nil, fmt.Errorf("player %s: a net is limited by the visits of its settings and by time, not by nodes or depth", cfg.Name)
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	for c := range cfg.Settings {
		if err := cfg.Settings[c].validate(cfg.Limits.Timed()); err != nil {
			return nil, fmt.Errorf("player %s as %s: %w", cfg.Name, chess.Color(c), err)
		}
	}
	return &netPlayer{cfg}, nil
}

func (p *netPlayer) Name() string { return p.cfg.Name }

func (p *netPlayer) NewTable(games int) (Table, error) {
	leaves := games
	if p.cfg.Limits.Timed() {
		leaves *= uci.DefaultMinibatch
	}
	ev := p.cfg.NewEvaluator(leaves)
	return &netTable{cfg: &p.cfg, ev: ev, cache: mcts.NewCache(p.cfg.CacheEntries), batch: mcts.NewBatch(ev, leaves)}, nil
}

// netTable is a net player's evaluator in one worker, and the leaves that wait
// for it.
type netTable struct {
	cfg     *NetConfig
	ev      mcts.Evaluator
	cache   *mcts.Cache
	batch   *encoding.Batch
	waiting []*mcts.Search // whose leaves are in the batch
}

func (t *netTable) NewSeat() Seat {
	s := &netSeat{table: t, settings: t.cfg.Settings[chess.White]}
	s.search = mcts.New(&s.settings.Search, t.cache)
	return s
}

// Round evaluates the leaves of all seats that wait.
func (t *netTable) Round(ctx context.Context) error {
	if t.batch.N == 0 {
		return nil
	}
	if err := t.ev.Evaluate(ctx, t.batch); err != nil {
		return fmt.Errorf("player %s: evaluate %d positions: %w", t.cfg.Name, t.batch.N, err)
	}
	for _, s := range t.waiting {
		s.Apply(t.batch)
	}
	t.waiting = t.waiting[:0]
	t.batch.Reset()
	return nil
}

// netSeat is one game's search.
type netSeat struct {
	table    *netTable
	settings Settings // of the colour in this game; the search points to it
	search   *mcts.Search
	rng      *rand.Rand
	plies    int  // since the opening
	begun    bool // the search of the next move
	weights  []float64

	color  chess.Color
	budget time.Duration // of the move; 0 = no limit
	began  time.Time     // the search
	want   int           // visits of its slice
	asked  time.Time     // when its leaves were last asked for
	leaves int           // of them, at most
}

func (s *netSeat) Start(line *chess.History, color chess.Color, rng *rand.Rand) {
	s.settings = s.table.cfg.Settings[color]
	s.rng, s.color, s.plies, s.begun = rng, color, 0, false
	s.search.Reset(line)
}

// Step says the root's value as the score, in the centipawns that the net shows a GUI.
func (s *netSeat) Step(*chess.History, *chess.MoveList) (a Answer, ok bool) {
	if !s.begun {
		s.begin()
		s.begun = true
	}
	for !s.timeUp() {
		if s.search.Gather(s.table.batch, s.together()) > 0 {
			s.table.waiting = append(s.table.waiting, s.search)
			return a, false
		}
		if !s.goOn() {
			break
		}
	}
	root := s.search.Root()
	s.begun, a.Spent = false, s.table.cfg.now().Sub(s.began)
	if a.Scored = root.N > 0; a.Scored {
		a.Score = uci.Centipawns(float64(root.Value.Q))
	}
	a.Move = root.Moves[s.pick(&root)].Move
	return a, true
}

func (s *netSeat) Played(m chess.Move) {
	s.plies++
	s.search.Advance(m)
	if !s.settings.TreeReuse {
		s.search.DropTree()
	}
}

// pick returns the ordinal of the move to play.
func (s *netSeat) pick(root *mcts.RootStats) int {
	if s.settings.Temperature <= 0 || s.plies >= s.settings.TemperaturePlies {
		return root.Best
	}
	s.weights = s.weights[:0]
	for i := range root.Moves {
		w := float64(root.Moves[i].N)
		if root.Target != nil {
			w = float64(root.Target[i])
		}
		s.weights = append(s.weights, w)
	}
	return mcts.SampleWeights(s.weights, s.settings.Temperature, s.rng) // a finished search has visits
}

// A search that only its time ends is begun again and again with a few more
// visits, because a search may make visits that ask nothing of the net, and
// looks at no clock while it does. It never grows beyond maxTimedVisits, at about
// a kilobyte each.
const (
	timedSlice     = 256
	maxTimedVisits = 400_000
)

func (p *netPlayer) Limits() Limits { return p.cfg.Limits }
func (p *netPlayer) OneGame() bool  { return p.cfg.Limits.Timed() }

// Clocks settles what the next move may take: of a clock an even share for 30
// more moves and most of the increment, but never more than half of it.
func (s *netSeat) Clocks(c Clocks) {
	l := &s.table.cfg.Limits
	s.budget = l.MoveTime
	if l.Base > 0 {
		left := c.Left[s.color]
		s.budget = max(1, min(left/30+l.Increment*3/4, left/2))
	}
}

// begin starts the search of the next move.
func (s *netSeat) begin() {
	s.began = s.table.cfg.now()
	s.asked, s.leaves = s.began, 1
	if !s.untilTime() {
		s.search.Begin(s.rng, false)
		return
	}
	s.slice(int(s.search.Root().N))
}

// slice begins the search anew, for so many visits more than it has.
func (s *netSeat) slice(visits int) {
	s.want = visits + timedSlice
	s.search.BeginWith(s.rng, mcts.Options{Limits: mcts.Limits{Simulations: s.want}})
}

// together returns how many leaves may wait for one evaluation: one, where visits end the
// search, so that it can be repeated. Where time does they are more, as long as the answers
// come within a small part of it, and the tree is large beside them.
func (s *netSeat) together() int {
	if s.budget == 0 || !s.untilTime() {
		return 1
	}
	now := s.table.cfg.now()
	if now.Sub(s.asked) > s.budget/32 {
		s.leaves = max(1, s.leaves/2)
	} else {
		s.leaves = min(uci.DefaultMinibatch, 2*s.leaves)
	}
	s.asked = now
	visits, _ := s.search.Visits()
	return min(s.leaves, max(1, int(visits)/uci.DefaultMinibatch))
}

// untilTime reports whether nothing but time ends the search.
func (s *netSeat) untilTime() bool {
	return s.settings.Search.Simulations == 0 && s.settings.Search.Playouts == 0
}

// timeUp reports whether the search has had its time, and knows a move.
func (s *netSeat) timeUp() bool {
	return s.budget > 0 && s.table.cfg.now().Sub(s.began) >= s.budget && s.search.Root().N > 0
}

// goOn gives a search that is done another slice of visits, if only time ends it,
// no stop of its own has ended it, and more visits can change something.
func (s *netSeat) goOn() bool {
	if !s.untilTime() {
		return false
	}
	root := s.search.Root()
	visits := int(root.N)
	if visits < s.want || root.Proven != mcts.Unproven || len(root.Moves) < 2 || visits >= maxTimedVisits {
		return false
	}
	s.slice(visits)
	return true
}
