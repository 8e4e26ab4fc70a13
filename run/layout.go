package run

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Dir is a run directory: where each thing of a run lies (docs/RUN.md).
type Dir struct {
	Root        string
	Training    string // TRAININGNAME
	Checkpoints string // directory of <job>_step<NNNNNNNN> directories
	Metrics     string // directory of the job's metrics: a directory for each process below it
	Learning    string // directory of the training's metrics.jsonl and event files
	Order       string // the training's journal; "" = the run's
	Games       string // directory of <net>/<process>/*.games; "" = selfplay/
}

// NewDir lays out a run at root. checkpoints (MODEL_CHECKPOINT_DIR) and metrics
// (TENSORBOARD_LOG_DIR) move their part elsewhere, below the job's name; empty
// means inside the run.
func NewDir(root, training, job, checkpoints, metrics string) Dir {
	d := Dir{Root: root, Training: training, Checkpoints: filepath.Join(checkpoints, job)}
	if checkpoints == "" {
		d.Checkpoints = d.CheckpointsOf(training)
	}
	d.Metrics = filepath.Join(cmp.Or(metrics, filepath.Join(root, "metrics")), job)
	d.Learning = d.Metrics
	if training != FirstTraining {
		d.Learning = filepath.Join(d.Metrics, string(Trainer(training)))
		d.Order = filepath.Join(d.Trainings(), training, "journal")
	}
	return d
}

// FirstTraining is the training whose metrics and journal are those of the job. Two trainings of a
// run that write one file would destroy it for each other.
const FirstTraining = "main"

// TrainingConfig is the configuration of the training's latest start; that of the run is
// of whichever training started last.
func (d Dir) TrainingConfig() string {
	return filepath.Join(d.Trainings(), d.Training, "config.textproto")
}

func (d Dir) RunFile() string    { return filepath.Join(d.Root, "run.json") }
func (d Dir) ConfigFile() string { return filepath.Join(d.Root, "config.textproto") }
func (d Dir) History() string    { return filepath.Join(d.Root, "config-history") }
func (d Dir) Locks() string      { return filepath.Join(d.Root, "locks") }

// Lock is the lock file of a role; the role's control socket lies beside it.
func (d Dir) Lock(r Role) string { return filepath.Join(d.Locks(), string(r)) }

// InitialNet is the net that a run was begun with by chessbrain init. It stays: a
// restart measures it as the untrained net.
func (d Dir) InitialNet() string { return filepath.Join(d.Root, "initial"+NetSuffix) }

// Journal is the order in which games entered the training.
func (d Dir) Journal() string { return cmp.Or(d.Order, filepath.Join(d.Root, "journal")) }

// Catalogue is the index of the run.
func (d Dir) Catalogue() string { return filepath.Join(d.Root, "catalogue.json") }

// Plugins is the directory of programs that earlier versions ran unasked.
func (d Dir) Plugins() string { return filepath.Join(d.Root, "plugins") }

// Quarantine is where a process keeps games that killed a plugin.
func (d Dir) Quarantine(process string) string {
	return filepath.Join(d.Root, "quarantine", "plugins", process)
}

// Fleet is the directory of what players on other machines need; it holds keys.
func (d Dir) Fleet() string { return filepath.Join(d.Root, "fleet") }

func (d Dir) Logs() string { return filepath.Join(d.Root, "logs") }

// Models is the directory of the accepted nets, which self-play plays.
func (d Dir) Models() string { return filepath.Join(d.Root, "models") }

// ModelsExtra is the directory of the nets that never play.
func (d Dir) ModelsExtra() string { return filepath.Join(d.Root, "models_extra") }

// Candidates is the directory of the nets that the gatekeeper is to test, and
// Rejected that of those that lost.
func (d Dir) Candidates() string { return filepath.Join(d.Root, "modelstobetested") }

func (d Dir) Rejected() string { return filepath.Join(d.Root, "rejectedmodels") }

// Gates is the directory of the gatekeeper's matches, one directory a net, and
// Matches that of the rater's.
func (d Dir) Gates() string { return filepath.Join(d.Root, "gatekeeper") }

// GateResult is what the gatekeeper decided about a net.
func (d Dir) GateResult(net string) string {
	return filepath.Join(d.Gates(), net, GateResultName)
}

func (d Dir) Matches() string { return filepath.Join(d.Root, "matches") }

// LadderOf is where the ladder keeps the games and the place of a net of a run. Its name
// is none of a checkpoint's.
func LadderOf(root, net string) string { return filepath.Join(root, "ladder", net+".rungs") }

// Shuffled is the directory of the run's shuffles.
func (d Dir) Shuffled() string { return filepath.Join(d.Root, "shuffled") }

// Selfplay is the directory of all nets' games.
func (d Dir) Selfplay() string { return cmp.Or(d.Games, filepath.Join(d.Root, "selfplay")) }

// Imported is the directory of the games that were PGN, for a training on a data set.
func (d Dir) Imported() string { return filepath.Join(d.Root, "imported") }

// NetPath puts a path of export.path below the run, unless it is absolute.
func (d Dir) NetPath(path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.Root, path)
}

// GamesOf is where one process writes the games that begin with a net.
func (d Dir) GamesOf(net, process string) string {
	return filepath.Join(d.Selfplay(), net, process)
}

// ToExport is where trainers put nets for chessbrain export, and ToExportExtra
// the same for those that never play: a directory a net, written whole.
func (d Dir) ToExport() string { return filepath.Join(d.Root, "toexport") }

func (d Dir) ToExportExtra() string { return filepath.Join(d.Root, "toexport_extra") }

// Trainings is the directory of all trainings of the run, one directory each, and
// CheckpointsOf that of one's checkpoints where nothing moves them elsewhere.
func (d Dir) Trainings() string { return filepath.Join(d.Root, "train") }

func (d Dir) CheckpointsOf(training string) string {
	return filepath.Join(d.Trainings(), training, "checkpoints")
}

func (d Dir) HandedFile() string { return filepath.Join(d.Trainings(), d.Training, "handed.json") }

// PublishedFile is the list of what a training published. It stands beside the
// checkpoints and not in them: the newest checkpoint is written before its net
// is exported.
func (d Dir) PublishedFile() string {
	return filepath.Join(d.Trainings(), d.Training, "published.json")
}

// DamagedSuffix is that of a damaged file that was put aside.
const DamagedSuffix = ".damaged"

// Shorten makes a path relative to the run where it lies inside, so that a run
// may be moved; netPath is its inverse.
func (d Dir) Shorten(path string) string {
	if rel, err := filepath.Rel(d.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// UnfinishedFile is where a stopped playing process leaves the games that it was
// playing.
func (d Dir) UnfinishedFile(process string) string {
	return filepath.Join(d.Unfinished(), process+".bin")
}

func (d Dir) Unfinished() string { return filepath.Join(d.Root, "unfinished") }

// CyclesName is the journal of a closed loop in its run directory, GateResultName the
// gatekeeper's decision in the directory of a match, and LadderName a net's place in its
// directory of the ladder.
const (
	CyclesName     = "cycles.jsonl"
	GateResultName = "result.json"
	LadderName     = "ladder.json"
)

// Role is what a process does in a run. It names the process's lock, its control
// socket and its part of the metrics.
type Role string

// Roles that one process of a run has at a time.
const (
	WholeRun   Role = "run" // no role: who shares the run or has it alone
	Gatekeeper Role = "gatekeeper"
	Exporter   Role = "exporter"
	Rater      Role = "rater"
	Loop       Role = "loop" // keeps the journal of cycles
	Collector  Role = "gc"   // removes what is no longer needed
)

// Player is the role of a process that plays, from 1, and Trainer that of the
// training of a name.
func Player(number uint64) Role { return Role("selfplay-p" + strconv.FormatUint(number, 10)) }

func Trainer(name string) Role { return Role("trainer-" + name) }

// FirstJoined is the number of the first player that joins from another machine. Those of
// the run's own machine have lower ones: no two players have one number.
const FirstJoined = 100_001

// Foreign names a file in a directory that no command of chessbrain has worked on yet;
// "" where there is none. The locks are this process's own where it has locked the run.
func Foreign(dir string, locked bool) (found string) {
	d := Dir{Root: dir}
	if locked && fsx.IsFile(d.RunFile()) {
		return ""
	}
	dated := filepath.Join(dir, "dated") // of scripts/synchronous_loop.sh
	// What may be there before the first start.
	ours := []string{d.Logs(), dated, d.InitialNet(), d.Selfplay(), d.Shuffled(), d.Models(), d.Plugins(), d.Fleet()}
	entries, _ := fsx.Entries(fsx.OS, dir) // what is wrong with it is told where it is made
	for _, e := range entries {
		switch path := filepath.Join(dir, e.Name()); {
		case path == d.Locks() && locked:
		case path == d.Locks():
			return ""
		case e.Name()[0] != '.' && found == "" && !slices.Contains(ours, path):
			found = e.Name()
		}
	}
	return found
}
