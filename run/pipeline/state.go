package pipeline

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/prepare"
)

// State is pipeline_T.json: what a run was asked for and how far it is.
type State struct {
	Version  int                 `json:"version"`
	T        string              `json:"t"`
	Program  string              `json:"program"`
	Settings map[string][]string `json:"settings"`
	Steps    []StepState         `json:"steps"`
	Done     bool                `json:"done"`
}

// StepState is a step of a run.
type StepState struct {
	Step    string  `json:"step"`
	Dir     string  `json:"dir"`
	Done    bool    `json:"done"`
	Games   int64   `json:"games,omitempty"`
	Rows    int64   `json:"rows,omitempty"`
	Files   int     `json:"files,omitempty"`
	Steps   int64   `json:"steps,omitempty"` // of the optimizer
	Net     string  `json:"net,omitempty"`   // file that training made
	Seconds float64 `json:"seconds"`         // of the start that finished it
	Removed bool    `json:"removed,omitempty"`
}

// plan is the steps of a run with their directories, none of them done.
func (o *Options) plan() []StepState {
	var steps []StepState
	for _, step := range AllSteps() {
		if o.runs(step) {
			steps = append(steps, StepState{Step: step, Dir: o.Dir(step)})
		}
	}
	return steps
}

const (
	stateVersion = 1
	maxState     = 1 << 20 // bytes that are read
)

func statePath(base, t string) string { return filepath.Join(base, "pipeline_"+t+".json") }

// ReadState reads a run's state. Errors: fs.ErrNotExist, *prepare.ManifestError.
func ReadState(base, t string) (*State, error) {
	return prepare.ReadChecked(fsx.OS, statePath(base, t), "pipeline run", maxState, func(s *State) error {
		err := s.check()
		if err == nil && s.T != t {
			err = fmt.Errorf("it is of run %q", s.T)
		}
		return err
	})
}

// check holds that the steps of a state are steps, each once.
func (s *State) check() error {
	if s.Version != stateVersion {
		return fmt.Errorf("version %d, this build reads %d", s.Version, stateVersion)
	}
	if !formT.MatchString(s.T) {
		return fmt.Errorf("%q is no name of a run", s.T)
	}
	for i, step := range s.Steps {
		again := slices.ContainsFunc(s.Steps[:i], func(o StepState) bool { return o.Step == step.Step })
		if again || !slices.Contains(AllSteps(), step.Step) {
			return fmt.Errorf("entry %d is no step: %q", i, step.Step)
		}
	}
	return nil
}

// write makes s durable.
func (s *State) write(base string) error { return replay.WriteJSON(fsx.OS, statePath(base, s.T), s) }

// step is the entry of a step of the run.
func (s *State) step(name string) *StepState {
	return &s.Steps[slices.IndexFunc(s.Steps, func(step StepState) bool { return step.Step == name })]
}

// Unfinished returns the newest run of base that was begun and not finished, nil
// where there is none.
func Unfinished(base string) (*State, error) {
	entries, err := fsx.Entries(fsx.OS, base)
	if err != nil {
		return nil, fmt.Errorf("look for pipeline runs: %w", err)
	}
	for _, e := range slices.Backward(entries) { // names go by time
		t := strings.TrimSuffix(strings.TrimPrefix(e.Name(), "pipeline_"), ".json")
		if !formT.MatchString(t) || e.Name() != filepath.Base(statePath(base, t)) {
			continue
		}
		s, err := ReadState(base, t)
		if err != nil {
			return nil, err
		}
		if !s.Done {
			return s, nil
		}
	}
	return nil, nil
}

// Differs says in what settings are others than those that the run was asked for,
// "" for the same.
func (s *State) Differs(settings map[string][]string) string {
	all := maps.Clone(settings)
	maps.Copy(all, s.Settings)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if have, want := s.Settings[name], settings[name]; !slices.Equal(have, want) {
			return fmt.Sprintf("--%s was %s, now %s", name, shown(have), shown(want))
		}
	}
	return ""
}

// shown is a setting for a message.
func shown(values []string) string {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "not given"
	}
	return strings.Join(values, " ")
}
