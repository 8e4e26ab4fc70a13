package run

import (
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

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

// Entries of a checkpoint's manifest that tie it to its run, whose value is ID, and to the
// training's name.
const (
	ManifestKey = "run"
	TrainingKey = "training"
)

func (i RunInfo) ID() string { return i.Created.UTC().Format(time.RFC3339Nano) }

// jobForm is what a job id may look like, which is part of file names.
var jobForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// ReadRunInfo reads run.json of the run at root; ok is false where there is
// none yet.
func ReadRunInfo(root string) (info RunInfo, ok bool, err error) {
	path := Dir{Root: root}.RunFile()
	there, err := ReadJSON(path, &info)
	switch {
	case there && err != nil:
		return info, false, fmt.Errorf("read run file %s: %w; put it back from a copy, or begin a new run", path, err)
	case fsx.IsFile(root):
		return info, false, fmt.Errorf("%s is a file; name the directory of a run", root)
	case err != nil:
		return info, false, fmt.Errorf("read run file: %w", err)
	case !there:
		return info, false, nil
	case info.Version != 1:
		return info, false, fmt.Errorf("run file %s has version %d; this build reads 1", path, info.Version)
	case !jobForm.MatchString(info.Job):
		return info, true, fmt.Errorf("job id %q: want 1 to 40 letters, digits, _ or -", info.Job)
	}
	return info, true, nil
}

// Arithmetic is what a process computes with: its results are bit-equal only to
// those of the same. It stands in run.json, in the status page and in the log.
type Arithmetic struct {
	Kernels           string `json:"kernels,omitempty"`            // CPU tier
	Precision         string `json:"precision,omitempty"`          // of the trainer's products; empty = does not train
	ProducerPrecision string `json:"producer_precision,omitempty"` // of self-play's; empty = others play
	Device            string `json:"device,omitempty"`             // of the trainer, resolved: cpu, cuda:0
	ProducerDevice    string `json:"producer_device,omitempty"`    // of self-play
}

// LastCycle is the stage of a closed loop that was begun last, noted once the journal of
// cycles has it: one without it has lost lines.
type LastCycle struct {
	Cycle int64  `json:"cycle"`
	Stage string `json:"stage"`
}

// LastCycleFile is where the closed loop of the run at root keeps its LastCycle.
func LastCycleFile(root string) string { return filepath.Join(root, "lastcycle.json") }

// ReadLastCycle reads the note, the zero value where it cannot be read: it is written anew. It
// is read before the journal, which a run at work writes first.
func ReadLastCycle(root string) (c LastCycle) {
	if _, err := ReadJSON(LastCycleFile(root), &c); err != nil {
		return LastCycle{}
	}
	return c
}

// Lost says what a journal lacks in which the stage was begun or not, "" for nothing.
func (c LastCycle) Lost(begun bool) string {
	if begun || c.Stage == "" {
		return ""
	}
	return fmt.Sprintf("it ends before stage %s of cycle %d, which was begun (lastcycle.json)", c.Stage, c.Cycle)
}
