package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
)

// Axis is a setting of a grid with its values, in their order.
type Axis struct {
	Name   string   `json:"name"` // a flag of train, or the path of a field of the configuration
	Values []string `json:"values"`
}

// Trial is a point of a grid.
type Trial struct {
	Name   string   `json:"trial"` // of its directory
	Values []string `json:"values"`
}

// maxTrials bounds a grid.
const maxTrials = 10_000

// fixedInSweeps are what all trials have in common: their comparison would mean
// nothing otherwise.
var fixedInSweeps = []string{"run-dir", "name", "job-id", "source", "source-dir", "steps", "episodes", "validation-share", "validate-every",
	"checkpoint-dir", "metrics-dir", "metrics-addr", "training-name",
	"run_dir", "job_id", "training.source", "training.source_dir", "training.steps", "training.validation.share", "training.checkpoint.dir",
	"metrics.dir", "metrics.addr", "training.training_name", "training.st_theta"}

// ParseGrid reads texts such as lr=0.1,0.01,net=32x2,64x6: a part with = begins a
// setting, one without is a further value of the setting before it.
func ParseGrid(texts []string) ([]Axis, error) {
	flags := config.NewFlagSet(config.TrainGroups...)
	var grid []Axis
	trials := 1
	for _, text := range texts {
		for i, part := range strings.Split(text, ",") {
			name, value, begins := strings.Cut(part, "=")
			switch {
			case !begins && i == 0:
				return nil, fmt.Errorf("--grid %q: want NAME=VALUE,VALUE,...", text)
			case !begins:
				value = part
			case slices.ContainsFunc(grid, func(a Axis) bool { return a.Name == name }):
				return nil, fmt.Errorf("--grid: %s comes twice", name)
			case slices.Contains(fixedInSweeps, name):
				return nil, fmt.Errorf("--grid: %s is the same for all trials, else they could not be compared", name)
			case flags.Lookup(name) == nil && !strings.Contains(name, "."):
				return nil, fmt.Errorf("--grid: %q is no flag of chessbrain train and no field of the configuration", name)
			default:
				grid = append(grid, Axis{Name: name})
			}
			a := &grid[len(grid)-1]
			if value == "" || slices.Contains(a.Values, value) {
				return nil, fmt.Errorf("--grid %s: value %q is empty or comes twice", a.Name, value)
			}
			a.Values = append(a.Values, value)
		}
	}
	for _, a := range grid {
		if trials *= len(a.Values); trials > maxTrials {
			return nil, fmt.Errorf("--grid: more than %d trials", maxTrials)
		}
	}
	if len(grid) == 0 {
		return nil, fmt.Errorf("--grid: name settings and values, such as lr=0.1,0.01,net=32x2,64x6")
	}
	return grid, nil
}

var unsafeInTrials = regexp.MustCompile(`[^A-Za-z0-9.+-]+`)

// Trials returns the points of a grid, the last setting changing fastest.
func Trials(grid []Axis) ([]Trial, error) {
	trials := []Trial{{}}
	for _, a := range grid {
		var next []Trial
		for _, t := range trials {
			for _, v := range a.Values {
				name := strings.TrimLeft(t.Name+"_"+unsafeInTrials.ReplaceAllString(a.Name+"-"+v, "-"), "_.")
				next = append(next, Trial{name, append(slices.Clone(t.Values), v)})
			}
		}
		trials = next
	}
	names := map[string]bool{}
	for _, t := range trials {
		if names[t.Name] || len(t.Name) > 200 {
			return nil, fmt.Errorf("--grid: trial %v would have the directory %q, which another one has or is too long a name", t.Values, t.Name)
		}
		names[t.Name] = true
	}
	return trials, nil
}
