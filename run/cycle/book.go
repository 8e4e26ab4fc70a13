package cycle

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Next is the stage that the journal has next.
func (l *loop) Next() (Stage, Work, bool) {
	stage, ok := l.state.Next()
	return stage, l.works[stage], ok
}

// Begin writes that a stage begins, and tells everybody. The configuration is that
// of the newest reload.
func (l *loop) Begin(stage Stage) (Todo, error) {
	if err := l.process.Err(); err != nil {
		return Todo{}, err
	}
	l.reload()
	todo, err := l.begin(stage)
	if err != nil || todo.Stop != "" || todo.Done {
		return todo, err
	}
	l.page.Set(func(p *Page) {
		*p = Page{Job: p.Job, Cycle: todo.Cycle, Stage: stage, Since: time.Now().UTC(), Games: todo.Games}
	})
	l.Log.Info("stage", "cycle", todo.Cycle, "stage", stage)
	l.process.Publish(&monitor.Stage{Name: string(stage), State: "started", Detail: fmt.Sprintf("cycle %d", todo.Cycle)})
	return todo, nil
}

// End writes how a stage ended. A shuffle that has too few rows is no failure:
// self-play is next then, where more games are allowed.
func (l *loop) End(stage Stage, skip string, err error) error {
	event := &monitor.Stage{Name: string(stage), State: "finished", Detail: skip, Seconds: monitor.Number(l.took(stage))}
	defer l.process.Publish(event)
	if short, ok := errors.AsType[*shuffle.ShortError](err); ok {
		event.Detail, err = l.short(short)
		l.Log.Info(event.Detail)
		return err
	}
	if err != nil {
		event.State, event.Detail = "failed", err.Error()
		return err
	}
	if skip != "" {
		l.Log.Info("nothing to do", "stage", stage, "reason", skip)
	}
	return l.end(stage, skip)
}

// note writes a line of the cycle under way.
func (l *loop) note(e Entry) error {
	e.Cycle, e.Time = l.state.Cycle, time.Now().UTC()
	if err := l.journal.Add(e); err != nil {
		return err
	}
	l.state.add(e)
	if e.Stage != Whole && e.Event == Begin {
		return run.WriteJSON(run.LastCycleFile(l.dir.Root), run.LastCycle{Cycle: e.Cycle, Stage: string(e.Stage)})
	}
	return nil
}

// begin begins a stage, unless it has ended in this cycle or nothing is to be done
// any more.
func (l *loop) begin(stage Stage) (Todo, error) {
	if !l.state.Open {
		if err := l.note(Entry{Stage: Whole, Event: Begin}); err != nil {
			return Todo{}, err
		}
	}
	todo := Todo{Cycle: l.state.Cycle, Done: l.state.done[stage]}
	if todo.Done {
		return todo, nil
	}
	e := Entry{Stage: stage, Event: Begin}
	if reason := l.off(stage); reason != "" {
		todo.Done = true
		return todo, l.end(stage, reason)
	}
	var err error
	switch stage {
	case SelfPlay:
		if l.state.process == 0 {
			if todo.Stop = l.state.stop(l.cfg); todo.Stop != "" {
				return todo, l.note(Entry{Stage: Whole, Event: Skip, Reason: todo.Stop})
			}
		}
		err = l.beginSelfPlay(&todo, &e)
	case Train:
		if err = l.beginTrain(&todo, &e); err == nil && todo.Done {
			return todo, l.end(Train, fmt.Sprintf("the cycle's samples are trained on (--samples-per-cycle %d)", l.cfg.SamplesPerCycle))
		}
	}
	if err != nil {
		return todo, err
	}
	return todo, l.note(e)
}

// off says why the configuration has a stage skipped, "" where it does not.
func (l *loop) off(stage Stage) string {
	switch {
	case stage == Gatekeeper && !l.cfg.Gating:
		return "nets play without a match (--gating=false)"
	case stage == Rating && countNets(l.dir.Models()) == 0:
		return "no net is accepted yet"
	}
	return ""
}

// beginSelfPlay chooses the process of the cycle's games and how many it is to
// have. What an earlier start of the cycle chose holds.
func (l *loop) beginSelfPlay(todo *Todo, e *Entry) error {
	process, games := l.state.process, l.state.target
	if process == 0 {
		last, err := lastProcess(l.dir.Selfplay())
		if err != nil {
			return err
		}
		process, games = max(last, l.state.processes)+1, l.cfg.GamesPerCycle
		if l.cfg.StopGames > 0 {
			games = min(games, l.cfg.StopGames-l.state.Games)
		}
	}
	todo.Process, todo.Games = uint64(process), games
	e.Net = newestNet(l.dir)
	e.Figures = map[string]float64{FigureProcess: float64(process), FigureGames: float64(games)}
	return nil
}

// beginTrain says how many epochs are left of the cycle's samples.
func (l *loop) beginTrain(todo *Todo, e *Entry) error {
	now, _, err := trained(l.dir)
	if err != nil {
		return err
	}
	from := now.Samples
	if first, again := l.state.began[Train]; again {
		from = int64(first.Figures[FigureFrom])
	}
	most := l.cfg.Epochs * l.cfg.EpochSamples
	e.Figures = map[string]float64{FigureSamples: float64(now.Samples), FigureSteps: float64(now.Step), FigureFrom: float64(from), FigureUpTo: float64(most)}
	todo.Epochs = epochsLeft(most, now.Samples-from, l.cfg.EpochSamples)
	todo.Done = todo.Epochs < 1
	return nil
}

// epochsLeft is how many epochs are left of most samples. One that a stop left open is one of
// them; one that is whole has whole batches, so never too few samples.
func epochsLeft(most, done, epoch int64) int64 { return (most - done + epoch - 1) / epoch }

// end writes how a stage ended: with figures from the disk, or with the reason why
// there was nothing to do.
func (l *loop) end(stage Stage, skip string) (err error) {
	e := Entry{Stage: stage, Event: End, Reason: skip, Seconds: l.took(stage)}
	if skip != "" {
		e.Event = Skip
	}
	if e.Figures, e.Net, err = l.measure(stage); err != nil {
		return err
	}
	if at, _, err := trained(l.dir); err == nil && stage == Train {
		e.Arch = at.Info[setup.ArchKey]
	}
	return l.note(e)
}

// took is how long the stage under way has taken, in seconds; 0 for another one.
func (l *loop) took(stage Stage) float64 {
	if b := l.state.Begun; b != nil && b.Stage == stage {
		return max(0, time.Since(b.Time).Seconds())
	}
	return 0
}

// short writes that a shuffle had too few rows, and how many games self-play adds
// for them: none where the configuration allows no more. It returns the words.
func (l *loop) short(s *shuffle.ShortError) (words string, err error) {
	words = fmt.Sprintf("have %d rows, need %d", s.Have, s.Need)
	more, limit := moreGames(s.Have, s.Need, l.state.Games), l.cfg.StopGames
	if limit > 0 {
		more = min(more, max(0, limit-l.state.Games))
	}
	e := Entry{Stage: Shuffle, Event: Skip, Seconds: l.took(Shuffle), Figures: map[string]float64{FigureHave: float64(s.Have), FigureNeed: float64(s.Need)}}
	if more > 0 {
		words += fmt.Sprintf(": playing %d more games", more)
		e.Figures[FigureMore], l.again = float64(more), words
	} else {
		words += fmt.Sprintf(", and all --games %d are played: raise it, or lower --min-rows", limit)
	}
	e.Reason = words
	return words, l.note(e)
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

// lastProcess returns the highest number of a process of this machine that has games below
// dir, a directory of <net>/p<number>; 0 for none.
func lastProcess(dir string) (last int64, err error) {
	nets, err := fsx.Dirs(fsx.OS, dir)
	if err != nil {
		return 0, fmt.Errorf("look for games: %w", err)
	}
	for _, net := range nets {
		processes, err := fsx.Entries(fsx.OS, filepath.Join(dir, net))
		if err != nil {
			return 0, fmt.Errorf("look for games: %w", err)
		}
		for _, p := range processes {
			if text, ok := strings.CutPrefix(p.Name(), "p"); ok {
				if n, err := strconv.ParseInt(text, 10, 32); err == nil && n < run.FirstJoined {
					last = max(last, n)
				}
			}
		}
	}
	return last, nil
}
