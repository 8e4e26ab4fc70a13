package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run/setup"
)

func newPlugins() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugins",
		Short: "List, describe, lock, verify, test and swap rescorers, samplers and exporters",
		Long: `Rescorers, samplers and exporters are built in, or programs in a directory of
plugins, which are used by the name of their file. Directories are those of
--plugin-dir, then those of $CHESSBRAIN_PLUGIN_DIR; the first program of a name wins,
and a program wins over a built-in stage of the same kind and name, with a warning.
Nothing in a run directory is used by itself. Files and directories that other users
can change are refused. docs/PLUGINS.md says how to write a plugin.`,
	}
	c.AddCommand(newPluginsList(), newPluginsDescribe(), newPluginsLock(), newPluginsVerify(), newPluginsTest(), newPluginsSwap())
	return c
}

// pluginFlags say where programs are looked for.
type pluginFlags struct {
	dirs []string
	run  string

	notify func(host.Event) // told of what happens to plugins; nil = nobody
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
	for _, dir := range append(slices.Clone(dirs), f.run) {
		if info, err := os.Stat(dir); dir != "" && err != nil {
			return nil, usageError{err}
		} else if dir != "" && !info.IsDir() {
			return nil, usagef("%s is not a directory", dir)
		}
	}
	p := &config.Plugins{}
	if path := filepath.Join(f.run, runConfig); f.run != "" {
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
	log := pluginLog(c)
	if f.notify == nil {
		return setup.NewHost(p, f.run, log)
	}
	o := host.Options{Builtin: builtins(), Dirs: host.Dirs(p.GetDir()), Log: log, Notify: f.notify}
	if f.run != "" {
		o.LockFiles = []string{filepath.Join(f.run, setup.LockFile)}
	}
	return host.New(o)
}

// pluginLog writes what hosts and plugins log from warnings on to stderr.
func pluginLog(c *cobra.Command) *slog.Logger {
	return slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// runConfig is the configuration in a run directory.
const runConfig = "config.textproto"

// builtins returns the definitions of the built-in stages.
func builtins() []*stage.Definition {
	return slices.Concat(rescore.Definitions(), sample.Definitions(), export.Definitions())
}

// foundStage is a stage that can be chosen.
type foundStage struct {
	*stage.Definition
	program *host.Program // nil = built in
}

// findStages returns the stages of a name, at most one of a kind; path says which
// program is meant, "" = whichever is found. kind "" = any.
func findStages(ctx context.Context, h *host.Host, kind stage.Kind, name, path string) ([]foundStage, error) {
	programs, err := h.Programs()
	if err != nil {
		return nil, err
	}
	var found []foundStage
	for _, p := range programs {
		if p.Name != name || path != "" && p.Path != path {
			continue
		}
		d, err := h.Describe(ctx, p)
		if err != nil {
			return nil, err
		}
		found = append(found, foundStage{d, &p})
	}
	if path != "" && len(found) == 0 {
		return nil, usagef("%s is no program: want an executable file that is not hidden, the only one of its name, or a directory with an executable file plugin in it", path)
	}
	for _, d := range builtins() {
		hidden := slices.ContainsFunc(found, func(f foundStage) bool { return f.Kind == d.Kind })
		if d.Name == name && path == "" && !hidden {
			found = append(found, foundStage{d, nil})
		}
	}
	found = slices.DeleteFunc(found, func(f foundStage) bool { return kind != "" && f.Kind != kind })
	if len(found) == 0 {
		return nil, unknownStage(kind, name, programs)
	}
	return found, nil
}

// unknownStage says what there is in place of a stage that is not.
func unknownStage(kind stage.Kind, name string, programs []host.Program) error {
	var there []string
	for _, d := range builtins() {
		if kind == "" || d.Kind == kind {
			there = append(there, d.Name)
		}
	}
	for _, p := range programs {
		there = append(there, p.Name+" ("+p.Path+")")
	}
	what := string(kind)
	if kind == "" {
		what = "stage"
	}
	return usagef("unknown %s %q; there are: %s; name a directory of programs with --plugin-dir, or a program by its path, such as ./mine",
		what, name, strings.Join(there, ", "))
}

// openStage returns the stages that an argument means, a name or the path of a
// program, and their host, which the caller closes.
func (f *pluginFlags) openStage(c *cobra.Command, kind stage.Kind, arg string) (h *host.Host, found []foundStage, err error) {
	name, path := arg, ""
	if strings.ContainsRune(filepath.ToSlash(arg), '/') {
		if name, err = programName(arg); err != nil {
			return nil, nil, usageError{err}
		}
		path = filepath.Clean(arg)
		here := *f
		here.dirs = append([]string{filepath.Dir(path)}, f.dirs...) // the first directory wins
		f = &here
	}
	if h, err = f.open(c); err != nil {
		return nil, nil, err
	}
	found, err = findStages(c.Context(), h, kind, name, path)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return h, found, nil
}

// programName is the name of the program at a path: that of the directory, or of
// the file without extension.
func programName(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	base := filepath.Base(path)
	if info.IsDir() {
		return base, nil
	}
	return strings.TrimSuffix(base, filepath.Ext(base)), nil
}

// stageArg takes one argument: a name or a path.
func stageArg(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: want one name of a stage or path of a program, got %d arguments", c.CommandPath(), len(args))
	}
	return nil
}

// kindOf reads the name of a kind; "" is any.
func kindOf(text string) (stage.Kind, error) {
	kinds := []stage.Kind{stage.KindRescorer, stage.KindSampler, stage.KindExporter}
	if k := stage.Kind(text); text == "" || slices.Contains(kinds, k) {
		return k, nil
	}
	return "", fmt.Errorf("kind %q: want rescorer, sampler or exporter", text)
}

// oneStageSettings reads the flag --set of commands about one stage.
func oneStageSettings(set []string) (map[string]string, error) {
	all := map[string]string{}
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if _, twice := all[name]; !ok || twice {
			return nil, usagef("--set %q: want SETTING=VALUE, each setting once", s)
		}
		all[name] = value
	}
	return all, nil
}
