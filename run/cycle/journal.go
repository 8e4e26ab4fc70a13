package cycle

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// Stage names a part of a cycle.
type Stage string

// The stages, and the cycle as a whole.
const (
	Gatekeeper Stage = "gatekeeper" // candidates are tested
	Rating     Stage = "rating"     // new nets play for the rating list
	SelfPlay   Stage = "selfplay"
	Shuffle    Stage = "shuffle"
	Train      Stage = "train"
	Export     Stage = "export"
	GC         Stage = "gc"
	Whole      Stage = "cycle" // begin: the cycle's first line; end: its last; skip: a stop condition held
)

// Stages are the parts of a cycle in their order. The gatekeeper is the first, as
// in KataGo's synchronous loop: it tests the net of the cycle before. Stop
// conditions are looked at before self-play, so that a run ends with its last net
// tested and rated.
var Stages = []Stage{Gatekeeper, Rating, SelfPlay, Shuffle, Train, Export, GC}

// Event says what a line of the journal is about.
type Event string

const (
	Begin Event = "begin"
	End   Event = "end"
	Skip  Event = "skip" // there was nothing to do, Reason says why
)

// Names of figures.
const (
	FigureGames    = "games"     // selfplay begin: games that are to be on disk of its process at the end; end: those that are
	FigureProcess  = "process"   // selfplay: number of its process
	FigureHave     = "have_rows" // shuffle skip: usable rows
	FigureNeed     = "need_rows" // shuffle skip: rows that it needs
	FigureMore     = "more"      // shuffle skip: games that self-play adds, before the shuffle is tried again
	FigureRows     = "rows"      // shuffle end: training rows that there are in all, the window's or not
	FigureUsable   = "usable_rows"
	FigureWindow   = "window_rows"
	FigureShuffled = "shuffled_rows" // rows written for training
	FigureSamples  = "samples"       // train: rows trained on so far
	FigureSteps    = "steps"         // train: so far
	FigureFrom     = "from_samples"  // train: samples at the cycle's first begin
	FigureUpTo     = "up_to_samples" // train: most samples of the cycle's training
	FigureAccepted = "accepted"      // gatekeeper end: nets in models/
	FigureRejected = "rejected"      // gatekeeper end: nets in rejectedmodels/
	FigureWaiting  = "waiting"       // export end: nets that wait for the gatekeeper
	FigureElo      = "elo"           // rating end: of the newest accepted net
	FigureEloError = "elo_error"
	FigureNets     = "nets" // rating end: nets and anchors of the list
)

// Entry is a line of the journal.
type Entry struct {
	Cycle   int64              `json:"cycle"` // 1 = the first
	Stage   Stage              `json:"stage"`
	Event   Event              `json:"event"`
	Time    time.Time          `json:"time"`              // UTC
	Seconds float64            `json:"seconds,omitempty"` // end, skip: since the newest begin
	Net     string             `json:"net,omitempty"`     // newest accepted net; gatekeeper and selfplay
	Arch    string             `json:"arch,omitempty"`    // of the net in training, which may grow; train end
	Figures map[string]float64 `json:"figures,omitempty"`
	Reason  string             `json:"reason,omitempty"`
}

// check says why a line cannot be one of a journal.
func (e *Entry) check() error {
	switch {
	case e.Cycle < 1:
		return fmt.Errorf("cycle %d: want 1 or more", e.Cycle)
	case e.Stage != Whole && !slices.Contains(Stages, e.Stage):
		return fmt.Errorf("unknown stage %q; known: %v", e.Stage, append(slices.Clone(Stages), Whole))
	case e.Event != Begin && e.Event != End && e.Event != Skip:
		return fmt.Errorf("unknown event %q; known: begin, end, skip", e.Event)
	}
	return nil
}

// Journal is the file of entries, open for appending. Used by one goroutine; the
// caller holds the role lock "loop".
type Journal = run.Lines[Entry]

var journalForm = run.LinesForm[Entry]{Name: "journal of cycles", Check: (*Entry).check,
	Remedy: "; put it back from a copy, or move it away: cycles are counted from 1 then"}

// OpenJournal reads the journal of the run at root, cuts a torn last line off, and opens it
// for appending. *fsx.CorruptError: a line is no entry, or cycles are lost and would be done again.
func OpenJournal(root string) (*Journal, []Entry, error) {
	path := filepath.Join(root, run.CyclesName)
	_, err := ReadJournal(root)
	if !fsx.IsFile(path) { // who moves it away wants cycles counted anew
		err = fsx.RemoveAll(fsx.OS, run.LastCycleFile(root))
	}
	if err != nil {
		return nil, nil, err
	}
	return journalForm.Open(path)
}

// ReadJournal returns the entries of the run at root, none where it has no
// journal, without changing anything: a torn last line is left out.
func ReadJournal(root string) ([]Entry, error) {
	path, last := filepath.Join(root, run.CyclesName), run.ReadLastCycle(root)
	entries, _, err := journalForm.Read(path)
	begun := func(e Entry) bool { return e.Cycle == last.Cycle && string(e.Stage) == last.Stage && e.Event == Begin }
	if lost := last.Lost(slices.ContainsFunc(entries, begun)); err == nil && lost != "" {
		err = &fsx.CorruptError{Path: path, Reason: lost + journalForm.Remedy}
	}
	return entries, gone(err)
}
