package verify

import (
	"errors"
	"os"

	"github.com/chessbrain/chessbrain/chess/pgn"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/importer"
)

// events verifies a file of events: each line, and that numbers, steps and
// episodes rise.
func (c *checker) events(path string, f *os.File) {
	order := order{c: c, path: path}
	info, err := monitor.Replay(f, order.event)
	c.report.Events += info.Events
	corrupt, ok := errors.AsType[*monitor.CorruptError](err)
	switch {
	case ok:
		c.report.add(Problem{Path: path, Offset: corrupt.Offset, Kind: Corrupt, Reason: corrupt.Reason, Remedy: monitor.CutOut})
	case err != nil:
		c.report.problem(path, Unreadable, "read it with the program that wrote it", "%v", err)
	case info.Torn > 0:
		c.torn(path, info.Bytes)
	}
	if info.Unknown > 0 {
		c.report.note("%s: %d events of types that this build does not know", path, info.Unknown)
	}
}

// order watches what must rise in a file of events. Only the first fault of each
// sort is told.
type order struct {
	c                  *checker
	path               string
	seq                uint64
	step, episode      int64
	toldSeq, toldEvent bool
}

func (o *order) event(e monitor.Event) error {
	if seq := e.Head().Seq; seq <= o.seq && !o.toldSeq {
		o.toldSeq = true
		o.tell("event %d comes after event %d", seq, o.seq)
	} else {
		o.seq = seq
	}
	switch e := e.(type) {
	case *monitor.Step:
		o.rises("step", e.Step, &o.step)
	case *monitor.Episode:
		o.rises("episode", e.Episode, &o.episode)
	}
	return o.c.ctx.Err()
}

func (o *order) rises(what string, now int64, last *int64) {
	if now <= *last && !o.toldEvent {
		o.toldEvent = true
		o.tell("%s %d comes after %s %d", what, now, what, *last)
	}
	*last = max(*last, now)
}

func (o *order) tell(format string, args ...any) {
	o.c.report.problem(o.path, Contradiction, "plots show it twice; cut the repeated lines out", format, args...)
}

// pgn verifies a PGN file: every move legal, each result one that the final
// position allows.
func (c *checker) pgn(path string) {
	f, err := importer.OpenFile(path)
	if err != nil {
		c.unreadable(path, err)
		return
	}
	defer f.Close()
	remedy := "correct the game, or leave it out"
	bad := func(g *pgn.GameError) error {
		c.report.problem(path, Corrupt, remedy, "line %d: game %d: %s", g.Line, g.Index+1, g.Reason)
		return c.ctx.Err()
	}
	err = pgn.Read(f, pgn.ReadOptions{OwnRules: true, OnBad: bad}, func(g *pgn.Game) error {
		c.report.PGNGames++
		if _, err := importer.Convert(g, importer.Targets{}); err != nil {
			return bad(&pgn.GameError{Index: g.Index, Line: g.Line, Reason: err.Error()})
		}
		return c.ctx.Err()
	})
	if _, told := errors.AsType[*pgn.ReadError](err); err != nil && !told && c.ctx.Err() == nil {
		c.report.problem(path, Unreadable, "get the file again", "%v", err)
	}
}

// size returns a file's size, 0 where it cannot be told.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
