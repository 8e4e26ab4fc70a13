package pipeline

import (
	"context"
	"fmt"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// preprocess combines the games, without doubles, into chunks.
func (r *pass) preprocess(ctx context.Context, s *StepState) error {
	m, err := prepare.Preprocess(ctx, prepare.PreprocessOptions{
		Inputs: []prepare.Input{{Dir: r.games(Preprocess)}}, Out: s.Dir, ChunkSize: r.ChunkSize})
	if err != nil {
		return err
	}
	r.warnDamaged(s.Step, m)
	s.count(m)
	return nil
}

// process chooses the positions, of the games of data directories too.
func (r *pass) process(ctx context.Context, s *StepState) error {
	inputs := r.sources.games
	if dir := r.games(Process); dir != "" {
		inputs = append([]prepare.Input{{Dir: dir}}, inputs...)
	}
	m, err := prepare.Process(ctx, prepare.ProcessOptions{Inputs: inputs, Out: s.Dir, ChunkSize: r.ChunkSize, Select: r.Selector, Workers: r.Workers})
	if err != nil {
		return err
	}
	r.warnDamaged(s.Step, m)
	s.count(m)
	return nil
}

func (r *pass) warnDamaged(step string, m *prepare.Manifest) {
	if m.Counts.Damaged > 0 {
		r.Log.Warn("damaged stretches of the input were left out; chessbrain verify names them", "step", step, "stretches", m.Counts.Damaged)
	}
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
	set := r.shuffleSettings(e)
	m, err := prepare.BeginStep(fsx.OS, s.Dir, prepare.Manifest{Step: Shuffle, Inputs: files, Settings: map[string]string{
		"buckets": strconv.Itoa(r.Buckets), "seed": strconv.FormatUint(set.Seed, 10), "validation_share": fmt.Sprint(set.Validation)}})
	if err != nil {
		return err
	}
	scratch, err := prepare.BeginStep(fsx.OS, r.buckets(), prepare.Manifest{Step: "buckets", Settings: map[string]string{"of": s.Dir}})
	if err != nil {
		return err
	}
	made, err := r.shuffled(ctx, in, s.Dir, set)
	if err != nil {
		return err
	}
	s.Games, s.Rows, s.Files = int64(made.Games), made.TrainRows+made.HeldRows, len(made.Train)+len(made.Val)
	if made.TrainRows == 0 {
		return fmt.Errorf("%w: all %d rows of %s are held out for validation; play more games, or lower training.validation.share", prepare.ErrNoInput, s.Rows, in)
	}
	if err := prepare.EndStep(fsx.OS, r.buckets(), scratch, prepare.Counts{}); err != nil {
		return err
	}
	return prepare.EndStep(fsx.OS, s.Dir, m, prepare.Counts{Read: s.Games, Games: s.Games, Rows: s.Rows})
}

// shuffled returns the shuffle of the games of in: the one in dir, or a new one.
func (r *pass) shuffled(ctx context.Context, in, dir string, set shuffle.Settings) (*shuffle.Manifest, error) {
	if at, err := prepare.ShuffleOf(fsx.OS, dir); err != nil {
		return nil, err
	} else if at != "" { // a kill came before the step was marked as done
		return shuffle.ReadManifest(fsx.OS, at)
	}
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
func (r *pass) shuffleSettings(e *config.Effective) shuffle.Settings {
	set := shuffle.DefaultSettings()
	set.Window = shuffle.WindowOptions{MinRows: 1, Expand: 1, Exponent: 1, AddToData: 1 << 50}
	set.Validation, set.ShortTerm = e.Config.GetTraining().GetValidation().GetShare(), e.Config.GetTraining().GetStTheta()
	set.Seed = r.seed()
	return set
}
