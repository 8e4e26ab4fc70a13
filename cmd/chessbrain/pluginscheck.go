package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/plugins/plugintest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// pluginsTestOptions are the flags of plugins test.
type pluginsTestOptions struct {
	pluginFlags
	kind    string
	set     []string
	seed    uint64
	timeout time.Duration
}

func newPluginsTest() *cobra.Command {
	var o pluginsTestOptions
	c := &cobra.Command{
		Use:   "test NAME | PATH",
		Short: "Hold a stage to what its kind promises",
		Long: `Runs the conformance suite on a built-in stage or a program, started as a run starts it: what it says of
itself, its settings, order, determinism, saved state, errors. A line for each check; the exit code is 3 where one
fails. PATH has a / in it.`,
		Example: "  chessbrain plugins test ./mine --set paths=/tb/345",
		Args:    stageArg,
		RunE:    stoppable(o.run),
	}
	o.bind(c)
	f := c.Flags()
	f.StringVar(&o.kind, "kind", "", "only that kind: rescorer, sampler or exporter")
	f.StringArrayVar(&o.set, "set", nil, "a setting of the stage, SETTING=VALUE; may come several times")
	f.Uint64Var(&o.seed, "seed", 1, "of the inputs")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "of all checks")
	bindJSON(c, "one JSON object a check")
	return c
}

func (o *pluginsTestOptions) run(c *cobra.Command, args []string) (err error) {
	kind, err := stage.ParseKind(o.kind)
	if err != nil {
		return usagef("--kind: %w", err)
	}
	settings, err := settingsOf(o.set)
	if err != nil {
		return err
	}
	if o.timeout <= 0 {
		return usagef("--timeout %v: want more than 0", o.timeout)
	}
	var failed plugintest.Failures
	o.notify = failed.Note
	h, found, err := o.openStage(c, kind, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if len(found) > 1 {
		return usagef("%s is a %s and a %s: say with --kind which is meant", args[0], found[0].Kind, found[1].Kind)
	}
	d := found[0].Definition
	if _, err := d.Values(settings); err != nil {
		return usagef("--set: %s %s: %w", d.Kind, d.Name, err)
	}
	ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
	defer cancel()
	results := plugintest.Check(ctx, plugintest.Hosted(h, d, settings), o.seed)
	if err := c.Context().Err(); err != nil {
		return err
	}
	if found[0].Program != nil {
		results = append(results, failed.Result())
	}
	return o.report(c, d.Name, results)
}

// report prints a line for each check.
func (o *pluginsTestOptions) report(c *cobra.Command, name string, results []plugintest.Result) error {
	failed := 0
	for _, r := range results {
		if r.Err != nil {
			failed++
		}
		if err := answerf(c, r, "%s\n", r); err != nil {
			return err
		}
	}
	if failed > 0 {
		return corruptf("%s fails %d of %d checks (inputs of --seed %d)", name, failed, len(results), o.seed)
	}
	return nil
}
