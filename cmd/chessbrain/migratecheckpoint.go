package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
	"github.com/chessbrain/chessbrain/run/train"
)

// migrateOptions are the flags of migrate-checkpoint.
type migrateOptions struct {
	from, to, config string
	rules            tools.Rules
	moments          string // keep or drop
	resetSteps       bool
	dryRun, json     bool
}

func newMigrateCheckpoint() *cobra.Command {
	var o migrateOptions
	c := &cobra.Command{
		Use:   "migrate-checkpoint --from CHECKPOINT --to RUN --config NEW",
		Short: "Carry the weights of a checkpoint over into another architecture",
		Long: `Makes a new run, of the configuration NEW, whose first checkpoint has the weights of
an old one: parameters of one name and shape are carried over, with the optimizer's
moments where the optimizer is the same. The old run is only read; its games, windows and
averaged weights stay there (training from them: --source dir --source-dir OLD/selfplay).

Everything else needs a rule, and all that lack one are listed at once:

  --rename FROM=TO   a parameter has another name now
  --init NAME        a parameter of the new net is drawn anew: new, or of another shape
  --drop NAME        a parameter of the old net is left behind

Names are those that chessbrain describe shows. A * stands for any part of a name; in TO
for what it stood for in FROM. --dry-run prints what would go where.`,
		Example: `  # two blocks more: 64x6 -> 64x8
  chessbrain migrate-checkpoint --from runs/a --to runs/b --config b.textproto --init 'tower.6.*' --init 'tower.7.*'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "a checkpoint, a run, or RUN@STEP")
	f.StringVar(&o.to, "to", "", "directory of the new run")
	f.StringVar(&o.config, "config", "", "configuration of the new run")
	f.StringArrayVar(&o.rules.Rename, "rename", nil, "FROM=TO; may come several times")
	f.StringArrayVar(&o.rules.Init, "init", nil, "parameters to draw anew; may come several times")
	f.StringArrayVar(&o.rules.Drop, "drop", nil, "parameters to leave behind; may come several times")
	f.StringVar(&o.moments, "moments", "keep", "the optimizer's moments: keep (where shape and optimizer agree) or drop")
	f.BoolVar(&o.resetSteps, "reset-steps", false, "begin at step 0: learning-rate rules and warm-up start over")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would go where, and all problems; write nothing")
	f.BoolVar(&o.json, "json", false, "print the plan as one JSON object")
	return c
}

func (o *migrateOptions) run(c *cobra.Command) error {
	switch {
	case o.from == "" || o.to == "" || o.config == "":
		return usagef("%s: give --from, --to and --config; see --help", c.CommandPath())
	case o.moments != "keep" && o.moments != "drop":
		return usagef("--moments %q: want keep or drop", o.moments)
	}
	old, err := tools.OpenRun(o.from, tools.SubjectOptions{Config: o.config})
	if err != nil {
		return pathError(err)
	}
	for _, w := range old.Checkpoint.Warnings {
		tell(c)("%s", w)
	}
	e := old.Effective
	e.Config.RunDir = &o.to
	if net := e.Config.GetModel().GetNet(); net != "" {
		return usagef("%s: model.net is %s; say the new architecture in model.arch, the weights come from --from", o.config, net)
	}
	fresh, err := setup.InitialNet(e, e.Config.GetSeed())
	if err != nil {
		return err
	}
	plan := tools.PlanMigration(old.Net.Arch, fresh.Arch, o.rules)
	if err := plan.Err(); err != nil {
		if o.json {
			return errors.Join(printJSON(c, plan), err)
		}
		return err
	}
	net, err := plan.Net(old.Net, fresh.Arch, e.Config.GetSeed())
	if err != nil {
		return err
	}
	optimizer := strings.ToLower(e.Config.GetTraining().GetOptimizer().String())
	state, dropped, err := plan.Continuation(old.Checkpoint, optimizer, o.moments == "keep")
	if err != nil {
		return err
	}
	if o.resetSteps {
		state.Steps, state.Samples = 0, 0
	}
	path := ""
	if !o.dryRun {
		if path, err = initRun(c, e, c.CommandPath(), train.Beginning{Net: net, From: old.Name, Continue: state}); err != nil {
			return err
		}
	}
	return o.report(c, plan, e, len(state.Moments), dropped, path)
}

// report prints the plan and what came of it.
func (o *migrateOptions) report(c *cobra.Command, plan *tools.Plan, e *config.Effective, moments, dropped int, path string) error {
	out := c.OutOrStdout()
	if o.json {
		return printJSON(c, struct {
			*tools.Plan
			Moments        int    `json:"moments"`
			DroppedMoments int    `json:"dropped_moments"`
			Checkpoint     string `json:"checkpoint,omitempty"`
		}{plan, moments, dropped, path})
	}
	fmt.Fprint(out, plan.Text(moments, dropped, o.dryRun))
	if path == "" {
		_, err := fmt.Fprintln(out, "dry run: nothing was written")
		return err
	}
	return reportRun(c, e, path, false)
}
