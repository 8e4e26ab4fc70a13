package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
	"github.com/chessbrain/chessbrain/run/train"
)

func newNew() *cobra.Command {
	s := &session{plan: setup.DryRun, begins: true}
	var model string
	c := &cobra.Command{
		Use:     "new RUN [--recipe NAME | --config FILE] [--net FILE]",
		Aliases: []string{"init"},
		Short:   "Make a run of a recipe with its first checkpoint, and do not train yet",
		Long: `Makes the run directory of a recipe or a configuration with its first checkpoint: from weights of Leela's
(--lczero-model), of a file (--net FILE), or seeded ones. The run keeps its settings: chessbrain train RUN
goes on from it, or chessbrain run RUN where the configuration has a section loop. A run that is there already is
refused. A net of Leela's decides the architecture.`,
		Example: `  chessbrain new runs/b --recipe speedrun && chessbrain train runs/b`,
		Args:    oneRun,
		RunE: func(c *cobra.Command, _ []string) error {
			s.plain = model != ""
			out := io.Discard
			if s.dryRun {
				out = c.OutOrStdout()
			}
			if err := s.resolve(c); err != nil {
				return err
			}
			if s.effective.Origin("loop") != "default" {
				return newLoop(c, s, model, out)
			}
			begin, err := beginning(s.effective, model)
			if err != nil {
				return err
			}
			if err := dryInit(s, begin, out); err != nil || s.dryRun {
				return err
			}
			path, err := initRun(c, s.effective, s.command, begin)
			if err != nil {
				return err
			}
			return reportRun(c, s.effective, path)
		},
	}
	s.bind(c, config.TrainGroups)
	c.Flags().StringVar(&model, "lczero-model", "", "begin with the weights of this net of Leela's (.pb.gz)")
	bindJSON(c, "print one JSON object")
	return c
}

// newLoop makes the run of a closed loop: its first cycle makes its first checkpoint.
func newLoop(c *cobra.Command, s *session, model string, out io.Writer) error {
	if model != "" {
		return usagef("--lczero-model: a closed loop begins with --net %s", model)
	}
	settled, err := setup.NewCycle(s.effective)
	if err != nil {
		return err
	}
	training := setup.TrainingOf(settled.Effective)
	if err := training.CheckNew(nil, ""); err != nil {
		return err
	}
	if err := cycle.DryRun(s.effective, "", out); err != nil || s.dryRun {
		return err
	}
	if err := setup.CheckDevices(settled.Effective, true); err != nil {
		return err
	}
	dir, info, err := train.Begin(train.Options{Training: training, Command: s.command, Version: version(), Log: warnings(c)})
	if err != nil {
		return err
	}
	r := struct {
		Run string `json:"run"`
		Net string `json:"net"`
	}{dir.Root, info.Arch}
	return answerf(c, r, "%s: a closed loop, net %s\nchessbrain run %s goes on from it\n", r.Run, r.Net, r.Run)
}

// dryInit refuses what cannot be made, and a dry run says what would be.
func dryInit(s *session, b train.Beginning, out io.Writer) error {
	if err := setup.TrainingOf(s.effective).CheckNew(b.Net, b.From); err != nil {
		return err
	}
	if err := s.check(out); err != nil || b.Net == nil {
		return err
	}
	_, err := fmt.Fprintf(out, "begins with %s, a net %s\n", b.From, b.Net.Arch)
	return err
}

// beginning is the net that the flags name, if any.
func beginning(e *config.Effective, model string) (train.Beginning, error) {
	if model == "" {
		return train.Beginning{}, nil
	}
	if e.Config.GetModel().GetNet() != "" {
		return train.Beginning{}, usagef("--lczero-model and --net: keep one of the two")
	}
	path, _, _ := config.NetPath(model)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return train.Beginning{}, usagef("--lczero-model %s: name a file of Leela's (.pb.gz)", model)
	}
	n, err := tools.ReadNet(model, tools.NetForms)
	if err != nil {
		return train.Beginning{}, pathError(fmt.Errorf("--lczero-model: %w", err))
	}
	return train.Beginning{Net: n.Net, From: n.Name}, nil
}

// initRun makes the run; its warnings go to standard error.
func initRun(c *cobra.Command, e *config.Effective, command string, b train.Beginning) (string, error) {
	if err := setup.CheckDevices(e, true); err != nil {
		return "", err
	}
	return train.Init(c.Context(), train.Options{
		Training: setup.TrainingOf(e), Command: command, Version: version(), Log: warnings(c),
	}, b)
}

// reportRun says what was made.
func reportRun(c *cobra.Command, e *config.Effective, path string) error {
	checkpoint, err := setup.FindCheckpoint(path)
	if err != nil {
		return err
	}
	net, err := setup.CheckpointNet(checkpoint)
	if err != nil {
		return err
	}
	root := e.Config.GetRunDir()
	r := struct {
		Run        string `json:"run"`
		Checkpoint string `json:"checkpoint"`
		Step       int64  `json:"step"`
		Net        string `json:"net"`
		NetID      string `json:"net_id"`
	}{root, path, checkpoint.Manifest.Step, net.Arch.String(), net.ID()}
	return answerf(c, r, "%s: step %d, net %s\ncheckpoint %s\nchessbrain train %s goes on from it\n", root, r.Step, r.Net, path, root)
}

// migrateOptions are the flags of migrate-checkpoint.
type migrateOptions struct {
	from, to, config string
	rules            tools.Rules
	moments          string // keep or drop
	resetSteps       bool
	dryRun           bool
}

func newMigrateCheckpoint() *cobra.Command {
	var o migrateOptions
	c := &cobra.Command{
		Use:   "migrate-checkpoint --from CHECKPOINT --to RUN --config NEW",
		Short: "Carry the weights of a checkpoint over into another architecture",
		Long: `Makes a new run, of the configuration NEW, whose first checkpoint has the weights of an old one: parameters
of one name and shape are carried over, with the optimizer's moments where the optimizer is the same. The old run is
only read; its games stay there (training from them: --source dir --source-dir OLD/selfplay). Everything else needs
a rule, and all that lack one are listed at once. Names are those that chessbrain describe shows. A * stands for any
part of a name; in TO for what it stood for in FROM.`,
		Example: `  # two blocks more: 64x6 -> 64x8
  chessbrain migrate-checkpoint --from runs/a --to runs/b --config b.textproto --init 'tower.6.*' --init 'tower.7.*'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "a checkpoint, a run, or RUN@STEP")
	f.StringVar(&o.to, "to", "", "directory of the new run")
	f.StringVar(&o.config, "config", "", "configuration of the new run")
	f.StringArrayVar(&o.rules.Rename, "rename", nil, "FROM=TO: a parameter has another name now; may come several times")
	f.StringArrayVar(&o.rules.Init, "init", nil, "parameters to draw anew, new ones or of another shape; may come several times")
	f.StringArrayVar(&o.rules.Drop, "drop", nil, "parameters of the old net to leave behind; may come several times")
	f.StringVar(&o.moments, "moments", "keep", "the optimizer's moments: keep (where shape and optimizer agree) or drop")
	f.BoolVar(&o.resetSteps, "reset-steps", false, "begin at step 0: learning-rate rules and warm-up start over")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would go where, and all problems; write nothing")
	bindJSON(c, "print the plan as one JSON object")
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
	tellEach(c, "%s", old.Checkpoint.Warnings)
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
		if wantsJSON(c) {
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
	if wantsJSON(c) {
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
	return reportRun(c, e, path)
}
