package uci

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/syzygy"
)

// tables are Syzygy tables that count what they know.
type tables struct {
	open     *syzygy.Tables // nil = none
	hits     atomic.Uint64  // positions that they have answered
	reported bool           // the GUI knows of a broken table
}

// Probe implements mcts.Prober.
func (t *tables) Probe(b *chess.Board) (wdl int, ok bool) {
	if wdl, ok = t.open.Probe(b); ok {
		t.hits.Add(1)
	}
	return wdl, ok
}

// openTables takes the value of SyzygyPath: directories, separated as in PATH;
// empty = none.
func (e *Engine) openTables(text string) error {
	if text == emptyText {
		text = ""
	}
	var open *syzygy.Tables
	if text != "" {
		var err error
		if open, err = syzygy.Open(filepath.SplitList(text)...); err != nil {
			return fmt.Errorf("SyzygyPath: %w", err)
		}
	}
	e.tables.open, e.tables.reported, e.settings.syzygyPath = open, false, text
	return nil
}

// keep returns the moves of the newest position of h that spoil nothing as the
// tables see it, nil where they do not know.
func (t *tables) keep(h *chess.History) (kept []chess.Move) {
	if t.open == nil {
		return nil
	}
	ranked, _ := t.open.RankRoot(h)
	t.hits.Add(uint64(len(ranked)))
	for _, m := range ranked {
		if m.Kept {
			kept = append(kept, m.Move)
		}
	}
	return kept
}

// tellBroken names tables that were found broken, once.
func (e *Engine) tellBroken() {
	if e.tables.open == nil || e.tables.reported {
		return
	}
	if err := e.tables.open.Err(); err != nil {
		e.tables.reported = true
		e.fault(err)
	}
}
