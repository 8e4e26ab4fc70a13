package cycle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// desk keeps the journal of a runner. Used by one goroutine, which holds the role
// lock "loop".
type desk struct {
	root    string
	cfg     *config.Config
	journal *Journal
	state   *State
	now     func() time.Time
}

// openDesk opens the journal of the configuration's run directory, which exists.
func openDesk(cfg *config.Config) (*desk, error) {
	root := cfg.GetRunDir()
	journal, entries, err := OpenJournal(root)
	if err != nil {
		return nil, err
	}
	return &desk{root: root, cfg: cfg, journal: journal, state: NewState(entries), now: time.Now}, nil
}

func (d *desk) close() error { return d.journal.Close() }

// add writes a line of the cycle under way.
func (d *desk) add(e Entry) error {
	e.Cycle, e.Time = d.state.Cycle, d.now().UTC()
	if err := d.journal.Add(e); err != nil {
		return err
	}
	d.state.add(e)
	return nil
}

// start says that a process begins to work: on a cycle that is under way, or on
// the next one.
func (d *desk) start() error { return d.add(Entry{Stage: Whole, Event: Begin}) }

// begin begins a stage, unless it has ended in this cycle or nothing is to be done
// any more.
func (d *desk) begin(stage Stage) (Todo, error) {
	if !d.state.Open {
		if err := d.start(); err != nil {
			return Todo{}, err
		}
	}
	todo := Todo{Cycle: d.state.Cycle, Done: d.state.Done(stage)}
	if todo.Done {
		return todo, nil
	}
	e := Entry{Stage: stage, Event: Begin}
	if reason := d.off(stage); reason != "" {
		todo.Done = true
		return todo, d.end(stage, reason)
	}
	var err error
	switch stage {
	case SelfPlay:
		if d.state.process == 0 {
			if todo.Stop = d.state.stop(d.cfg.GetLoop()); todo.Stop != "" {
				return todo, d.add(Entry{Stage: Whole, Event: Skip, Reason: todo.Stop})
			}
		}
		err = d.beginSelfPlay(&todo, &e)
	case Train:
		if err = d.beginTrain(&todo, &e); err == nil && todo.Done {
			return todo, d.end(Train, fmt.Sprintf("the cycle's samples are trained on (--samples-per-cycle %d)", d.cfg.GetLoop().GetSamplesPerCycle()))
		}
	}
	if err != nil {
		return todo, err
	}
	return todo, d.add(e)
}

// off says why the configuration has a stage skipped, "" where it does not.
func (d *desk) off(stage Stage) string {
	switch l := d.cfg.GetLoop(); {
	case stage == Gatekeeper && !l.GetGating():
		return "nets play without a match (--gating=false)"
	case stage == Rating && countNets(filepath.Join(d.root, modelsDir)) == 0:
		return "no net is accepted yet"
	}
	return ""
}

// beginSelfPlay chooses the process of the cycle's games and how many it is to
// have. What an earlier start of the cycle chose holds.
func (d *desk) beginSelfPlay(todo *Todo, e *Entry) error {
	process, games := d.state.Playing()
	if process == 0 {
		last, err := lastProcess(filepath.Join(d.root, selfplayDir))
		if err != nil {
			return err
		}
		process, games = max(last, d.state.processes)+1, d.cfg.GetLoop().GetGamesPerCycle()
		if limit := d.cfg.GetLoop().GetGames(); limit > 0 {
			games = min(games, limit-d.state.Games)
		}
	}
	todo.Process, todo.Games = uint64(process), games
	e.Net = newestNet(d.root)
	e.Figures = map[string]float64{FigureProcess: float64(process), FigureGames: float64(games)}
	return nil
}

// beginTrain says how many epochs are left of the cycle's samples.
func (d *desk) beginTrain(todo *Todo, e *Entry) error {
	now, err := trained(d.root)
	if err != nil {
		return err
	}
	from := now.Samples
	if first, again := d.state.began[Train]; again {
		from = int64(first.Figures[FigureFrom])
	}
	epoch := epochSamples(d.cfg)
	most := cycleEpochs(d.cfg) * epoch
	e.Figures = map[string]float64{FigureSamples: float64(now.Samples), FigureSteps: float64(now.Steps), FigureFrom: float64(from), FigureUpTo: float64(most)}
	todo.Epochs = (most - (now.Samples - from)) / epoch
	todo.Done = todo.Epochs < 1
	return nil
}

// end writes how a stage ended: with figures from the disk, or with the reason why
// there was nothing to do.
func (d *desk) end(stage Stage, skip string) error {
	e := Entry{Stage: stage, Event: End, Reason: skip, Seconds: d.took(stage)}
	if skip != "" {
		e.Event = Skip
	}
	var err error
	if e.Figures, e.Net, err = d.measure(stage); err != nil {
		return err
	}
	return d.add(e)
}

// took is how long the stage under way has taken, in seconds; 0 for another one.
func (d *desk) took(stage Stage) float64 {
	if b := d.state.Begun; b != nil && b.Stage == stage {
		return max(0, d.now().Sub(b.Time).Seconds())
	}
	return 0
}

// short writes that a shuffle had too few rows, and how many games self-play adds
// for them: 0 where the configuration allows no more. It returns the words.
func (d *desk) short(s *shuffle.ShortError) (words string, more int64, err error) {
	words = fmt.Sprintf("have %d rows, need %d", s.Have, s.Need)
	more = moreGames(s.Have, s.Need, d.state.Games)
	limit := d.cfg.GetLoop().GetGames()
	if limit > 0 {
		more = min(more, max(0, limit-d.state.Games))
	}
	e := Entry{Stage: Shuffle, Event: Skip, Seconds: d.took(Shuffle), Figures: map[string]float64{FigureHave: float64(s.Have), FigureNeed: float64(s.Need)}}
	if more > 0 {
		words += fmt.Sprintf(": playing %d more games", more)
		e.Figures[FigureMore] = float64(more)
	} else {
		words += fmt.Sprintf(", and all --games %d are played: raise it, or lower --min-rows", limit)
	}
	e.Reason = words
	return words, more, d.add(e)
}

// moreGames is how many games make the missing rows, if they have as many rows as
// those that were played, and a tenth more; at most ten times those, so that a few
// odd games do not decide over days.
func moreGames(have, need, games int64) int64 {
	if have < 1 || games < 1 {
		return max(1, games)
	}
	more := int64(1.1*float64(need-have)*float64(games)/float64(have)) + 1
	return min(more, 10*games)
}

// shuffleOptions are those of the cycle's shuffles.
func (d *desk) shuffleOptions(now time.Time) shuffle.Options {
	return shuffle.Options{InputDirs: []string{filepath.Join(d.root, selfplayDir)}, OutputDir: filepath.Join(d.root, shuffledDir),
		Settings: shuffleSettings(d.cfg), Now: now}
}

// finish ends the cycle.
func (d *desk) finish() error { return d.add(Entry{Stage: Whole, Event: End}) }

// lastProcess returns the highest number of a process that has games below dir, a
// directory of <net>/p<number>; 0 for none.
func lastProcess(dir string) (int64, error) {
	nets, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for games: %w", err)
	}
	last := int64(0)
	for _, net := range nets {
		processes, err := os.ReadDir(filepath.Join(dir, net.Name()))
		if errors.Is(err, os.ErrNotExist) || !net.IsDir() {
			continue // a file, or removed since
		}
		if err != nil {
			return 0, fmt.Errorf("look for games: %w", err)
		}
		for _, p := range processes {
			if text, ok := strings.CutPrefix(p.Name(), "p"); ok {
				if n, err := strconv.ParseInt(text, 10, 32); err == nil {
					last = max(last, n)
				}
			}
		}
	}
	return last, nil
}
