package run

import (
	"fmt"
	"path/filepath"
	"regexp"
	"time"
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

// ManifestKey is the entry of a checkpoint's manifest that ties it to its run, and ID
// its value.
const ManifestKey = "run"

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

// LastCycle is noted beside the journal of cycles once its self-play stands there: a journal
// that says less has lost lines.
type LastCycle struct {
	Cycle   int64 `json:"cycle"`
	Process int64 `json:"process"` // that plays the cycle's games: a higher one in each
}

// LastCycleFile is where the closed loop of the run at root keeps its LastCycle.
func LastCycleFile(root string) string { return filepath.Join(root, "lastcycle.json") }

// CyclesLack says what the journal of the run at root lacks that names processes up to a
// number; "" for nothing that is known. A note that cannot be read is written anew.
func CyclesLack(root string, process int64) string {
	var last LastCycle
	if _, err := ReadJSON(LastCycleFile(root), &last); err != nil || process >= last.Process {
		return ""
	}
	return fmt.Sprintf("it ends before the self-play of cycle %d, which was begun (lastcycle.json)", last.Cycle)
}
