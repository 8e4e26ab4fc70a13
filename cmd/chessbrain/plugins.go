package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/plugintest"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newPlugins() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugins",
		Short: "List, describe, lock, verify, test and swap rescorers, samplers and exporters",
		Long: `Rescorers, samplers and exporters are built in, or programs in the directories of --plugin-dir and
$CHESSBRAIN_PLUGIN_DIR, which are used by the name of their file. The first program of a name wins, and a program
wins over a built-in stage. Files and directories that other users can change are refused. docs/PLUGINS.md says
more.`,
	}
	c.AddCommand(newPluginsList(), newPluginsDescribe(), newPluginsLock(), newPluginsVerify(), newPluginsTest(), newPluginsSwap())
	return c
}

// pluginFlags say where programs are looked for.
type pluginFlags struct {
	dirs []string
	run  string

	notify func(host.Event) // told of what happens to plugins; nil = nobody
	most   time.Duration    // for a plugin to start; 0 or more than 30 s = 30 s
}

// bindDirs registers --plugin-dir.
func (f *pluginFlags) bindDirs(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.dirs, "plugin-dir", nil, "directory of programs with stages; may be given several times")
}

// bind registers --plugin-dir and --run-dir.
func (f *pluginFlags) bind(c *cobra.Command) {
	f.bindDirs(c)
	c.Flags().StringVar(&f.run, "run-dir", "", "a run, whose "+setup.LockFile+" and time limits of plugins count")
}

// config returns how the run starts plugins, with the directories of the flags, and
// not those that the run's configuration names: see config.ResolveRun.
func (f *pluginFlags) config() (*config.Plugins, error) {
	var dirs []string
	for _, text := range f.dirs { // as train reads the flag
		dirs = append(dirs, filepath.SplitList(text)...)
	}
	for i, dir := range append(slices.Clone(dirs), f.run) {
		flag, remedy := "plugin-dir", "name a directory of programs"
		if i == len(dirs) {
			flag, remedy = "run-dir", "name a run"
		}
		if info, err := os.Stat(dir); dir != "" && err != nil {
			return nil, usagef("--%s: %w", flag, notThere(dir, err, remedy))
		} else if dir != "" && !info.IsDir() {
			return nil, usagef("--%s: %s is not a directory; %s", flag, dir, remedy)
		}
	}
	p := &config.Plugins{}
	if path := (run.Dir{Root: f.run}).ConfigFile(); f.run != "" {
		if _, err := os.Stat(path); err == nil { // a run that has begun
			e, err := config.ResolveRun(path)
			if err != nil {
				return nil, err
			}
			p = e.Config.GetPlugins()
		}
	}
	p.Dir = dirs
	p.OnFailure = nil // a command ends at a fault, whatever the run does
	return p, nil
}

// open returns the host of these plugins, which the caller closes.
func (f *pluginFlags) open(c *cobra.Command) (*host.Host, error) {
	p, err := f.config()
	if err != nil {
		return nil, err
	}
	o := setup.HostOptions(p, f.run, warnings(c))
	o.Notify = f.notify
	if f.most > 0 {
		o.StartTimeout = min(f.most, 30*time.Second)
	}
	return host.New(o)
}

// openStage returns the stages that an argument means, a name or the path of a
// program, and their host, which the caller closes.
func (f *pluginFlags) openStage(c *cobra.Command, kind stage.Kind, arg string) (h *host.Host, found []host.Found, err error) {
	name, path := arg, ""
	if strings.ContainsRune(filepath.ToSlash(arg), '/') {
		if name, err = host.ProgramName(arg); err != nil {
			return nil, nil, usageError{notThere(arg, err, "name a program, or a stage that chessbrain plugins list shows")}
		}
		path = filepath.Clean(arg)
		here := *f
		here.dirs = append([]string{filepath.Dir(path)}, f.dirs...) // the first directory wins
		f = &here
	}
	if h, err = f.open(c); err != nil {
		return nil, nil, err
	}
	found, err = h.FindStages(c.Context(), kind, name, path)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return h, found, nil
}

// stageArg takes one argument: a name or a path.
var stageArg = exactArgs(1, "want one name of a stage or path of a program, got %d arguments")

// stageError is that of a stage which flags choose: of the command line, if it is not a
// plugin's failing.
func stageError(flag string, err error) error {
	err = fmt.Errorf("--%s, --set: %w", flag, err)
	if as[*host.Error](err) {
		return err
	}
	return usageError{err}
}

// settingsOf reads the flag --set of commands about one stage.
func settingsOf(set []string) (map[string]string, error) {
	all, err := stage.ParseSettings(set)
	if err != nil {
		return nil, usagef("--set %w", err)
	}
	return all, nil
}

func newPluginsList() *cobra.Command {
	var f pluginFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List the built-in stages and the programs that are found",
		Long: `Lists the built-in stages with kind and version, and the programs that are found with their SHA-256 and how
they stand to the run's ` + setup.LockFile + `. No program is started: chessbrain plugins describe NAME starts it
and asks. The exit code is 4 where a program may not run.`,
		Example: "  chessbrain plugins list --run-dir runs/a --plugin-dir bin/plugins",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			h, err := f.open(c)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, h.Close()) }()
			var lock *host.Lock
			if f.run != "" {
				if lock, err = readLock(filepath.Join(f.run, setup.LockFile)); err != nil {
					return err
				}
			}
			lines, failed := h.List(lock)
			if exitCode(failed) == exitFailure {
				failed = codedError{failed, exitPlugin}
			}
			return errors.Join(answerLines(c, lines, host.WriteList), failed)
		},
	}
	f.bind(c)
	bindJSON(c, "one JSON object a line")
	return c
}

func newPluginsDescribe() *cobra.Command {
	var f pluginFlags
	var kind string
	c := &cobra.Command{
		Use:   "describe NAME | PATH",
		Short: "Show what a stage does, and its settings with defaults and ranges",
		Long: `Shows a stage's version, what it does and promises, and each of its settings with the default and what is
allowed. PATH is a program; it has a / in it, such as ./mine. Stages of different kinds may share a name: all of
them are shown.`,
		Args: stageArg, ValidArgsFunction: stageOrPath,
		RunE: func(c *cobra.Command, args []string) (err error) {
			k, err := stage.ParseKind(kind)
			if err != nil {
				return usagef("--kind: %w", err)
			}
			h, found, err := f.openStage(c, k, args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, h.Close()) }()
			for _, s := range found {
				if err := answer(c, s.Describe()); err != nil {
					return err
				}
			}
			return nil
		},
	}
	f.bind(c)
	c.Flags().StringVar(&kind, "kind", "", "only that kind: rescorer, sampler or exporter")
	completeFlag(c, "kind", stageKinds)
	bindJSON(c, "one JSON object a stage")
	return c
}

func newPluginsSwap() *cobra.Command {
	var process uint64
	var set []string
	var dryRun bool
	c := &cobra.Command{
		Use:   "swap RUN KIND NAME[,NAME]",
		Short: "Replace a stage of a running train or selfplay",
		Long: `Replaces the rescorers, the sampler or the exporter of the trainer that works on the run directory RUN.
KIND is rescorer, sampler or exporter; NAME is a built-in stage or a program of the plugin directories that the
process was started with. Rescorers work in the order in which they are named; identity alone changes nothing. Where
the new stage does not start, the old one stays and the exit code is 1. --dry-run tells beforehand.`,
		Example: "  chessbrain plugins swap runs/a rescorer deblunder,mine --set deblunder.threshold=0.2",
		Args:    exactArgs(3, "want a run directory, a kind and names, got %d arguments"), ValidArgsFunction: swapArgs,
		RunE: func(c *cobra.Command, args []string) error {
			kind, err := stage.ParseKind(args[1])
			if err != nil || kind == "" {
				return usagef("kind %q: want rescorer, sampler or exporter", args[1])
			}
			chosen, err := stage.ParseChoices(kind, args[2], set)
			if err != nil {
				return usageError{err}
			}
			swap := run.Swap{Kind: string(kind), DryRun: dryRun}
			for _, one := range chosen {
				swap.Stages = append(swap.Stages, run.SwapStage(one))
			}
			return control(c, args[0], process, swap.Message())
		},
	}
	c.Flags().Uint64Var(&process, "process", 0, "swap the rescorers of this playing process (chessbrain selfplay --process N) and not of the trainer")
	c.Flags().StringArrayVar(&set, "set", nil, "a setting, STAGE.SETTING=VALUE; may come several times")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "only try: the process starts the new stages and ends them again")
	return c
}

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
		Args:    stageArg, ValidArgsFunction: stageOrPath,
		RunE: stoppable(o.run),
	}
	o.bind(c)
	f := c.Flags()
	f.StringVar(&o.kind, "kind", "", "only that kind: rescorer, sampler or exporter")
	completeFlag(c, "kind", stageKinds)
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
	o.notify, o.most = failed.Note, o.timeout
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
	failed, skipped := 0, 0
	for _, r := range results {
		switch {
		case r.Err != nil:
			failed++
		case r.Skipped != "":
			skipped++
		}
		if err := answerf(c, r, "%s\n", r); err != nil {
			return err
		}
	}
	if failed > 0 {
		return corruptf("%s fails %d of %d checks (inputs of --seed %d)", name, failed, len(results), o.seed)
	}
	if wantsJSON(c) {
		return nil
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s: %d checks passed, %d skipped (inputs of --seed %d)\n", name, len(results)-skipped, skipped, o.seed)
	return err
}
