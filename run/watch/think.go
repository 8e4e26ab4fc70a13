package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

// Limits of a search that a reader asks for.
const (
	maxVisits   = 20000
	maxThinking = 20 * time.Second
)

// Question asks what a net thinks of a position.
type Question struct {
	Net      string // of the run's nets by name; "" = the newest
	Position string // as UCI's position command takes it
	Visits   int
}

// QuestionError says what is wrong with a question.
type QuestionError struct{ Reason string }

func (e *QuestionError) Error() string { return e.Reason }

// Thought is what a search found, from the view of the side to move.
type Thought struct {
	Net    string        `json:"net"`
	FEN    string        `json:"fen"`
	Over   string        `json:"over,omitempty"` // how the game is over; then there are no moves
	Visits uint32        `json:"visits"`
	Millis int64         `json:"ms"`
	Value  *WDL          `json:"value"` // of the search
	Raw    *WDL          `json:"raw"`   // of the net alone
	Line   []string      `json:"line"`  // the best moves in a row, UCI
	Best   string        `json:"best"`
	Moves  []ThoughtMove `json:"moves"` // the most visited first
}

// WDL are the probabilities of win, draw and loss, and Q = win - loss.
type WDL struct {
	Win  float32 `json:"w"`
	Draw float32 `json:"d"`
	Loss float32 `json:"l"`
	Q    float32 `json:"q"`
}

// ThoughtMove is a legal move as a search sees it.
type ThoughtMove struct {
	Move   string   `json:"move"` // UCI
	SAN    string   `json:"san"`
	N      uint32   `json:"n"`
	P      float32  `json:"p"` // of the net; they sum to 1
	Q      *float32 `json:"q"` // null without visits
	Target float32  `json:"t"` // what a net would learn from this search; they sum to 1
	Proven string   `json:"proven,omitempty"`
}

// thinker keeps the net of the last question.
type thinker struct {
	free   chan struct{} // holds a token while nobody thinks
	path   string        // of the file, which names the weights
	name   string
	player *setup.NetPlayer
	search mcts.Config
}

// Nets returns the names of the nets that can be asked, the newest first.
func (s *Source) Nets() []string {
	nets, _ := run.ListNets(s.opt.Dir, s.opt.Dir.Models())
	names := make([]string, len(nets))
	for i, n := range nets {
		names[i] = n.Name
	}
	return names
}

// Think lets a net of the run search a position, one question at a time.
func (s *Source) Think(ctx context.Context, q Question) (*Thought, error) {
	line, err := uci.ParsePosition(strings.Fields(q.Position))
	if err != nil {
		return nil, &QuestionError{err.Error()}
	}
	if q.Visits < 1 || q.Visits > maxVisits {
		return nil, &QuestionError{fmt.Sprintf("visits %d: want 1 to %d", q.Visits, maxVisits)}
	}
	ctx, cancel := context.WithTimeout(ctx, maxThinking)
	defer cancel()
	select {
	case <-s.thinker.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { s.thinker.free <- struct{}{} }()
	if err := s.choose(q.Net); err != nil {
		return nil, err
	}
	return s.thinker.think(ctx, line, q.Visits)
}

// choose makes a net the thinker's.
func (s *Source) choose(name string) error {
	spec, t := s.opt.Dir.Root, &s.thinker // without nets a run has checkpoints
	nets, err := run.ListNets(s.opt.Dir, s.opt.Dir.Models())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if i := slices.IndexFunc(nets, func(n run.NetFile) bool { return name == "" || n.Name == name }); i >= 0 {
		spec = nets[i].Path
	} else if name != "" {
		return &QuestionError{fmt.Sprintf("the run has no net %q any more", name)}
	}
	if spec == t.path && spec != s.opt.Dir.Root {
		return nil
	}
	net, err := tools.OpenNet(spec, tools.NetForms)
	if err != nil {
		return &QuestionError{"no net to ask: " + err.Error()}
	}
	search, err := net.Search()
	if err != nil {
		return err
	}
	player, err := setup.OpenNetPlayer(s.opt.Players, net.Net)
	if err != nil {
		return err
	}
	if t.player != nil {
		err = t.player.Close()
	}
	t.path, t.name, t.player, t.search = spec, strings.TrimSuffix(net.Name, run.NetSuffix), player, search
	return err
}

// think searches the end of a line.
func (t *thinker) think(ctx context.Context, line *chess.History, visits int) (*Thought, error) {
	began := time.Now()
	config := t.search.ForVisits(visits)
	search := mcts.New(&config, nil)
	search.Reset(line)
	search.Begin(rand.New(rand.NewPCG(1, 1)), false)
	evaluator, err := t.player.Evaluator(1)
	if err != nil {
		return nil, err
	}
	batch := mcts.NewBatch(evaluator, 1)
	for !search.Done() {
		if ctx.Err() != nil {
			break // what is known by now
		}
		batch.Reset()
		if search.Gather(batch, 1) == 0 {
			continue
		}
		if err := evaluator.Evaluate(ctx, batch); err != nil {
			search.Cancel()
			if ctx.Err() != nil {
				break
			}
			return nil, fmt.Errorf("evaluate a search: %w", err)
		}
		search.Apply(batch)
	}
	root, board := search.Root(), line.Board()
	found := &Thought{Net: t.name, FEN: board.FEN(), Visits: root.N, Moves: []ThoughtMove{}, Line: []string{}, Millis: time.Since(began).Milliseconds()}
	if root.Over != chess.NotOver {
		found.Over = root.Over.String()
		return found, nil
	}
	if root.N == 0 {
		return nil, errors.Join(errors.New("no time to think"), context.Cause(ctx))
	}
	found.Value, found.Raw = wdlOf(root.Value), wdlOf(root.Raw)
	for i, m := range root.Moves {
		move := ThoughtMove{Move: board.UCI(m.Move, board.Castles960()), SAN: board.SAN(m.Move), N: m.N, P: m.P, Target: float32(m.N) / float32(max(root.N-1, 1))}
		if root.Target != nil {
			move.Target = root.Target[i]
		}
		if m.N > 0 {
			q := m.Q
			move.Q = &q
		}
		if m.Proven != mcts.Unproven {
			move.Proven = m.Proven.String()
		}
		found.Moves = append(found.Moves, move)
	}
	found.Best = found.Moves[root.Best].Move
	at := *board
	for _, m := range search.PVOf(nil, root.Best) {
		found.Line = append(found.Line, at.SAN(m))
		at.Make(m)
	}
	slices.SortStableFunc(found.Moves, func(a, b ThoughtMove) int { return int(b.N) - int(a.N) })
	return found, nil
}

func wdlOf(v encoding.QDM) *WDL {
	w, d, l := v.WDL()
	return &WDL{w, d, l, v.Q}
}
