package pipeline

import (
	"context"
	"fmt"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/setup"
)

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
	set := r.shuffleSettings(setup.RowUseOf(e))
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
func (r *pass) shuffleSettings(use setup.RowUse) shuffle.Settings {
	set := shuffle.DefaultSettings()
	set.Window = shuffle.WindowOptions{MinRows: 1, Expand: 1, Exponent: 1, AddToData: 1 << 50}
	set.Validation, set.ShortTerm, set.Seed = use.Validation, use.ShortTerm, r.seed()
	return set
}
