package pipeline

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// Planned is what a run would do.
type Planned struct {
	DryRun bool                `json:"dry_run"`
	T      string              `json:"t"`
	Steps  []StepState         `json:"steps"`
	Asked  map[string][]string `json:"settings"`

	options Options
	goesOn  bool
}

// NewPlanned plans the run of o, which goes on or begins.
func NewPlanned(o Options, goesOn bool) *Planned {
	return &Planned{true, o.T, o.plan(), o.Settings, o, goesOn}
}

// Write prints the plan for a person.
func (p *Planned) Write(out io.Writer) error {
	begins := "begins"
	if p.goesOn {
		begins = "goes on"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "run\t%s %s\n", p.T, begins)
	if net := p.options.NetName; net != "" {
		fmt.Fprintf(w, "net\t%s\n", net)
	}
	for _, s := range p.Steps {
		fmt.Fprintf(w, "%s\t%s -> %s\n", s.Step, p.options.describe(s.Step), s.Dir)
	}
	fmt.Fprintf(w, "nothing is created\tthis is a dry run\n")
	return w.Flush()
}

// describe says in a few words what a step would do.
func (o *Options) describe(step string) string {
	switch step {
	case SelfPlay:
		search := "PUCT"
		if o.Candidates > 0 {
			search = fmt.Sprintf("Gumbel, %d candidates", o.Candidates)
		}
		return fmt.Sprintf("%d games by %d workers, %d visits (%s), seed %d", o.NumGames, o.NumWorkers, o.Visits, search, o.seed())
	case Preprocess:
		return fmt.Sprintf("games of %s without doubles, %d a file", o.games(step), o.ChunkSize)
	case Process:
		return fmt.Sprintf("positions %s of %s", o.Selector, o.games(step))
	case Shuffle:
		return fmt.Sprintf("rows of %s in about %d files", o.games(step), o.Buckets)
	}
	return fmt.Sprintf("at most %d samples", o.MaxSamples)
}

// Report is what a run came to.
type Report struct {
	*State
	Log string `json:"log"`
}

// Write prints the report for a person.
func (s *Report) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "run\t%s is done\n", s.T)
	for _, step := range s.Steps {
		var parts []string
		for _, p := range []struct {
			n    int64
			what string
		}{{step.Games, "games"}, {step.Rows, "rows"}, {int64(step.Files), "files"}, {step.Steps, "steps"}} {
			if p.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
			}
		}
		removed := ""
		if step.Removed {
			removed = " (used up and removed)"
		}
		fmt.Fprintf(w, "%s\t%s in %.1f s -> %s%s\n", step.Step, strings.Join(parts, ", "), step.Seconds, step.Dir, removed)
		if step.Net != "" {
			fmt.Fprintf(w, "net\t%s\n", step.Net)
		}
	}
	fmt.Fprintf(w, "log\t%s\n", s.Log)
	return w.Flush()
}

// SweepReport is what a sweep came to.
type SweepReport struct {
	Best    string   `json:"best"` // "" = all diverged
	Grid    []Axis   `json:"grid"`
	Results []Result `json:"results"`

	dir string
}

// Write prints the table for a person.
func (s *SweepReport) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var names []string
	for _, a := range s.Grid {
		names = append(names, a.Name)
	}
	fmt.Fprintf(w, "%s\tstatus\tloss\tpolicy\tvalue\tsteps\tseconds\t\n", strings.Join(names, "\t"))
	for _, r := range s.Results {
		loss, policy, value, mark := "-", "-", "-", ""
		if r.Status == TrialDone {
			loss, policy, value = fmt.Sprintf("%.4f", r.Loss), fmt.Sprintf("%.4f", r.Policy), fmt.Sprintf("%.4f", r.Value)
		}
		if r.Name == s.Best {
			mark = "best"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%.1f\t%s\n", strings.Join(r.Values, "\t"), r.Status, loss, policy, value, r.Steps, r.Seconds, mark)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "table: %s; best: %s\n", filepath.Join(s.dir, "sweep.csv"), filepath.Join(s.dir, "best"))
	return err
}
