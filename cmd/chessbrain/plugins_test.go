package main

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/plugintest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// TestParseStages reads names and settings of a command line.
func TestParseStages(t *testing.T) {
	c, err := parseStages(stage.KindRescorer, "plies-left, deblunder", []string{"deblunder.threshold=0.25", "deblunder.width=a=b"})
	want := []stage.Choice{{Name: "plies-left", Settings: map[string]string{}},
		{Name: "deblunder", Settings: map[string]string{"threshold": "0.25", "width": "a=b"}}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = parseStages(stage.KindSampler, "hanse", []string{"hanse.gamma="})
	want = []stage.Choice{{Name: "hanse", Settings: map[string]string{"gamma": ""}}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	for want, words := range map[string][]string{
		"rescorer deblunder is named twice":      {"deblunder,deblunder"},
		"deblunder.width is given twice":         {"deblunder", "deblunder.width=0", "deblunder.width=0.1"},
		"want STAGE.SETTING=VALUE":               {"deblunder", "threshold=0.1"},
		"want STAGE.SETTING=VALUE, such as a.x=": {"a,b", "a.threshold"},
		"syzygy is not named":                    {"deblunder", "syzygy.paths=x"},
		"a name is missing":                      {"deblunder,"},
	} {
		if c, err := parseStages(stage.KindRescorer, words[0], words[1:]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, %v, want %q", words, c, err, want)
		}
	}
	for _, kind := range []stage.Kind{stage.KindSampler, stage.KindExporter} {
		if c, err := parseStages(kind, "a,b", nil); err == nil || !strings.Contains(err.Error(), "want one name") {
			t.Errorf("two of kind %s: %v, %v", kind, c, err)
		}
	}
}

// TestDescribeStage holds what describe says of each type of setting.
func TestDescribeStage(t *testing.T) {
	d := describeStage(foundStage{&stage.Definition{Kind: stage.KindSampler, Name: "a", Version: "1.2.3", Doc: "does it", Concurrency: 2,
		Capabilities: []stage.Capability{stage.Deterministic},
		Settings: []stage.Setting{
			{Name: "x", Doc: "how much", Default: "0.5", Min: 0, Max: 1},
			{Name: "n", Doc: "how many", Default: "3", Min: 1, Max: 9, Whole: true},
			{Name: "by", Doc: "what", Default: "kld", Text: true, Choices: []string{"kld", "q_diff"}},
			{Name: "path", Doc: "where", Text: true},
		}}, nil})
	var sb strings.Builder
	if err := d.write(&sb); err != nil {
		t.Fatal(err)
	}
	want := `sampler a 1.2.3: does it
program       built in
capabilities  deterministic
calls         2 at a time
  x: how much
      a number from 0 to 1; default 0.5
  n: how many
      a whole number from 1 to 9; default 3
  by: what
      one of kld, q_diff; default kld
  path: where
      a text; default none
`
	if sb.String() != want {
		t.Errorf("%s\nwant\n%s", &sb, want)
	}
	var types []string
	for _, s := range d.Settings {
		types = append(types, s.Type)
		if bounds := s.Min != nil && s.Max != nil; bounds != (s.Type != "text") {
			t.Errorf("setting %s of type %s: bounds %v", s.Name, s.Type, bounds)
		}
	}
	if got := strings.Join(types, " "); got != "number integer text text" {
		t.Errorf("types %s", got)
	}
}

// TestReport holds what plugins test prints, and its exit codes.
func TestReport(t *testing.T) {
	var none, some failures
	none.note(host.Event{State: host.Started})
	none.note(host.Event{State: host.Stopped})
	for i := range maxShown + 2 {
		some.note(host.Event{State: host.Failed, Detail: fmt.Sprintf("died %d", i)})
	}
	good := []plugintest.Result{{Name: "a"}, {Name: "b", Skipped: "why"}, none.result()}
	bad := append(good, plugintest.Result{Name: "c", Err: errors.New("not so")}, some.result())
	for _, c := range []struct {
		results []plugintest.Result
		json    bool
		code    int
		want    string
	}{
		{good, false, exitOK, "ok    a\nskip  b: why\nok    its process never had to be replaced\n"},
		{good[:2], true, exitOK, `{"check":"a","ok":true}` + "\n" + `{"check":"b","ok":true,"skipped":"why"}` + "\n"},
		{bad[3:], true, exitCorrupt, `{"check":"c","ok":false,"error":"not so"}` + "\n" +
			`{"check":"its process never had to be replaced","ok":false,"error":"failed: died 0\nfailed: died 1\nfailed: died 2\nfailed: died 3\nfailed: died 4\nand 2 times more"}` + "\n"},
	} {
		var out bytes.Buffer
		command := &cobra.Command{}
		command.SetOut(&out)
		o := pluginsTestOptions{json: c.json}
		err := o.report(command, "x", c.results)
		if exitCode(err) != c.code || out.String() != c.want {
			t.Errorf("exit code %d (%v), want %d:\n%s\nwant\n%s", exitCode(err), err, c.code, &out, c.want)
		}
	}
}
