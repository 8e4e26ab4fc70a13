package pipeline

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
)

const (
	sweepJSON = "sweep.json"
	sweepCSV  = "sweep.csv"
	trialFile = "trial.json"
	bestLink  = "best"
)

// write writes the table and the link to the best trial.
func (s *sweep) write() error {
	s.table.Best = Best(s.table.Results)
	if err := prepare.WriteJSON(fsx.OS, filepath.Join(s.Results, sweepJSON), &s.table); err != nil {
		return err
	}
	err := fsx.WriteFileFunc(fsx.OS, filepath.Join(s.Results, sweepCSV), func(w io.Writer) error {
		return WriteTable(w, s.table.Grid, s.table.Results)
	})
	if err != nil || s.table.Best == "" {
		return err
	}
	return linkBest(s.Results, s.table.Best)
}

// Best is the name of the trial with the least loss, the first of equals; ""
// while none is done.
func Best(results []Result) (best string) {
	least := math.Inf(1)
	for _, r := range results {
		if r.Status == TrialDone && r.Loss < least {
			best, least = r.Name, r.Loss
		}
	}
	return best
}

// linkBest makes dir/best a link to a trial, by one rename. Something else of
// that name is not touched.
func linkBest(dir, trial string) error {
	link, temp := filepath.Join(dir, bestLink), filepath.Join(dir, ".best.tmp")
	have, err := os.Readlink(link)
	if err == nil && have == trial {
		return nil
	}
	if info, statErr := os.Lstat(link); err != nil && statErr == nil && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("link the best trial: %s is there and is no link; move it away", link)
	}
	if err = os.Remove(temp); err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.Symlink(trial, temp)
	}
	if err == nil {
		err = os.Rename(temp, link)
	}
	if err != nil {
		return fmt.Errorf("link the best trial: %w", err)
	}
	return fsx.SyncDir(fsx.OS, dir)
}

// WriteTable writes the results as CSV with a heading. Losses of a trial that is
// not done are empty.
func WriteTable(w io.Writer, grid []Axis, results []Result) error {
	out := csv.NewWriter(w)
	head := []string{"trial"}
	for _, a := range grid {
		head = append(head, a.Name)
	}
	head = append(head, "status", "steps", "samples", "validation_rows", "loss", "policy_loss", "value_loss", "moves_left_loss",
		"policy_accuracy", "seconds", "net", "best")
	lines, best := [][]string{head}, Best(results)
	for _, r := range results {
		line := append([]string{r.Name}, r.Values...)
		line = append(line, r.Status)
		if r.Status == TrialDone {
			line = append(line, strconv.FormatInt(r.Steps, 10), strconv.FormatInt(r.Samples, 10), strconv.Itoa(r.Rows))
			for _, v := range []float64{r.Loss, r.Policy, r.Value, r.Moves, r.Correct} {
				line = append(line, strconv.FormatFloat(v, 'f', 6, 64))
			}
		} else {
			line = append(line, make([]string, 8)...)
		}
		line = append(line, strconv.FormatFloat(r.Seconds, 'f', 1, 64), r.Net, strconv.FormatBool(r.Name == best))
		lines = append(lines, line)
	}
	return out.WriteAll(lines) // flushes
}
