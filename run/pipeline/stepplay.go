package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
)

func (o *Options) workerDir(n int) string {
	return filepath.Join(o.Dir(SelfPlay), fmt.Sprintf("worker_%d", n))
}

// unsafeInNames is what a file's name should not have.
var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9._-]|^\.+`)

// keepNet keeps the net that plays: a run that goes on plays with the same one,
// whatever became of the file or the checkpoint.
func (r *pass) keepNet() error {
	if r.OpenNet == nil || !r.runs(SelfPlay) && !r.runs(Train) {
		return nil
	}
	net, name, err := r.OpenNet()
	if err != nil {
		return err
	}
	want := prepare.Manifest{Step: "net", Settings: map[string]string{"net": name, "id": net.ID()}}
	name = unsafeInNames.ReplaceAllString(strings.TrimSuffix(strings.TrimSuffix(name, run.NetSuffix), ".pb.gz"), "_")
	path := filepath.Join(r.netsDir(), name+run.NetSuffix)
	return prepare.Step(fsx.OS, r.netsDir(), want, func(*prepare.Manifest) error {
		if err := fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error { return nn.WriteSafetensors(w, net, nil) }); err != nil {
			return fmt.Errorf("keep net: %w", err)
		}
		r.Log.Info("net", "file", path, "id", net.ID())
		return nil
	})
}

// net is the file of the net that plays, "" where the run has none.
func (r *pass) net() (string, error) {
	nets, err := run.ListNets(r.netsDir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for the net: %w", err)
	case len(nets) == 0:
		return "", fmt.Errorf("%s holds no net any more: put it back, or begin a new run", r.netsDir())
	}
	return nets[0].Path, nil
}

// selfPlay plays the games, the workers side by side, each in a run directory of
// its own with its own process number.
func (r *pass) selfPlay(ctx context.Context, s *StepState) error {
	net, err := r.net()
	if err != nil {
		return err
	}
	models := ""
	if net != "" {
		models = r.netsDir()
	}
	want := prepare.Manifest{Step: SelfPlay, Settings: map[string]string{
		"games": strconv.FormatInt(r.NumGames, 10), "workers": strconv.Itoa(r.NumWorkers), "seed": strconv.FormatUint(r.seed(), 10),
		"net": net, "visits": strconv.Itoa(r.Visits), "gumbel_candidates": strconv.Itoa(r.Candidates),
		"temperature": strconv.FormatFloat(r.Temperature, 'g', -1, 64)}}
	return prepare.Step(fsx.OS, s.Dir, want, func(m *prepare.Manifest) error {
		var games atomic.Int64
		group, inner := errgroup.WithContext(ctx)
		for n := range r.NumWorkers {
			group.Go(func() error {
				played, err := r.work(inner, n, models)
				games.Add(played)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if games.Load() == 0 {
			return fmt.Errorf("%w: no game was played in %s", prepare.ErrNoInput, s.Dir)
		}
		m.Counts = prepare.Counts{Read: games.Load(), Games: games.Load()}
		s.count(m)
		return nil
	})
}

// work plays one worker's games.
func (r *pass) work(ctx context.Context, n int, models string) (games int64, err error) {
	if r.gamesOf(n) == 0 {
		return 0, nil
	}
	e, err := r.playing(n, models)
	if err != nil {
		return 0, err
	}
	summary, err := play.SelfPlay(ctx, play.SelfPlayOptions{Effective: e, Process: uint64(n) + 1, MaxGames: r.gamesOf(n),
		Command: r.Command, Version: r.Version, Log: r.Log.With("worker", n)})
	if err != nil {
		return 0, fmt.Errorf("worker %d: %w", n, err)
	}
	return summary.Games, nil
}
