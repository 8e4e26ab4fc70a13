package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
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

const (
	stateVersion = 1
	maxState     = 1 << 20 // bytes that are read
)

func statePath(base, t string) string { return filepath.Join(base, "pipeline_"+t+".json") }

// ReadState reads a run's state. Errors: fs.ErrNotExist, *prepare.ManifestError.
func ReadState(base, t string) (*State, error) {
	path := statePath(base, t)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read pipeline run: %w", err)
	}
	if info.Size() > maxState {
		return nil, &prepare.ManifestError{Path: path, Reason: fmt.Sprintf("more than %d bytes", maxState)}
	}
	data, err := fsx.ReadFile(fsx.OS, path)
	if err != nil {
		return nil, fmt.Errorf("read pipeline run: %w", err)
	}
	s, err := decodeState(data)
	if err == nil && s.T != t {
		err = fmt.Errorf("it is of run %q", s.T)
	}
	if err != nil {
		return nil, &prepare.ManifestError{Path: path, Reason: err.Error()}
	}
	return s, nil
}

// decodeState reads a state and checks that its steps are steps, each once.
func decodeState(data []byte) (*State, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	var s State
	if err := in.Decode(&s); err != nil {
		return nil, err
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("version %d, this build reads %d", s.Version, stateVersion)
	}
	if !formT.MatchString(s.T) {
		return nil, fmt.Errorf("%q is no name of a run", s.T)
	}
	for i, step := range s.Steps {
		again := slices.ContainsFunc(s.Steps[:i], func(o StepState) bool { return o.Step == step.Step })
		if again || !slices.Contains(AllSteps(), step.Step) {
			return nil, fmt.Errorf("entry %d is no step: %q", i, step.Step)
		}
	}
	return &s, nil
}

// write makes s durable.
func (s *State) write(base string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write pipeline run: %w", err)
	}
	return fsx.WriteFile(fsx.OS, statePath(base, s.T), append(data, '\n'))
}

// step is the entry of a step, nil where the run has none.
func (s *State) step(name string) *StepState {
	for i := range s.Steps {
		if s.Steps[i].Step == name {
			return &s.Steps[i]
		}
	}
	return nil
}

// Unfinished returns the newest run of base that was begun and not finished, nil
// where there is none.
func Unfinished(base string) (*State, error) {
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for pipeline runs: %w", err)
	}
	for _, e := range slices.Backward(entries) { // names go by time
		t, ok := strings.CutPrefix(e.Name(), "pipeline_")
		if t, ok = strings.CutSuffix(t, ".json"); !ok || !formT.MatchString(t) {
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
	names := make([]string, 0, len(settings))
	for name := range settings {
		names = append(names, name)
	}
	for name := range s.Settings {
		if _, ok := settings[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
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
