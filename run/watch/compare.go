package watch

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/config"
)

// Comparison says which runs stand side by side, and in what settings they differ.
type Comparison struct {
	Runs   []string     `json:"runs"`
	Differ []Difference `json:"differ"`
}

// Difference is a setting with its value in each run, as textproto; "" = not set.
type Difference struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`
}

// own are settings that say where a run is, not what it is.
var own = []string{"run_dir", "job_id", "name", "log_filename", "metrics.web", "metrics.addr"}

// compare holds the settings of runs against those of the first.
func compare(runs []*Source) (*Comparison, error) {
	c := &Comparison{Differ: []Difference{}}
	var configs []*config.Config
	for _, s := range runs {
		e, err := config.ResolveRun(s.opt.Dir.ConfigFile())
		if err != nil {
			return nil, fmt.Errorf("settings of %s: %w", s.opt.Dir.Root, err)
		}
		c.Runs, configs = append(c.Runs, filepath.ToSlash(s.opt.Dir.Root)), append(configs, e.Config)
	}
	at := map[string]int{} // place in Differ by path
	for i := range configs {
		changes := config.Compare(configs[0], configs[i])
		for _, d := range slices.Concat(changes.Logged, changes.Refused) {
			if slices.Contains(own, d.Path) {
				continue
			}
			k, known := at[d.Path]
			if !known {
				k, at[d.Path] = len(c.Differ), len(c.Differ)
				c.Differ = append(c.Differ, Difference{d.Path, slices.Repeat([]string{d.Old}, len(runs))})
			}
			c.Differ[k].Values[i] = d.New
		}
	}
	return c, nil
}

// runOf is the run that a question is about: run=N, 0 or nothing is the first.
func runOf(r *http.Request, runs []*Source) (*Source, error) {
	text := r.FormValue("run")
	if text == "" {
		return runs[0], nil
	}
	i, err := strconv.Atoi(text)
	if err != nil || i < 0 || i >= len(runs) {
		return nil, &QuestionError{fmt.Sprintf("run %q: want 0 to %d", text, len(runs)-1)}
	}
	return runs[i], nil
}
