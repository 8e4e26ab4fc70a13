package rescore

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
)

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
