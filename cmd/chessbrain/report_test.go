package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
)

// TestReportOfTrainings: each training of a run has a report with its own curves, beside that
// of the run's own training, and one picture has the losses of all. A training that has not
// begun is left out.
func TestReportOfTrainings(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	runtest.Trainings(t, root, []string{"main", "wide", "waiting"}, func(i int) (told []monitor.Event) {
		for step := range int64(3 * (2 - i)) { // the last one has none
			e := &monitor.Step{Step: step + 1, Samples: 8 * (step + 1), Losses: monitor.Numbers{"policy_loss": monitor.Number(3 - i)}}
			e.Type = "step"
			told = append(told, e)
		}
		return told
	})
	output := filepath.Join(root, reportDir)
	text, files, err := plot(root, output)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Run job, training main", "6 steps, 48 rows", "# Run job, training wide", "3 steps, 24 rows"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for name, want := range map[string]string{"trainings.svg": ">wide</text>", "losses.svg": "train/policy_loss", "wide/losses.svg": "train/policy_loss",
		"report.md": "* [wide](wide/report.md)", "wide/report.md": "| policy_loss | 2.0000"} {
		path := filepath.Join(output, filepath.FromSlash(name))
		data, err := os.ReadFile(path)
		if err != nil || !slices.Contains(files, path) || !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %q: %v", name, want, err)
		}
	}
	if last := files[len(files)-1]; last != filepath.Join(output, "report.md") || strings.Contains(text, "waiting") {
		t.Errorf("the last file is %s, the text\n%s", last, text)
	}
}
