package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
)

// Dir is a run directory: where each thing of a run lies (docs/RUN.md).
type Dir struct {
	Root        string
	Training    string // TRAININGNAME
	Checkpoints string // directory of <job>_step<NNNNNNNN> directories
	Metrics     string // directory of metrics.jsonl and event files
	Games       string // directory of <net>/<process>/*.games; "" = selfplay/
}

// NewDir lays out a run at root. checkpoints (MODEL_CHECKPOINT_DIR) and metrics
// (TENSORBOARD_LOG_DIR) move their part elsewhere, below the job's name; empty
// means inside the run.
func NewDir(root, training, job, checkpoints, metrics string) Dir {
	d := Dir{Root: root, Training: training}
	if checkpoints == "" {
		d.Checkpoints = filepath.Join(root, "train", training, "checkpoints")
	} else {
		d.Checkpoints = filepath.Join(checkpoints, job)
	}
	if metrics == "" {
		metrics = filepath.Join(root, "metrics")
	}
	d.Metrics = filepath.Join(metrics, job)
	return d
}

func (d Dir) runFile() string    { return filepath.Join(d.Root, "run.json") }
func (d Dir) configFile() string { return filepath.Join(d.Root, "config.textproto") }
func (d Dir) history() string    { return filepath.Join(d.Root, "config-history") }
func (d Dir) locks() string      { return filepath.Join(d.Root, "locks") }
func (d Dir) journal() string    { return filepath.Join(d.Root, "journal") }
func (d Dir) logs() string       { return filepath.Join(d.Root, "logs") }
func (d Dir) staging() string    { return d.ToExport() }

// shuffled is the directory of the run's shuffles.
func (d Dir) shuffled() string { return filepath.Join(d.Root, "shuffled") }

// selfplay is the directory of all nets' games.
func (d Dir) selfplay() string {
	if d.Games != "" {
		return d.Games
	}
	return filepath.Join(d.Root, "selfplay")
}

// netPath puts a path of export.path below the run, unless it is absolute.
func (d Dir) netPath(path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.Root, path)
}

// gamesOf is where one process writes the games that begin with a net.
func (d Dir) gamesOf(net, process string) string {
	return filepath.Join(d.selfplay(), net, process)
}

// RunInfo is run.json: what a run is, written once and extended at each start.
type RunInfo struct {
	Version    int       `json:"version"` // of this file's form
	Job        string    `json:"job"`
	Seed       uint64    `json:"seed"`
	Arch       string    `json:"arch"`
	Created    time.Time `json:"created"`
	ConfigHash string    `json:"config_hash"` // of the configuration at the latest start
	Program    string    `json:"program"`     // version of the latest start
	Go         string    `json:"go"`
	Starts     int       `json:"starts"`
	Arithmetic           // of the latest start
}

// jobForm is what a job id may look like.
var jobForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// CheckJob refuses a job id that could not be part of a file name.
func CheckJob(job string) error {
	if !jobForm.MatchString(job) {
		return fmt.Errorf("job id %q: want 1 to 40 letters, digits, _ or -", job)
	}
	return nil
}

// newJob names a new run's job after its name or, without one, its directory.
func newJob(c *config.Config) string {
	for _, name := range []string{c.GetName(), filepath.Base(c.GetRunDir())} {
		if job := config.JobID(name); job != "" {
			return job
		}
	}
	return "chessbrain"
}

// ReadRunInfo reads run.json of the run at root; ok is false where there is
// none yet.
func ReadRunInfo(root string) (info RunInfo, ok bool, err error) {
	path := Dir{Root: root}.runFile()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return info, false, nil
	}
	if err != nil {
		return info, false, fmt.Errorf("read run file: %w", err)
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, false, fmt.Errorf("read run file %s: %w; put it back from a copy, or begin a new run", path, err)
	}
	if info.Version != 1 {
		return info, false, fmt.Errorf("run file %s has version %d; this build reads 1", path, info.Version)
	}
	return info, true, CheckJob(info.Job)
}

// dirOfRun lays out an existing run as its latest start did.
func dirOfRun(root string, info RunInfo) (Dir, error) {
	plain := Dir{Root: root}
	file, err := config.Load(plain.configFile())
	if err != nil {
		return plain, fmt.Errorf("read the run's configuration: %w", err)
	}
	c := file.Config
	return NewDir(root, c.GetTraining().GetTrainingName(), info.Job,
		c.GetTraining().GetCheckpoint().GetDir(), c.GetMetrics().GetDir()), nil
}

// OpenDir lays out the existing run at root.
func OpenDir(root string) (Dir, RunInfo, error) {
	info, ok, err := ReadRunInfo(root)
	if err != nil {
		return Dir{}, info, err
	}
	if !ok {
		return Dir{}, info, fmt.Errorf("%s is not a run directory (no run.json); name one, or start with chessbrain train", root)
	}
	dir, err := dirOfRun(root, info)
	return dir, info, err
}
