package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestProducers: 0 is none beside a trainer wherever it stands, one a core has a word of its
// own, the stronger layer wins, and a process that only plays is not asked for no players.
func TestProducers(t *testing.T) {
	of := func(groups []Group, args ...string) *FlagSet {
		s := NewFlagSet(groups...)
		for _, arg := range args {
			name, value, _ := strings.Cut(arg, "=")
			if err := s.Lookup(name).Set(value); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	none := "give --producer-on-each-core for one a core, or a number from 1"
	for name, c := range map[string]struct {
		run, file string
		groups    []Group
		args      []string
		override  string
		env       string
		want      string // number and word, or a part of the error
	}{
		"a trainer's default":             {groups: TrainGroups, want: "0 false"},
		"a trainer's 0":                   {groups: TrainGroups, args: []string{"producer-workers=0"}, want: "0 false"},
		"a trainer's 0 of before":         {groups: TrainGroups, run: "selfplay { producer_workers: 0 }", want: "0 false"},
		"a player's 0 of before":          {groups: SelfPlayGroups, run: "selfplay { producer_workers: 0 }", want: "0 false"},
		"a loop's 0 in a file":            {groups: RunGroups, file: "selfplay { producer_workers: 0 }", want: "0 false"},
		"a word over the run's number":    {groups: TrainGroups, run: "selfplay { producer_workers: 8 }", args: []string{"producer-on-each-core=true"}, want: "0 true"},
		"a word off leaves the number":    {groups: TrainGroups, run: "selfplay { producer_workers: 8 }", args: []string{"producer-on-each-core=false"}, want: "8 false"},
		"a number over the file's word":   {groups: RunGroups, file: "selfplay { producer_on_each_core: true }", args: []string{"producer-workers=3"}, want: "3 false"},
		"0 over the run's word":           {groups: TrainGroups, run: "selfplay { producer_on_each_core: true }", args: []string{"producer-workers=0"}, want: "0 false"},
		"a file's number over the run":    {groups: TrainGroups, run: "selfplay { producer_on_each_core: true }", file: "selfplay { producer_workers: 2 }", want: "2 false"},
		"a file's word over the run":      {groups: TrainGroups, run: "selfplay { producer_workers: 2 }", file: "selfplay { producer_on_each_core: true }", want: "0 true"},
		"a word over the variable":        {groups: TrainGroups, env: "2", args: []string{"producer-on-each-core=true"}, want: "0 true"},
		"both in a file":                  {groups: TrainGroups, file: "selfplay { producer_workers: 2 producer_on_each_core: true }", want: "producer_workers: 2 stands beside it; leave one of the two away"},
		"both on the command line":        {groups: TrainGroups, args: []string{"producer-workers=2", "producer-on-each-core=true"}, want: "--producer-workers: --producer-on-each-core is given too"},
		"both overridden":                 {groups: TrainGroups, override: "selfplay.producer_workers=2,selfplay.producer_on_each_core=true", want: "stands beside it"},
		"a player is given none":          {groups: SelfPlayGroups, args: []string{"producer-workers=0"}, want: none},
		"a player's variable gives none":  {groups: SelfPlayGroups, env: "0", want: "environment variable PRODUCER_WORKERS: selfplay.producer_workers = 0: 0 is none beside a trainer"},
		"a loop is given none":            {groups: RunGroups, override: "selfplay.producer_workers=0", want: none},
		"deterministic with the word":     {groups: TrainGroups, args: []string{"deterministic=true", "producer-on-each-core=true"}, want: "deterministic allows no producer workers"},
		"deterministic over a file's":     {groups: TrainGroups, file: "selfplay { producer_on_each_core: true }", args: []string{"deterministic=true"}, want: "0 false"},
		"deterministic over a run's 8":    {groups: TrainGroups, run: "selfplay { producer_workers: 8 }", args: []string{"deterministic=true"}, want: "0 false"},
		"deterministic, and a player's 0": {groups: SelfPlayGroups, args: []string{"deterministic=true"}, want: "0 false"},
	} {
		in := Input{Flags: of(c.groups, c.args...), Env: env("PRODUCER_WORKERS", c.env)}
		if c.file != "" {
			in.File = mustParse(t, c.file)
		}
		if c.run != "" {
			in.OfRun = func(*Effective) (*File, error) { return Parse("runs/a/config.textproto", []byte(c.run)) }
		}
		if c.override != "" {
			in.Overrides = []string{c.override}
		}
		e, err := Resolve(in)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(e.Config.GetSelfplay().GetProducerWorkers(), e.Config.GetSelfplay().GetProducerOnEachCore())
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
