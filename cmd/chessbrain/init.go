package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
	"github.com/chessbrain/chessbrain/run/train"
)

func newInit() *cobra.Command {
	s := &session{plan: setup.DryRun}
	var model string
	var asJSON bool
	c := &cobra.Command{
		Use:   "init --run-dir RUN [--config FILE] [--lczero-model NET.pb.gz | --net FILE]",
		Short: "Make a run directory with a first checkpoint, and do not train yet",
		Long: `Makes the run directory of a configuration with its first checkpoint: from weights
of Leela's (--lczero-model), of a file (--net FILE.safetensors), or seeded ones. chessbrain
train with the same --config and --run-dir goes on from it. All flags are those of train. A
run that is there already is refused.

A net of Leela's decides the architecture: the configuration says the same, or nothing. It
is kept in the run as initial.safetensors.`,
		Example: `  chessbrain init --config run.textproto --run-dir runs/a --seed 3
  chessbrain init --run-dir runs/b --lczero-model se32x2.pb.gz && chessbrain train --run-dir runs/b`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := s.resolve(c); err != nil {
				return err
			}
			begin, err := beginning(s.effective, model)
			if err != nil {
				return err
			}
			if s.dryRun {
				return dryInit(c, s, begin)
			}
			path, err := initRun(c, s.effective, s.command, begin)
			if err != nil {
				return err
			}
			return reportRun(c, s.effective, path, asJSON)
		},
	}
	s.bind(c, config.TrainGroups)
	c.Flags().StringVar(&model, "lczero-model", "", "begin with the weights of this net of Leela's (.pb.gz)")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// dryInit says what would be made.
func dryInit(c *cobra.Command, s *session, b train.Beginning) error {
	if err := setup.TrainingOf(s.effective).CheckNew(b.Net, b.From); err != nil {
		return err
	}
	if err := s.check(c.OutOrStdout()); err != nil || b.Net == nil {
		return err
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "begins with %s, a net %s\n", b.From, b.Net.Arch)
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
	if info, err := os.Stat(model); err != nil || info.IsDir() {
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
	log := slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	return train.Init(c.Context(), train.Options{Training: setup.TrainingOf(e), Command: command, Version: version(), Log: log}, b)
}

// reportRun says what was made.
func reportRun(c *cobra.Command, e *config.Effective, path string, asJSON bool) error {
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
	return answerf(c, asJSON, r, "%s: step %d, net %s\ncheckpoint %s\nchessbrain train with the same --config and --run-dir %s goes on from it\n",
		root, r.Step, r.Net, path, root)
}
