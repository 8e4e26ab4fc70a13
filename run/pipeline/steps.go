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
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

func (o *Options) workerDir(n int) string {
	return filepath.Join(o.Dir(SelfPlay), fmt.Sprintf("worker_%d", n))
}

// unsafeInNames is what a file's name should not have.
var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9._-]|^\.+`)

// keepNet keeps the net that plays: a run that goes on plays with the same one,
// whatever became of the file or the checkpoint.
func (r *pass) keepNet() error {
	if r.Net == nil || !r.runs(SelfPlay) && !r.runs(Train) {
		return nil
	}
	want := prepare.Manifest{Step: "net", Settings: map[string]string{"net": r.NetName, "id": r.Net.ID()}}
	name := unsafeInNames.ReplaceAllString(strings.TrimSuffix(strings.TrimSuffix(r.NetName, run.NetSuffix), ".pb.gz"), "_")
	path := filepath.Join(r.netsDir(), name+run.NetSuffix)
	return prepare.Step(fsx.OS, r.netsDir(), want, func(*prepare.Manifest) error {
		if err := fsx.WriteFileFunc(fsx.OS, path, func(w io.Writer) error { return nn.WriteSafetensors(w, r.Net, nil) }); err != nil {
			return fmt.Errorf("keep net: %w", err)
		}
		r.Log.Info("net", "file", path, "id", r.Net.ID())
		return nil
	})
}

// net is the file of the net that plays, "" where the run has none.
func (r *pass) net() (string, error) {
	nets, err := run.ListNets(run.Dir{}, r.netsDir())
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

// preprocess combines the games, without doubles, into chunks.
func (r *pass) preprocess(ctx context.Context, s *StepState) error {
	m, err := prepare.Preprocess(ctx, prepare.Options{Inputs: []prepare.Input{{Dir: r.games(Preprocess)}}, Out: s.Dir, ChunkSize: r.ChunkSize})
	return r.made(s, m, err)
}

// process chooses the positions, of the games of data directories too.
func (r *pass) process(ctx context.Context, s *StepState) error {
	inputs := r.sources.games
	if dir := r.games(Process); dir != "" {
		inputs = append([]prepare.Input{{Dir: dir}}, inputs...)
	}
	m, err := prepare.Process(ctx, prepare.Options{Inputs: inputs, Out: s.Dir, ChunkSize: r.ChunkSize, Select: r.Selector, Workers: r.Workers})
	return r.made(s, m, err)
}

// made notes what a step of games came to.
func (r *pass) made(s *StepState, m *prepare.Manifest, err error) error {
	if err != nil {
		return err
	}
	if m.Counts.Damaged > 0 {
		r.Log.Warn("damaged stretches of the input were left out; chessbrain verify names them", "step", s.Step, "stretches", m.Counts.Damaged)
	}
	s.count(m)
	return nil
}

// shuffle makes rows of all the games, in as many files as there are buckets.
func (r *pass) shuffle(ctx context.Context, s *StepState) error {
	in := r.games(Shuffle)
	files, err := prepare.ListInputs(fsx.OS, []prepare.Input{{Dir: in}})
	if err != nil {
		return err
	}
	e, err := r.training(s.Dir, 1, "")
	if err != nil {
		return err
	}
	set := r.shuffleSettings(setup.TrainingOf(e).Window)
	want := prepare.Manifest{Step: Shuffle, Inputs: files, Settings: map[string]string{
		"buckets": strconv.Itoa(r.Buckets), "seed": strconv.FormatUint(set.Seed, 10), "validation_share": fmt.Sprint(set.Validation)}}
	return prepare.Step(fsx.OS, s.Dir, want, func(m *prepare.Manifest) error {
		var made *shuffle.Manifest
		scratch := prepare.Manifest{Step: "buckets", Settings: map[string]string{"of": s.Dir}}
		if err := prepare.Step(fsx.OS, r.buckets(), scratch, func(*prepare.Manifest) (err error) {
			if made, _, err = prepare.ReadShuffle(s.Dir); err == nil && made == nil { // else a kill came before the step was marked as done
				made, err = r.newShuffle(ctx, in, s.Dir, set)
			}
			return err
		}); err != nil {
			return err
		}
		s.Games, s.Rows, s.Files = int64(made.Games), made.TrainRows+made.HeldRows, len(made.Train)+len(made.Val)
		if made.TrainRows == 0 {
			return fmt.Errorf("%w: all %d rows of %s are held out for validation; play more games, or lower training.validation.share", prepare.ErrNoInput, s.Rows, in)
		}
		m.Counts = prepare.Counts{Read: s.Games, Games: s.Games, Rows: s.Rows}
		return nil
	})
}

func (r *pass) newShuffle(ctx context.Context, in, dir string, set shuffle.Settings) (*shuffle.Manifest, error) {
	o := shuffle.Options{InputDirs: []string{in}, OutputDir: dir, ScratchDir: r.buckets(), Settings: set,
		Now: r.begun(), Program: "chessbrain " + r.Version, Report: func(line string) { r.Log.Info(line) }}
	plan, err := shuffle.MakePlan(ctx, o)
	if err != nil {
		return nil, err
	}
	o.RowsPerFile = max(1, (plan.Used+int64(r.Buckets)-1)/int64(r.Buckets))
	for _, damage := range plan.Quarantine {
		r.Log.Warn("left out", "damage", damage)
	}
	return shuffle.Run(ctx, o)
}

// shuffleSettings take all rows there are, and split and value them as training
// does. KataGo's window would leave the oldest out; here Process and the data
// directories say what is trained on.
func (r *pass) shuffleSettings(w setup.Window) shuffle.Settings {
	set := shuffle.DefaultSettings()
	set.Window = shuffle.WindowOptions{MinRows: 1, Expand: 1, Exponent: 1, AddToData: 1 << 50}
	set.Validation, set.ShortTerm, set.Ahead, set.Seed = w.HeldOut, w.ShortTerm, w.Ahead, r.seed()
	return set
}

// rows is the directory of shuffles that training reads: the new one as it is,
// or a mix where anything is left out of it or added. made is its shuffle.
func (r *pass) rows() (dir string, made *shuffle.Manifest, err error) {
	inputs := r.sources.shuffled
	if r.runs(Shuffle) {
		in, err := r.part(0, r.Dir(Shuffle))
		if err != nil {
			return "", nil, err
		}
		inputs = append([]prepare.Input{in}, inputs...)
	}
	if only := inputs[0]; len(inputs) == 1 && only.From == 0 && only.To == 0 && only.Dir == r.Dir(Shuffle) {
		made, _, err := prepare.ReadShuffle(only.Dir)
		if err == nil && made == nil {
			err = fmt.Errorf("%w: %s holds no finished shuffle", prepare.ErrNoInput, only.Dir)
		}
		return only.Dir, made, err
	}
	settings := map[string]string{}
	for i, in := range inputs {
		settings[fmt.Sprintf("source_%d", i)] = fmt.Sprintf("%s %d-%d", in.Dir, in.From, in.To)
	}
	err = prepare.Step(fsx.OS, r.mixDir(), prepare.Manifest{Step: "mix", Settings: settings}, func(m *prepare.Manifest) error {
		if made, err = prepare.Mix(inputs, r.mixDir(), r.seed(), r.begun()); err != nil || m.Done {
			return err
		}
		r.Log.Info("mixed", "shuffles", len(inputs), "rows", made.TrainRows, "files", len(made.Train), "dir", r.mixDir())
		m.Counts = prepare.Counts{Rows: made.TrainRows + made.HeldRows}
		return nil
	})
	return r.mixDir(), made, err
}

// train trains on the rows, from the net that played.
func (r *pass) train(ctx context.Context, s *StepState) error {
	dir, made, err := r.rows()
	if err != nil {
		return err
	}
	if made.TrainRows == 0 {
		return fmt.Errorf("%w: %s has no row to train on", prepare.ErrNoInput, dir)
	}
	net, err := r.net()
	if err != nil {
		return err
	}
	e, err := r.training(dir, 1, net)
	if err != nil {
		return err
	}
	samples := min(r.MaxSamples, made.TrainRows*r.Epochs)
	if e, err = r.training(dir, setup.TrainingOf(e).StepsFor(samples), net); err != nil {
		return err
	}
	t := setup.TrainingOf(e)
	r.Log.Info("training", "rows", made.TrainRows, "samples", samples, "steps", t.Steps, "from", dir)
	if err := errors.Join(setup.CheckDevices(e, true), ctx.Err()); err != nil {
		return err
	}
	summary, err := train.Train(ctx, train.Options{Training: t, Command: r.Command, Version: r.Version, Log: r.Log, Progress: r.Progress})
	if err != nil {
		return err
	}
	s.Rows, s.Steps, s.Net, s.Files = made.TrainRows, summary.Steps, summary.Net, len(made.Train)
	return nil
}
