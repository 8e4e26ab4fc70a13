package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Start is a configuration beside the run that lies in its directory.
type Start struct {
	*Training
	Info    run.RunInfo // of a run that is there, or that begins
	Exists  bool
	Dir     run.Dir
	Initial *nn.Net         // what the run begins with, or began with
	Arch    nn.Arch         // of the newest checkpoint, which may have grown; else of Initial
	Changes []config.Change // since the run's latest start, which do no harm

	before *config.Config // of the latest start; nil = none
}

// Hold holds the configuration against the run in its directory, and changes nothing.
// Its errors have exit code 2. What it lets pass, training does not refuse hours later,
// when games have been played: job, architecture, optimizer and the other settings of
// config.Compare, and the kind of rows. What was found is returned with an error, too.
func (t *Training) Hold() (*Start, error) {
	s, err := t.look()
	if err != nil {
		return nil, err
	}
	if s.Exists {
		if err := s.compare(); err != nil {
			return s, err
		}
	}
	if err := s.checkTraining(); err != nil {
		return s, err
	}
	if s.Source != Shuffles && s.e.Config.GetLoop().GetGrow() != "" {
		return s, s.e.Errorf("loop.grow", "use chessbrain run, or train --source shuffled; chessbrain grow makes a larger net for a new run",
			"only a training on shuffled rows grows its net")
	}
	return s, checkGrowth(s.e, s.Arch)
}

// look reads the run in the directory of a configuration, or begins one, without a
// comparison.
func (t *Training) look() (s *Start, err error) {
	s = &Start{Training: t}
	if s.Dir, s.Info, err = Layout(t.e.Config); err != nil {
		return nil, err
	}
	if s.Exists = s.Info.Version > 0; !s.Exists {
		s.Info.Version, s.Info.Created = 1, time.Now().UTC()
	}
	if s.Initial, err = FirstNet(t.e, s.Info.Seed); err == nil {
		s.Arch = s.Initial.Arch
	}
	return s, err
}

// compare holds the job, the configuration, and the arithmetic that it means on this
// machine, against those of the run's latest start.
func (s *Start) compare() error {
	if job := s.e.Config.GetJobId(); job != "" && job != s.Info.Job {
		return s.e.Errorf("job_id", "leave it out, or use another --run-dir", "the run in %s is job %s", s.Dir.Root, s.Info.Job)
	}
	path := s.Dir.TrainingConfig()
	if !fsx.IsFile(path) {
		path = s.Dir.ConfigFile()
	}
	before, err := config.LoadKept(path)
	if err != nil {
		return fmt.Errorf("read the run's configuration: %w", err)
	}
	c := s.e.Config
	s.before = before.Config
	diff := config.Compare(before.Config, c)
	if s.before.GetTraining().GetTrainingName() != s.Dir.Training { // this one may have a net of its own
		return s.ofRun(diff).Err()
	}
	diff = s.ofKeptNet(diff)
	was := s.Info.Arithmetic
	if s.Joins() {
		was = s.Arithmetic() // that of its own latest start is not written down
	}
	for _, change := range ArithmeticChanges(s.Arithmetic(), was) {
		if !c.GetDeterministic() {
			diff.Logged = append(diff.Logged, change)
			continue
		}
		change.Remedy = "compute as before (--device, --cpu-tier, --precision, --amp, --no-amp), or give up --deterministic"
		diff.Refused = append(diff.Refused, change)
	}
	for _, change := range diff.Logged {
		switch {
		case change.Path == "name" && len(s.ofRun(diff).Refused) > 0:
		case change.Path == "training.max_epochs_this_instance" && s.e.Origin(change.Path) == "default": // the loop sets it at each start
		default:
			s.Changes = append(s.Changes, change)
		}
	}
	diff.Refused = append(diff.Refused, s.ofRun(diff).Refused...)
	return diff.Err()
}

// ofRun is what all trainings of the run must have in common: its name. That of a recipe
// or a file is its own.
func (s *Start) ofRun(d config.Diff) (common config.Diff) {
	for _, change := range d.Logged {
		if change.Path == "name" && change.Old != "" && s.e.Origin("name") == "--name" {
			change.Remedy = "leave it out, or use another --run-dir"
			common.Refused = append(common.Refused, change)
		}
	}
	return common
}

// ofKeptNet corrects the comparison of a run that began with a net file: that net decides,
// and the configuration of the first start may name another architecture, or none. Of a
// training that grew it may name any that the net had.
func (s *Start) ofKeptNet(d config.Diff) config.Diff {
	ofNet := func(c config.Change) bool { return strings.HasPrefix(c.Path, "model.arch") }
	first := slices.IndexFunc(d.Refused, ofNet)
	want, err := trainedArch(s.e.Config)
	grown := s.hadNet(want)
	if first < 0 || err != nil || s.NetFile() != "" || !grown && !fsx.IsFile(s.Dir.InitialNet()) {
		return d
	}
	change := config.Change{Path: "model.arch", Old: s.Initial.Arch.String(), New: want.String(), Remedy: d.Refused[first].Remedy}
	d.Refused = slices.DeleteFunc(d.Refused, ofNet)
	if !grown && !want.Equal(s.Initial.Arch) {
		d.Refused = append(d.Refused, change)
	}
	return d
}

// Joins says whether the training stands beside the run's own and its nets never play: the
// run's configuration and run.json are then another training's, which those who play,
// continue or look at the run go by.
func (t *Training) Joins() bool {
	own, _, err := OpenDir(t.Root)
	return err == nil && own.Training != t.Name && (t.Export.Mode == HandOverExtra || t.Export.Mode == ExportNever)
}

// Kinds of rows, by the section of a checkpoint that says how far they are read. A
// training cannot change its kind: nobody knows where in the other rows it stands.
type rowKind struct{ section, words, command string }

var (
	playedRows   = rowKind{"source", "games as they are played", "chessbrain train"}
	shuffledRows = rowKind{"shuffle_source", "shuffles", "chessbrain run, or chessbrain train --source shuffled"}
	loaderRows   = rowKind{"loader", "rows of the data loader", "chessbrain train --source loader"}

	rowKinds = map[Source]rowKind{OwnGames: playedRows, OtherGames: playedRows, Shuffles: shuffledRows, LoaderRows: loaderRows}
)

// checkTraining refuses to go on with a training of another net or another kind of
// rows, and to begin one in the place of a closed loop's.
func (s *Start) checkTraining() error {
	want := rowKinds[s.Source]
	m, path, err := newestManifest(s.Dir.Checkpoints)
	if err != nil {
		return err
	}
	if m == nil {
		return s.checkPlace(want)
	}
	if created := m.Info[run.ManifestKey]; created != "" && !s.Exists && s.Checkpoints.Dir == "" {
		remedy := fmt.Sprintf(`put it back from a copy, or write {"version":1,"job":%q,"seed":%d,"created":%q} into it`, m.Job, s.Info.Seed, created)
		return s.e.Errorf("run_dir", remedy, "%s is missing in a directory with checkpoints of job %s", s.Dir.RunFile(), m.Job)
	}
	if err := s.CheckOwner(m, s.Info, path); err != nil {
		return err
	}
	if have := otherThan(want, m); have != nil {
		return otherRows(s.e, s.Dir.Root, s.Dir.Training, *have, want)
	}
	if err := s.checkGames(m); err != nil {
		return err
	}
	return s.checkNet(path)
}

// checkPlace refuses to begin a training in the place of the run's own, where that learns
// from other rows: what is written down of the run would be the new one's.
func (s *Start) checkPlace(want rowKind) error {
	root := s.Dir.Root
	if want != shuffledRows {
		loops := fsx.IsFile(filepath.Join(root, run.CyclesName))
		if loops && (s.before == nil || s.before.GetTraining().GetTrainingName() == s.Dir.Training) {
			return otherRows(s.e, root, s.Dir.Training, shuffledRows, want)
		}
		return nil
	}
	own, _, there, err := runAt(root)
	if err != nil || !there || s.Joins() {
		return err
	}
	m, _, err := newestManifest(own.Checkpoints)
	if have := otherThan(want, m); have != nil {
		return s.e.Errorf("run_dir", "name another --run-dir, or go on with "+have.command,
			"training %s of %s learns from %s; training %s, on %s, would take its place", own.Training, root, have.words, s.Dir.Training, want.words)
	}
	return err
}

// otherThan is the kind of rows of a checkpoint, nil = none, that is not the wanted one.
func otherThan(want rowKind, m *checkpoint.Manifest) *rowKind {
	held := map[string]bool{}
	if m != nil {
		for _, f := range m.Files {
			held[f.Section] = true
		}
	}
	for _, have := range []rowKind{playedRows, shuffledRows, loaderRows} {
		if held[have.section] && !held[want.section] {
			return &have
		}
	}
	return nil
}

// checkGames refuses to look for the games of a checkpoint in another directory than
// before, if none are there: this start could not go on, and the next would look there, too.
func (s *Start) checkGames(m *checkpoint.Manifest) error {
	if s.before == nil || s.before.GetTraining().GetTrainingName() != s.Dir.Training || m.Rows == 0 {
		return nil
	}
	was, now := GamesDir(s.Dir, s.before), GamesDir(s.Dir, s.e.Config)
	if was == now {
		return nil
	}
	if chunks, err := replay.ListChunks(fsx.OS, now); err != nil || len(chunks) > 0 {
		return err
	}
	return s.e.Errorf("training.source_dir", "name "+was+", or a copy of it", "the run's games lie in %s, and none in %s", was, now)
}

// checkNet refuses another net than that of the checkpoint at path.
func (s *Start) checkNet(path string) error {
	arch, err := ReadArch(filepath.Join(path, NetFile))
	if err != nil { // a damaged net is the restart's to tell: it may take an older checkpoint
		return nil
	}
	if !arch.Equal(s.Initial.Arch) && !s.hadNet(s.Initial.Arch) {
		return s.e.Errorf("model.net", "name the net that it was begun with, or another --run-dir",
			"training %s of %s has a net %s, this start wants %s", s.Dir.Training, s.Dir.Root, arch.Summary(), s.Initial.Arch.Summary())
	}
	s.Arch = arch
	return nil
}

// otherRows is the error of a training that would change its kind of rows.
func otherRows(e *config.Effective, root, training string, have, want rowKind) error {
	return e.Errorf("run_dir", "name another --run-dir, or go on with "+have.command,
		"training %s of %s learns from %s, this start would train it on %s", training, root, have.words, want.words)
}

// CheckOwner refuses a checkpoint that another run or training wrote into the same directory.
func (t *Training) CheckOwner(m *checkpoint.Manifest, info run.RunInfo, path string) error {
	if owner := m.Info[run.ManifestKey]; owner != "" && owner != info.ID() {
		return t.e.Errorf("training.checkpoint.dir", "give another --job-id or --checkpoint-dir", "checkpoint %s belongs to another run", path)
	}
	if other := m.Info[run.TrainingKey]; other != "" && other != t.Name { // older ones do not say
		return t.e.Errorf("training.checkpoint.dir", "give this training a --checkpoint-dir of its own", "checkpoint %s belongs to training %s, this is %s", path, other, t.Name)
	}
	return nil
}

// newestManifest reads the manifest of the current checkpoint in dir; nil where there
// is none, or where it is damaged: the restart tells of damage, and takes an older one.
func newestManifest(dir string) (m *checkpoint.Manifest, path string, err error) {
	name, err := checkpoint.Current(fsx.OS, dir)
	if err != nil || name == "" {
		return nil, "", err
	}
	path = filepath.Join(dir, name)
	m, err = checkpoint.ReadManifest(fsx.OS, path)
	if _, damaged := errors.AsType[*checkpoint.CorruptError](err); damaged {
		err = nil
	}
	return m, path, err
}

// CheckNew refuses a run that is there already, directories that cannot be written,
// and a net to begin with, nil = none, that the configuration does not mean; from says
// what it is.
func (t *Training) CheckNew(net *nn.Net, from string) error {
	if err := errors.Join(checkRunDir(t.e), t.checkArch(net, from)); err != nil {
		return err
	}
	_, there, err := run.ReadRunInfo(t.Root)
	if err != nil {
		return err
	}
	if there || fsx.IsFile(run.Dir{Root: t.Root}.InitialNet()) {
		return t.e.Errorf("run_dir", "name another --run-dir, or go on with it: a closed loop with chessbrain run, else chessbrain train", "%s is a run already", t.Root)
	}
	return nil
}

// checkArch holds a net against the architecture that somebody set.
func (t *Training) checkArch(net *nn.Net, from string) error {
	if net == nil {
		return nil
	}
	want, err := trainedArch(t.e.Config)
	if err != nil {
		return &config.Error{Field: "model.arch", Reason: err.Error()}
	}
	if err := checkInput(t.e, net.Arch); err != nil {
		return err
	}
	for _, field := range archFields {
		if path := "model.arch." + field; !want.Equal(net.Arch) && t.e.Origin(path) != "default" {
			return t.e.Errorf(path, "leave model.arch away, or carry the weights over with chessbrain migrate-checkpoint",
				"the configuration wants a net %s, and %s is a net %s", want, from, net.Arch)
		}
	}
	return nil
}

// archFields are the fields of an architecture, those of the body first.
var archFields = []string{"conv_tower.filters", "conv_tower.blocks", "conv_tower.se_ratio", "sparse.accumulators", "sparse.policy_units", "sparse.value_units", "sparse.features",
	"attention.width", "attention.encoders", "attention.heads", "attention.hidden", "attention.hidden_activation", "attention.smolgen", "attention.compressed",
	"attention.smolgen_hidden", "attention.smolgen_units", "attention.smolgen_activation", "attention.positions", "attention.gated",
	"activation", "input_format", "policy_head", "value_head", "value_channels", "value_hidden", "value_pooled", "moves_left", "moves_left_channels", "moves_left_hidden"}
