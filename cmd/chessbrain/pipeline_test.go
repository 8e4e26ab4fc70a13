package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/run/pipeline"
)

// TestPipelineFlags holds the names and defaults that users of the pipeline that
// this one follows know, and its other names for steps.
func TestPipelineFlags(t *testing.T) {
	c := find(t, "pipeline")
	for name, want := range map[string]string{
		"num-games": "100000", "num-workers": "3", "temperature": "1.5", "batch-size": "128", "cache-size": "60000", "visits": "117",
		"gumbel-candidates": "0", "base-data-dir": "data", "existing-shuffled-data-dir": "", "selfplay-dir": "", "chunk-size": "10000",
		"position-selector": "all", "max-workers-process": "6", "num-buckets-shuffle": "100", "max-samples": "35000000",
		"skip-files": "[0,0,200]", "data-dirs": "[]", "shard-ranges": "[]", "results-dir": "checkpoints/pipeline", "no-cleanup": "false",
		"net": "", "step": "-1", "dry-run": "false", "resume": "", "new": "false", "json": "false",
	} {
		if f := c.Flags().Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s: %+v, want the default %s", name, f, want)
		}
	}
	for other, ours := range otherNames {
		if f := c.Flags().Lookup(other); f == nil || f.Name != ours {
			t.Errorf("--%s is %+v, want --%s", other, f, ours)
		}
	}
	for _, step := range pipeline.AllSteps() {
		sub := find(t, "pipeline "+step)
		if c.Flags().Lookup("no-"+step) == nil || c.Flags().Lookup("run-"+step) == nil || sub.Flags().Lookup("no-"+step) != nil {
			t.Errorf("flags of step %s", step)
		}
	}
	if text := c.Long; !strings.Contains(text, "--search-widths 13 8") || !strings.Contains(text, "117 visits") {
		t.Error("the help does not say what became of the search widths")
	}
	for _, name := range strings.Fields("grid results-dir data samples epochs seed config override-config dry-run json") {
		if find(t, "pipeline sweep").Flags().Lookup(name) == nil {
			t.Errorf("sweep has no flag --%s", name)
		}
	}
}

// TestPipelineLists holds that flags of several values take them apart by spaces,
// as in --skip-files 0 0 200, and nothing else does.
func TestPipelineLists(t *testing.T) {
	parse := func(args ...string) (*pipelineFlags, error) {
		o := &pipelineFlags{on: map[string]*bool{}, off: map[string]*bool{}}
		c := newPipeline()
		c.ResetFlags()
		o.bind(c)
		if err := c.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		return o, o.lists(c, c.Flags().Args())
	}
	o, err := parse("--skip-files", "0", "0", "200", "--data-dirs", "a", "b/c", "--shard-ranges", "0-9", "all", "5-")
	if err != nil || len(o.Skip) != 3 || o.Skip[2] != 200 || strings.Join(o.DataDirs, " ") != "a b/c" || strings.Join(o.Ranges, " ") != "0-9 all 5-" {
		t.Errorf("%v %v %v, %v", o.Skip, o.DataDirs, o.Ranges, err)
	}
	for _, args := range [][]string{{"moon"}, {"--skip-files", "1", "moon"}, {"--data-dirs", "a", "7"}, {"--data-dirs", "a", "1-2"}} {
		if _, err := parse(args...); !as[usageError](err) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestPipelineResume holds that a run goes on with the flags it was begun with,
// but for those that are given again.
func TestPipelineResume(t *testing.T) {
	begun := find(t, "pipeline")
	if err := begun.ParseFlags([]string{"--num-games", "7", "--data-dirs", "a,b", "--data-dirs", "c", "--no-train"}); err != nil {
		t.Fatal(err)
	}
	settings := (&pipelineFlags{}).settings(begun)
	again := find(t, "pipeline")
	if err := again.ParseFlags([]string{"--num-games", "8"}); err != nil {
		t.Fatal(err)
	}
	if err := (&pipelineFlags{}).take(again, &pipeline.State{Settings: settings}); err != nil {
		t.Fatal(err)
	}
	dirs := again.Flags().Lookup("data-dirs").Value.(pflag.SliceValue).GetSlice()
	if strings.Join(dirs, " ") != "a,b c" || again.Flags().Lookup("no-train").Value.String() != "true" {
		t.Errorf("data-dirs %q, no-train %s", dirs, again.Flags().Lookup("no-train").Value)
	}
	why := (&pipeline.State{Settings: settings}).Differs((&pipelineFlags{}).settings(again))
	if why != "--num-games was 7, now 8" {
		t.Errorf("differs: %q", why)
	}
}
