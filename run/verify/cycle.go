package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// inRun are the names of a run's parts below it.
var inRun run.Dir

// cycleEntry is what is verified of a line of the journal of cycles. (The tests of
// package cycle verify what they wrote, so that room's own form cannot be had here.)
type cycleEntry struct {
	Cycle int64     `json:"cycle"`
	Stage string    `json:"stage"`
	Event string    `json:"event"`
	Time  time.Time `json:"time"`
}

func (e *cycleEntry) check() error {
	if e.Cycle < 1 || e.Stage == "" || e.Event != "begin" && e.Event != "end" && e.Event != "skip" {
		return fmt.Errorf("cycle %d, stage %q, event %q", e.Cycle, e.Stage, e.Event)
	}
	return nil
}

// cycles verifies the journal of cycles: each line, that cycles never fall, and the last one.
func (c *checker) cycles(path string) {
	const remedy = "put it back from a copy, or move it away: cycles are counted from 1 then"
	last := run.ReadLastCycle(filepath.Dir(path))
	form := run.LinesForm[cycleEntry]{Name: "journal of cycles", Check: (*cycleEntry).check}
	lines := readLines(c, path, form.Read, remedy)
	c.report.Cycles += len(lines)
	begun := func(e cycleEntry) bool { return e.Cycle == last.Cycle && e.Stage == last.Stage && e.Event == "begin" }
	if lost := last.Lost(slices.ContainsFunc(lines, begun)); lost != "" && (len(lines) > 0 || size(path) == 0) {
		c.report.problem(path, Missing, remedy, "%s", lost)
	}
	for i := 1; i < len(lines); i++ {
		if now, last := lines[i].Cycle, lines[i-1].Cycle; now < last {
			c.report.problem(path, Contradiction, "cut the line out", "line %d is of cycle %d, the one before it of cycle %d", i+1, now, last)
			return
		}
	}
}

// readLines returns the lines of a journal, none of one with a fault.
func readLines[T any](c *checker, path string, read func(string) ([]T, int64, error), remedy string) []T {
	lines, torn, err := read(path)
	if corrupt, ok := errors.AsType[*fsx.CorruptError](err); ok {
		c.report.problem(path, Corrupt, remedy, "%s", corrupt.Reason)
	} else if err != nil {
		c.unreadable(path, err)
	} else if torn > 0 {
		c.torn(path, size(path)-torn)
	}
	return lines
}

// torn tells of a last line without its end, which begins at a byte.
func (c *checker) torn(path string, at int64) {
	if !c.live {
		c.report.add(Problem{Path: path, Offset: at, Kind: Torn, Reason: "the last line is not whole", Remedy: "the next start cuts it off"})
	}
}

// tornLine tells of a last line without its end, and returns the bytes of the
// whole lines.
func (c *checker) tornLine(path string) int64 {
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		c.unreadable(path, err)
		return 0
	}
	whole := int64(bytes.LastIndexByte(data, '\n') + 1)
	if whole < int64(len(data)) {
		c.torn(path, whole)
	}
	return whole
}

// catalogue verifies the index of a run.
func (c *checker) catalogue(path string) {
	list, err := catalogue.Read(fsx.OS, path)
	switch {
	case errors.Is(err, catalogue.ErrOther):
		c.report.problem(path, Corrupt, "chessbrain ratings makes it anew from the run's files", "%v", err)
	case err != nil:
		c.unreadable(path, err)
	default:
		c.report.Catalogued += len(list.Nets)
	}
}

const damagedMatch = "put it back from a copy, or remove it: the match is played again"

// match verifies the log of a match: every move legal, ends and results those of
// the final positions.
func (c *checker) match(path string) {
	_, games, err := arena.ReadLog(fsx.OS, path)
	corrupt, ok := errors.AsType[*arena.CorruptError](err)
	switch {
	case ok && size(path) == 0:
		c.report.note("%s: a match that was not begun", path)
	case ok && c.tornLine(path) == 0: // the header was being written
	case ok:
		c.report.problem(path, Corrupt, damagedMatch, "line %d: %s", corrupt.Line, corrupt.Reason)
	case err != nil:
		c.unreadable(path, err)
	default:
		c.report.Matches++
		c.report.MatchGames += int64(len(games))
		for i := range games {
			if reason := unlikely(&games[i]); reason != "" {
				c.report.problem(path, Contradiction, damagedMatch, "game %d %s", games[i].Number, reason)
			}
		}
		c.tornLine(path)
	}
}

// unlikely says what is wrong with the end of a game whose moves are legal, "" if
// nothing is.
func unlikely(g *arena.Game) string {
	line := chess.NewHistory(g.Start)
	for _, m := range g.Moves {
		line.Push(m)
	}
	var legal chess.MoveList
	line.Board().GenerateMoves(&legal)
	onBoard := record.EndOf(line.Terminal(legal.N))
	byRule := slices.ContainsFunc(
		[]record.EndReason{record.EndCheckmate, record.EndStalemate, record.EndRepetition, record.EndFiftyMoves, record.EndMaterial},
		func(end record.EndReason) bool { return string(g.End) == end.String() })
	want := int8(0)
	if onBoard == record.EndCheckmate {
		if want = 1; line.Board().SideToMove() == chess.White {
			want = -1
		}
	}
	switch {
	case byRule && string(g.End) != onBoard.String():
		return "is said to have ended by " + string(g.End) + ", the board says " + onBoard.String()
	case byRule && g.WhiteResult != want:
		return "ended by " + string(g.End) + " and has another result"
	case g.End == arena.EndMaxPlies && g.WhiteResult != 0:
		return "was cut at the limit of plies and is no draw"
	}
	return ""
}

// gateResult verifies a decision of the gatekeeper against the match beside it,
// and notes it for the nets.
func (c *checker) gateResult(path string) {
	const remedy = "put it back from a copy, or remove it: the net is tested again"
	dir := filepath.Dir(path)
	r, err := gate.ReadResult(dir)
	if corrupt, ok := errors.AsType[*checkpoint.CorruptError](err); ok {
		c.report.problem(path, Corrupt, remedy, "%s", corrupt.Reason)
		return
	}
	if err != nil {
		c.unreadable(path, err)
		return
	}
	c.decisions = append(c.decisions, r)
	if name := filepath.Base(dir); r.Candidate != name {
		c.report.problem(path, Contradiction, remedy, "it is about %s and lies in the directory of %s", r.Candidate, name)
	}
	if r.Games == 0 {
		return
	}
	_, games, err := arena.ReadLog(fsx.OS, filepath.Join(dir, gate.LogName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.report.problem(path, Missing, "put the log back from a copy; the ratings do without its games", "it is about %d games, and there is no %s", r.Games, gate.LogName)
	case err == nil && len(games) != r.Games:
		c.report.problem(path, Contradiction, remedy, "it is about %d games, and %s has %d", r.Games, gate.LogName, len(games))
	}
}

// gates holds the gatekeeper's decisions against where the nets lie, and looks for
// nets that are on two ways at once. In a run at work nets move meanwhile.
func (c *checker) gates(root string) {
	if c.live {
		return
	}
	in := run.Dir{Root: root}
	for _, r := range c.decisions {
		dir := in.Models()
		if r.Accepted {
			dir = in.Rejected()
		}
		if path := filepath.Join(dir, r.Candidate+run.NetSuffix); c.sums[path] == r.CandidateSHA256 {
			c.report.problem(path, Contradiction, "move it to where the decision wants it, or remove "+inRun.GateResult(r.Candidate),
				"the gatekeeper decided otherwise: %s", r.Reason)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.sums)) {
		if filepath.Dir(path) != in.Candidates() {
			continue
		}
		if accepted := filepath.Join(in.Models(), filepath.Base(path)); c.sums[accepted] != "" {
			c.report.problem(path, Duplicate, "the gatekeeper rejects it at its next start", "a net of this name is accepted already: %s", accepted)
		}
	}
}

// handedOver verifies a net on its way from a trainer to the exporter.
func (c *checker) handedOver(dir string) {
	in := filepath.Base(filepath.Dir(dir))
	if (in == inRun.ToExport() || in == inRun.ToExportExtra()) && !exists(filepath.Join(dir, "net"+run.NetSuffix)) && !c.live {
		c.report.problem(dir, Orphan, "remove it when nobody needs it", "a directory on the way to the exporter without a net")
	}
}
