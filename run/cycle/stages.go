package cycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/exporting"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/ratings"
	"github.com/chessbrain/chessbrain/run/retain"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// stages are the works of a run: the same functions that the sub-commands call.
func (l *loop) stages() map[Stage]Work {
	return map[Stage]Work{Gatekeeper: l.gatekeeper, Rating: l.rating, SelfPlay: l.selfPlay, Shuffle: l.shuffle,
		Train: l.train, Export: l.export, GC: l.gc}
}

// gatekeeper tests the nets that wait.
func (l *loop) gatekeeper(ctx context.Context, _ Todo) (skip string, err error) {
	if countNets(l.dir.Candidates()) == 0 {
		return "no net waits to be tested", nil
	}
	_, err = gate.Run(ctx, gate.Options{Effective: l.cfg.Effective, Once: true, Locked: true, Command: l.Command, Version: l.Version,
		Log: l.Log, Readers: l.readers(), Share: l.Share})
	return "", err
}

// rating plays the rating matches that are missing and rates everybody.
func (l *loop) rating(ctx context.Context, _ Todo) (skip string, err error) {
	_, err = ratings.Play(ctx, ratings.Options{Effective: l.cfg.Effective, Command: l.Command, Version: l.Version, Log: l.Log, Publish: l.process.Publish, Share: l.Share})
	return "", err
}

// selfPlay plays the cycle's games that are missing.
func (l *loop) selfPlay(ctx context.Context, t Todo) (skip string, err error) {
	s, err := play.SelfPlay(ctx, play.SelfPlayOptions{Effective: l.cfg.Playing(l.dir.Models()), Process: t.Process, MaxGames: t.Games, Command: l.Command,
		Version: l.Version, Log: l.Log, Readers: l.readers(), Locked: true})
	if err != nil {
		return "", err
	}
	l.Log.Info("played", "games", s.Games, "of_them_now", s.Played, "draws", s.Draws, "plies", fmt.Sprintf("%.1f", s.MeanPlies()),
		"evaluations", s.Evaluations, "took", s.Elapsed.Round(time.Second))
	if l.Stage != "" { // other processes may look at it
		return "", nil
	}
	// Its number is never used again, and the whole run is ours.
	if err := os.Remove(l.dir.Lock(run.Player(t.Process))); gone(err) != nil {
		return "", fmt.Errorf("remove a lock that is no longer needed: %w", err)
	}
	return "", nil
}

// shuffle makes training rows of the newest games.
func (l *loop) shuffle(ctx context.Context, _ Todo) (skip string, err error) {
	m, err := shuffle.Run(ctx, shuffle.Options{InputDirs: []string{l.dir.Selfplay()}, OutputDir: l.dir.Shuffled(), Settings: l.cfg.Shuffle,
		Now: time.Now(), Program: "chessbrain " + l.Version, Report: func(line string) { l.Log.Info(line) }})
	if err != nil {
		return "", err
	}
	for _, damage := range m.Quarantine {
		l.Log.Error("damaged games were left out", "error", damage)
	}
	l.Log.Info("shuffled", "shuffle", m.Name, "usable_rows", m.Usable, "window_rows", m.Used, "training_rows", m.TrainRows, "validation_rows", m.HeldRows)
	return "", nil
}

// train does the epochs that the bucket and the cycle's samples allow.
func (l *loop) train(ctx context.Context, t Todo) (skip string, err error) {
	o := l.training(l.cfg.Training(t.Epochs))
	o.Readers = l.readers()
	_, err = train.Train(ctx, o)
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) && coded.ExitCode() == shuffle.ExitShort {
		return err.Error(), nil
	}
	return "", err
}

// export makes candidates, or accepted nets, of what training handed over.
func (l *loop) export(ctx context.Context, _ Todo) (skip string, err error) {
	s, err := exporting.Run(ctx, exporting.Options{Effective: l.cfg.Effective, Gating: l.cfg.Gating, Once: true, Locked: true,
		Command: l.Command, Log: l.Log, Readers: l.readers()})
	if err == nil && len(s.Nets)+len(s.Known) == 0 {
		return "training handed no net over", nil
	}
	return "", err
}

// gc removes what retention does not keep.
func (l *loop) gc(ctx context.Context, _ Todo) (skip string, err error) {
	return "", retain.Apply(ctx, l.dir.Root, l.cfg.Retention, l.Log)
}

// readers are those of the stages' events: the caller's, and the cycle's own bus for
// what it keeps.
func (l *loop) readers() []monitor.Sink {
	return append([]monitor.Sink{monitor.SinkFunc(l.forward)}, l.Readers...)
}

// forward copies events of a stage that tell how the run as a whole does.
func (l *loop) forward(e monitor.Event) error {
	switch e := e.(type) {
	case *monitor.Gate:
		other := *e
		other.Header = monitor.Header{}
		l.process.Publish(&other)
	case *monitor.SelfPlay:
		other := *e
		other.Header = monitor.Header{}
		l.process.Publish(&other)
	}
	return nil
}

// DryRun checks configuration, inputs and disk, and prints the effective
// configuration and what each stage of a cycle would read and write. It creates
// nothing. A stage that is asked for alone, "" = none, must be next.
func DryRun(e *config.Effective, only Stage, w io.Writer) error {
	c, err := setup.NewCycle(e)
	if err != nil {
		return err
	}
	if err := setup.DryRun(c.Effective, w); err != nil {
		return err
	}
	entries, err := ReadJournal(c.Root)
	if err != nil {
		return err
	}
	dir, s := run.Dir{Root: c.Root}, NewState(entries)
	if _, more := s.Next(); !more { // a kill came before the cycle's last line
		s.add(Entry{Cycle: s.Cycle, Stage: Whole, Event: End})
	}
	if only != "" {
		if err := (&loop{cfg: c, dir: dir, state: s}).inOrder(only); err != nil {
			return err
		}
	}
	var b strings.Builder
	row := func(stage Stage, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s  %s\n", stage, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "a cycle, beginning with number %d:\n", s.Cycle)
	to := dir.Models()
	if c.Gating {
		to = dir.Candidates()
		row(Gatekeeper, "%s -> %s or %s; a match of %d games, %d visits a move", to, dir.Models(), dir.Rejected(), c.GateGames, c.GateVisits)
	}
	if c.RatingGames > 0 {
		row(Rating, "matches of %d games -> %s", c.RatingGames, dir.Matches())
	}
	if c.LadderGames > 0 {
		row(Rating, "the newest net on the ladder, at most %d games against a rung -> %s", c.LadderGames, run.LadderOf(dir.Root, "NET"))
	}
	row(SelfPlay, "%s -> %s; %d games", dir.Models(), dir.Selfplay(), c.GamesPerCycle)
	row(Shuffle, "%s -> %s; from %d rows on, about %d kept", dir.Selfplay(), dir.Shuffled(), c.Shuffle.Window.MinRows, c.Shuffle.Window.KeepRows)
	row(Train, "%s -> %s; epochs of %d samples, %g for each new row, at most %d a cycle", dir.Shuffled(), dir.ToExport(), c.EpochSamples,
		c.PerNewRow, c.SamplesPerCycle)
	row(Export, "%s -> %s", dir.ToExport(), to)
	row(GC, "the newest %d shuffles and %d rejected nets stay", c.Retention.Shuffles, c.Retention.Rejected)
	if stop := s.stop(c); stop != "" {
		fmt.Fprintf(&b, "nothing more is to be done: %s\n", stop)
	}
	_, err = io.WriteString(w, b.String())
	return err
}
