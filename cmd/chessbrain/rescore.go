package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/rescore/files"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// rescoreOptions are the flags of rescore.
type rescoreOptions struct {
	plugins   pluginFlags
	out       string
	rescorers string
	set       []string
	form      lc0.Form
	reanalyse reanalyseOptions
	keep      bool
	dryRun    bool
}

func newRescore() *cobra.Command {
	var o rescoreOptions
	c := &cobra.Command{
		Use:   "rescore IN... --out DIR [--net NET] [--rescorer LIST]",
		Short: "Rescore games or Leela's chunks into another directory, or search them again",
		Long: `Rescores chunks of games (*.games) and Leela's training chunks (*.gz, and *.tar of them; versions 3 to 7).
IN is a file or a directory, whose sub-directories are read too; DIR gets a file of the same kind under the same
name for each. Nothing is written over. What is damaged is named and left out, and the exit code is 3.

With --net a net searches the positions again. Policies, values and visits of its searches are written in the place
of the old ones, as self-play writes them, but without noise at the root. Positions without a search that are not
trained on stay as they are. A position that is not trained on gets no more visits than it had. Neither workers nor
a stop change the outcome. docs/DATA.md says when this pays.

The rescorers work in the order in which they are named; beside the built-in ones they are programs of --plugin-dir
(chessbrain plugins list). Built in:
` + rescore.Help(),
		Example: `  chessbrain rescore runs/a/selfplay --out rescored --rescorer syzygy,deblunder --set syzygy.paths=/tb/345
  chessbrain rescore runs/a/selfplay --out reanalysed --net builtin --visits 100`,
		Args: someArgs("name *.games, *.gz or *.tar files, or directories of them"),
		RunE: o.run,
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "directory for the rescored files")
	f.StringVar(&o.rescorers, "rescorer", "", "rescorers, separated by commas: "+strings.Join(rescore.Names(), ", ")+", or programs")
	o.plugins.bindDirs(c)
	f.StringArrayVar(&o.set, "set", nil, "a setting, STAGE.SETTING=VALUE; may come several times")
	o.reanalyse.bind(c)
	f.Uint32Var(&o.form.InputFormat, "format", 0, "input format of Leela's chunks, 1 to 5, 132 or 133; 0 = as it was")
	f.Uint32Var(&o.form.Version, "version", 0, "version of Leela's chunks, 6 or 7; 0 = as it was, at least 6")
	f.BoolVar(&o.keep, "keep", false, "leave files as they are that the directory holds already, to go on after a stop")
	f.BoolVar(&o.dryRun, "dry-run", false, "check rescorers and inputs, print what would be done, write nothing")
	bindJSON(c, "print one JSON object")
	return c
}

// check validates the flags and returns which rescorers they choose.
func (o *rescoreOptions) check(c *cobra.Command) ([]stage.Choice, error) {
	if err := o.reanalyse.check(c); err != nil {
		return nil, err
	}
	switch {
	case o.out == "":
		return nil, usagef("--out: name a directory for the rescored files")
	case o.rescorers == "" && o.reanalyse.net == "":
		return nil, usagef("--rescorer: name at least one of %s, or a net with --net", strings.Join(rescore.Names(), ", "))
	case o.form.Version != 0 && o.form.Version != 6 && o.form.Version != 7:
		return nil, usagef("--version %d: want 6, 7, or 0 for that of each chunk", o.form.Version)
	case o.form.InputFormat != 0 && !slices.Contains(lc0.InputFormats(), o.form.InputFormat):
		return nil, usagef("--format %d: want one of %v, or 0 for that of each chunk", o.form.InputFormat, lc0.InputFormats())
	}
	if o.rescorers == "" {
		if len(o.set) > 0 {
			return nil, usagef("--set %s: name the stage with --rescorer", o.set[0])
		}
		return nil, nil
	}
	chosen, err := stage.ParseChoices(stage.KindRescorer, o.rescorers, o.set)
	if err != nil {
		return nil, usagef("--rescorer, --set: %w", err)
	}
	return chosen, nil
}

// chain makes the rescorers.
func (o *rescoreOptions) chain(ctx context.Context, h *host.Host, chosen []stage.Choice) (rescore.Chain, error) {
	var chain rescore.Chain
	open := h.Rescorer
	if o.dryRun { // which starts no program
		open = host.Look{Host: h}.Rescorer
	}
	for _, one := range chosen {
		r, err := open(ctx, one)
		if err != nil {
			return nil, stageError("rescorer", err)
		}
		chain = append(chain, r)
	}
	return chain, nil
}

func (o *rescoreOptions) run(c *cobra.Command, inputs []string) (err error) {
	chosen, err := o.check(c)
	if err != nil {
		return err
	}
	h, err := o.plugins.open(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	ctx, stop := interruptible(c.Context())
	defer stop()
	chain, err := o.chain(ctx, h, chosen)
	if err != nil {
		return err
	}
	jobs, err := files.Plan(inputs, o.out)
	if err != nil {
		return usageError{err}
	}
	again, err := o.reanalyse.open(ctx, c)
	if err != nil {
		return err
	}
	defer closeAfter(&err, again)
	run := &files.Run{FS: fsx.OS, Rescorer: again.before(chain), Form: o.form, Keep: o.keep}
	report := files.Summary{Rescorer: run.Rescorer.Name(), Search: again.summary(), Report: &run.Report}
	if o.dryRun {
		report.Plan = append(report.Plan, jobs...)
		return answer(c, &report)
	}
	for i, j := range jobs {
		if err = run.Do(ctx, j); err != nil {
			if ctx.Err() != nil {
				err = interruptedf("rescoring interrupted after %d of %d files, which are whole; the same command with --keep goes on", i, len(jobs))
			}
			break
		}
		report.Search = again.summary() // of whole files: what else was searched is not written
		again.tell(c, i+1, len(jobs))
	}
	if errors.Is(err, files.ErrExists) {
		return usageError{err}
	}
	if broken := chain.Err(); broken != nil {
		run.Report.Damage = append(run.Report.Damage, broken)
	}
	for _, d := range run.Report.Damage {
		report.Damage = append(report.Damage, d.Error())
	}
	err = errors.Join(err, answer(c, &report))
	if n := len(report.Damage); err == nil && n > 0 {
		return corruptf("%d damaged parts of the input were left out; see the report", n)
	}
	return err
}
