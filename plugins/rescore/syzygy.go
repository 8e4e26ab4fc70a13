package rescore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

const syzygyDoc = "results and plies left from endgame tables"

var syzygySettings = []stage.Setting{{Name: "paths", Doc: pathsDoc, Text: true}}

// Syzygy corrects results and plies left by endgame tables, as Leela's rescorer
// does.
//
// First, a position that the tables know right after a capture or a pawn move
// (rule50 = 0) gives its value to itself and to all positions before it, the
// sign turned at each, back to the previous such position: that is what
// perfect play would have made of the game from there. The position after the
// last move counts too, unless it ended the game. Then a position that the
// tables know with rule50 above 0 gets a value of its own: lost and won where
// rule50 + |DTZ| is below 100, drawn above; at 100, where the tables' rounding
// leaves it open, and where DTZ is not known, a result that contradicts the
// tables becomes a draw and others stay.
//
// Plies left are exact with three men and no pawn, where the only capture is a
// draw and DTZ therefore counts to mate: such a decided position has |DTZ| (the
// tables may have rounded that down by one), and those before it one ply more at
// each. Behind the last of them plies count to
// the end of the game as before.
//
// A cursed win is a draw. Positions with castling rights are in no table.
type Syzygy struct{ Tables Tables }

func newSyzygy(v stage.Values) (stage.Rescorer, error) {
	t, err := openTables(v.Text("paths"))
	return Syzygy{Tables: t}, err
}

func (Syzygy) Name() string { return "syzygy" }

// Err names the tables found broken while rescoring; nil while there is none.
func (s Syzygy) Err() error { return tablesErr(s.Tables) }

// Rescore returns g, or a copy with other Results. The error is for a start
// position that is none.
func (s Syzygy) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	boards, err := boardsOf(g)
	if err != nil {
		return nil, err
	}
	outcomes := resultsOf(g)
	if !s.passWDL(boards, outcomes) {
		return g, ctx.Err()
	}
	s.passDTZ(boards, outcomes)
	s.passPlies(boards, outcomes)
	return withResults(g, outcomes), ctx.Err()
}

// boardsOf returns the positions of g, that after the last move included.
func boardsOf(g *record.Game) ([]chess.Board, error) {
	b, err := g.StartBoard()
	if err != nil {
		return nil, fmt.Errorf("syzygy: %w", err)
	}
	boards := make([]chess.Board, 0, len(g.Plies)+1)
	boards = append(boards, b)
	for i := range g.Plies {
		b.Make(g.Plies[i].Move)
		boards = append(boards, b)
	}
	return boards, nil
}

// passWDL is the pass over positions with rule50 = 0. It reports whether the
// tables know any position, these or others.
func (s Syzygy) passWDL(boards []chess.Board, outcomes []encoding.QDM) bool {
	from, known := 0, false
	for i := range boards {
		b := &boards[i]
		wdl, ok := s.Tables.WDL(b)
		known = known || ok
		if !ok || b.Rule50() != 0 || i == len(outcomes) && over(b) {
			continue
		}
		value, _ := wins(s.Tables, b, wdl)
		for j := from; j <= i && j < len(outcomes); j++ {
			outcomes[j] = decided(outcomes[j], value*(1-2*((i-j)&1)))
		}
		from = i + 1
	}
	return known
}

// over says whether the side to move has no move.
func over(b *chess.Board) bool {
	var list chess.MoveList
	b.GenerateMoves(&list)
	return list.N == 0
}

// decided returns v with a value of +1, 0 or -1; an unknown M stays so.
func decided(v encoding.QDM, value int) encoding.QDM {
	v.Q, v.D = float32(value), 0
	if value == 0 {
		v.D = 1
	}
	return v
}

// passDTZ is the pass over positions with rule50 above 0.
func (s Syzygy) passDTZ(boards []chess.Board, outcomes []encoding.QDM) {
	for i := range outcomes {
		b := &boards[i]
		if b.Rule50() == 0 {
			continue
		}
		wdl, ok := s.Tables.WDL(b)
		if !ok {
			continue
		}
		value, certain := wins(s.Tables, b, wdl)
		if certain {
			outcomes[i] = decided(outcomes[i], value)
		} else if outcomes[i].Q*float32(value) < 0 {
			outcomes[i] = decided(outcomes[i], 0)
		}
	}
}

// passPlies sets the plies left where DTZ counts to mate, and before.
func (s Syzygy) passPlies(boards []chess.Board, outcomes []encoding.QDM) {
	left := -1 // of the next position, -1 = not known
	for i := len(outcomes) - 1; i >= 0; i-- {
		if left >= 0 {
			left++
		}
		if plies, ok := s.mate(&boards[i]); ok {
			left = plies
		}
		if left >= 0 {
			outcomes[i].M = float32(left)
		}
	}
}

// mate returns the plies to mate of a decided position with three men and no
// pawn.
func (s Syzygy) mate(b *chess.Board) (plies int, ok bool) {
	if men(b) != 3 || b.Ours(chess.Pawn)|b.Theirs(chess.Pawn) != 0 {
		return 0, false
	}
	wdl, ok := s.Tables.WDL(b)
	if !ok {
		return 0, false
	}
	if value, certain := wins(s.Tables, b, wdl); value == 0 || !certain {
		return 0, false
	}
	dtz, ok := s.Tables.DTZ(b)
	return abs(dtz), ok
}

// Tables is what the stages ask of endgame tables. Safe for concurrent use.
type Tables interface {
	// WDL is the value for the side to move right after a capture or a pawn
	// move: 2 won, 1 won but for the fifty moves, 0 drawn, -1 and -2 likewise
	// lost. ok is false where the tables do not know the position.
	WDL(b *chess.Board) (wdl int, ok bool)

	// DTZ is the distance in plies to the next capture, pawn move or mate with
	// best play, with WDL's sign, 0 where drawn; it may be one too small.
	DTZ(b *chess.Board) (dtz int, ok bool)
}

// tablesErr names the tables found broken since they were opened: positions that
// need them were treated as unknown.
func tablesErr(t Tables) error {
	if named, ok := t.(interface{ Err() error }); ok {
		return named.Err()
	}
	return nil
}

const pathsDoc = "directories of Syzygy tables (.rtbw, .rtbz), separated as in PATH"

// openTables opens the tables of a list of directories. A table that is broken is
// an error; one that turns out to be broken later is named by Err.
func openTables(paths string) (Tables, error) {
	dirs := filepath.SplitList(paths)
	if len(dirs) == 0 {
		return nil, errors.New("setting paths: none given, want " + pathsDoc)
	}
	t, err := syzygy.Open(dirs...)
	if err == nil {
		err = t.Err() // what is broken from the start
	}
	if err != nil {
		return nil, fmt.Errorf("setting paths: %w", err)
	}
	return t, nil
}

// men returns the number of men on b.
func men(b *chess.Board) int { return bits.OnesCount64(b.Occupied()) }

// draw50 is the number of plies without capture or pawn move that ends a game.
const draw50 = 100

// wins says whether a table's value is a win, or loss, within the fifty moves
// where rule50 plies of them are gone: +1, 0, -1. certain is false where the
// tables' rounding leaves that open or DTZ is not known.
func wins(t Tables, b *chess.Board, wdl int) (value int, certain bool) {
	switch {
	case wdl > -2 && wdl < 2:
		return 0, true
	case b.Rule50() == 0:
		return cmp.Compare(wdl, 0), true
	}
	dtz, ok := t.DTZ(b)
	if !ok {
		return cmp.Compare(wdl, 0), false
	}
	total := abs(dtz) + b.Rule50()
	if total > draw50 {
		return 0, true
	}
	return cmp.Compare(wdl, 0), total < draw50
}

func abs(x int) int { return max(x, -x) }
