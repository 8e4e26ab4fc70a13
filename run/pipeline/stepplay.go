package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

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
	m, err := prepare.BeginStep(fsx.OS, r.netsDir(), prepare.Manifest{Step: "net", Settings: map[string]string{"net": name, "id": net.ID()}})
	if err != nil {
		return err
	}
	name = unsafeInNames.ReplaceAllString(strings.TrimSuffix(strings.TrimSuffix(name, run.NetSuffix), ".pb.gz"), "_")
	path := filepath.Join(r.netsDir(), name+run.NetSuffix)
	if err := fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error { return nn.WriteSafetensors(w, net, nil) }); err != nil {
		return fmt.Errorf("keep net: %w", err)
	}
	r.Log.Info("net", "file", path, "id", net.ID())
	return prepare.EndStep(fsx.OS, r.netsDir(), m, prepare.Counts{})
}

// net is the file of the net that plays, "" where the run has none.
func (r *pass) net() (string, error) {
	entries, err := os.ReadDir(r.netsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the net: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), run.NetSuffix) && !strings.HasPrefix(e.Name(), ".") {
			return filepath.Join(r.netsDir(), e.Name()), nil
		}
	}
	return "", fmt.Errorf("%s holds no net any more: put it back, or begin a new run", r.netsDir())
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
	m, err := prepare.BeginStep(fsx.OS, s.Dir, prepare.Manifest{Step: SelfPlay, Settings: map[string]string{
		"games": strconv.FormatInt(r.NumGames, 10), "workers": strconv.Itoa(r.NumWorkers), "seed": strconv.FormatUint(r.seed(), 10),
		"net": net, "visits": strconv.Itoa(r.Visits), "gumbel_candidates": strconv.Itoa(r.Candidates),
		"temperature": strconv.FormatFloat(r.Temperature, 'g', -1, 64)}})
	if err != nil {
		return err
	}
	games := make([]int64, r.NumWorkers)
	group, inner := errgroup.WithContext(ctx)
	for n := range r.NumWorkers {
		group.Go(func() error {
			var err error
			games[n], err = r.work(inner, n, models)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var counts prepare.Counts
	for n := range games {
		counts.Read += games[n]
	}
	counts.Games = counts.Read
	if counts.Games == 0 {
		return fmt.Errorf("%w: no game was played in %s", prepare.ErrNoInput, s.Dir)
	}
	if err := prepare.EndStep(fsx.OS, s.Dir, m, counts); err != nil {
		return err
	}
	s.count(m)
	return nil
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
	if summary != nil {
		games = summary.Games
	}
	if err != nil {
		return games, fmt.Errorf("worker %d: %w", n, err)
	}
	return games, nil
}
