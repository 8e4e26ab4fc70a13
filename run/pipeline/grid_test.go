package pipeline

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestGrid holds the form of grids and the names of trials.
func TestGrid(t *testing.T) {
	grid, err := ParseGrid([]string{"lr=0.1,0.01,net=32x2,64x6", "mcts.cpuct=2"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Axis{{"lr", []string{"0.1", "0.01"}}, {"net", []string{"32x2", "64x6"}}, {"mcts.cpuct", []string{"2"}}}
	if !reflect.DeepEqual(grid, want) {
		t.Fatalf("%+v", grid)
	}
	trials, err := Trials(grid)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tr := range trials {
		names = append(names, tr.Name)
	}
	if got := strings.Join(names, " "); got != "lr-0.1_net-32x2_mcts.cpuct-2 lr-0.1_net-64x6_mcts.cpuct-2 lr-0.01_net-32x2_mcts.cpuct-2 lr-0.01_net-64x6_mcts.cpuct-2" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"": "want NAME=", "0.1": "want NAME=", "lr=": "empty", "lr=1,1": "twice", "lr=1,lr=2": "comes twice", "run-dir=a": "the same for all",
		"training.validation.share=1": "the same for all", "moon=1": "no flag", "validation-share=0.1": "the same for all",
		"lr=" + strings.Repeat("1,", 10) + "2": "twice",
	} {
		if _, err := ParseGrid([]string{text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Trials([]Axis{{"lr", []string{"a/b", "a:b"}}}); err == nil {
		t.Error("two trials share a directory")
	}
}

// TestTable holds the CSV: a line a trial, the best marked, no number where
// there is none.
func TestTable(t *testing.T) {
	grid := []Axis{{"lr", []string{"1", "2", "3"}}}
	results := []Result{
		{Trial: Trial{"lr-1", []string{"1"}}, Status: TrialDone, Steps: 5, Samples: 80, Rows: 9, Loss: 2.5, Policy: 1.5, Value: 1, Seconds: 3},
		{Trial: Trial{"lr-2", []string{"2"}}, Status: TrialDiverged, Loss: 0},
		{Trial: Trial{"lr-3", []string{"3"}}, Status: TrialDone, Steps: 5, Samples: 80, Rows: 9, Loss: 2.25, Policy: 1.25, Value: 1, Seconds: 4},
	}
	if best := Best(results); best != "lr-3" {
		t.Errorf("best %q", best)
	}
	var out bytes.Buffer
	if err := WriteTable(&out, grid, results); err != nil {
		t.Fatal(err)
	}
	want := "trial,lr,status,steps,samples,validation_rows,loss,policy_loss,value_loss,moves_left_loss,policy_accuracy,seconds,net,best\n" +
		"lr-1,1,done,5,80,9,2.500000,1.500000,1.000000,0.000000,0.000000,3.0,,false\n" +
		"lr-2,2,diverged,,,,,,,,,0.0,,false\n" +
		"lr-3,3,done,5,80,9,2.250000,1.250000,1.000000,0.000000,0.000000,4.0,,true\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	if Best(results[1:2]) != "" {
		t.Error("a trial that diverged is the best")
	}
}

// FuzzParseGrid holds that whatever is read as a grid has values for each
// setting and directories below the sweep's.
func FuzzParseGrid(f *testing.F) {
	for _, text := range []string{"lr=0.1,0.01,net=32x2", "a.b=..,/", "lr=,", "seed=1,2,3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		grid, err := ParseGrid([]string{text})
		if err != nil {
			return
		}
		trials, err := Trials(grid)
		if err != nil {
			return
		}
		for _, tr := range trials {
			if len(tr.Values) != len(grid) || tr.Name == "" || strings.ContainsAny(tr.Name, "/\\\x00") || strings.HasPrefix(tr.Name, ".") {
				t.Fatalf("%q: trial %+v", text, tr)
			}
		}
	})
}
