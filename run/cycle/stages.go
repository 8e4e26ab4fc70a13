package cycle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/exporting"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/retain"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// stages are the works of a run: the same functions that the sub-commands call.
func (r *runner) stages() map[Stage]Work {
	return map[Stage]Work{Gatekeeper: r.gatekeeper, Rating: r.rating, SelfPlay: r.selfPlay, Shuffle: r.shuffle,
		Train: r.train, Export: r.export, GC: r.gc}
}

// gatekeeper tests the nets that wait.
func (r *runner) gatekeeper(ctx context.Context, _ Todo) (skip string, err error) {
	if countNets(r.path(testedDir)) == 0 {
		return "no net waits to be tested", nil
	}
	_, err = gate.Run(ctx, gate.Options{Effective: r.e, Once: true, Locked: true, Command: r.opt.Command, Version: r.opt.Version,
		Log: r.log, Readers: r.readers()})
	return "", err
}

// selfPlay plays the cycle's games that are missing.
func (r *runner) selfPlay(ctx context.Context, t Todo) (skip string, err error) {
	e := with(r.e, func(c *config.Config) { c.Selfplay.ModelsDir = new(r.path(modelsDir)) })
	s, err := play.SelfPlay(ctx, play.SelfPlayOptions{Effective: e, Process: t.Process, MaxGames: t.Games, Command: r.opt.Command,
		Version: r.opt.Version, Log: r.log, Readers: r.readers(), Locked: true})
	if err != nil {
		return "", err
	}
	r.log.Info("played", "games", s.Games, "of_them_now", s.Played, "draws", s.Draws, "plies", fmt.Sprintf("%.1f", s.MeanPlies()),
		"evaluations", s.Evaluations, "took", s.Elapsed.Round(time.Second))
	if r.opt.Stage != "" { // other processes may look at it
		return "", nil
	}
	// Its number is never used again, and the whole run is ours.
	return "", removeLock(r.path(locksDir, fmt.Sprintf("selfplay-p%d", t.Process)))
}

// shuffle makes training rows of the newest games.
func (r *runner) shuffle(ctx context.Context, _ Todo) (skip string, err error) {
	o := r.desk.shuffleOptions(time.Now())
	o.Program = "chessbrain " + r.opt.Version
	o.Report = func(line string) { r.log.Info(line) }
	m, err := shuffle.Run(ctx, o)
	if err != nil {
		return "", err
	}
	for _, damage := range m.Quarantine {
		r.log.Error("damaged games were left out", "error", damage)
	}
	r.log.Info("shuffled", "shuffle", m.Name, "usable_rows", m.Usable, "window_rows", m.Used, "training_rows", m.TrainRows, "validation_rows", m.HeldRows)
	return "", nil
}

// train does the epochs that the bucket and the cycle's samples allow.
func (r *runner) train(ctx context.Context, t Todo) (skip string, err error) {
	o := r.options()
	o.Training = setup.TrainingOf(with(r.e, func(c *config.Config) { c.Training.MaxEpochsThisInstance = new(t.Epochs) }))
	o.Readers = r.readers()
	_, err = train.Train(ctx, o)
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) && coded.ExitCode() == shuffle.ExitShort {
		return err.Error(), nil
	}
	return "", err
}

// export makes candidates, or accepted nets, of what training handed over.
func (r *runner) export(ctx context.Context, _ Todo) (skip string, err error) {
	s, err := exporting.Run(ctx, exporting.Options{Effective: r.e, Gating: r.e.Config.GetLoop().GetGating(), Once: true, Locked: true,
		Command: r.opt.Command, Version: r.opt.Version, Log: r.log, Readers: r.readers()})
	if err == nil && len(s.Nets)+len(s.Known) == 0 {
		return "training handed no net over", nil
	}
	return "", err
}

// gc removes what retention does not keep.
func (r *runner) gc(ctx context.Context, _ Todo) (skip string, err error) {
	return "", retain.Apply(ctx, r.root, r.e.Config.GetLoop().GetRetention(), r.log)
}

// path is a path below the run.
func (r *runner) path(parts ...string) string {
	return filepath.Join(append([]string{r.root}, parts...)...)
}

// readers are those of the stages' events: the caller's, and the cycle's own bus for
// what it keeps.
func (r *runner) readers() []monitor.Sink {
	return append([]monitor.Sink{monitor.SinkFunc(r.forward)}, r.opt.Readers...)
}

// forward copies events of a stage that tell how the run as a whole does.
func (r *runner) forward(e monitor.Event) error {
	switch e := e.(type) {
	case *monitor.Gate:
		other := *e
		other.Header = monitor.Header{}
		r.bus.Publish(&other)
	case *monitor.SelfPlay:
		other := *e
		other.Header = monitor.Header{}
		r.bus.Publish(&other)
	}
	return nil
}
