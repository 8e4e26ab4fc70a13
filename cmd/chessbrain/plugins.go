package main

import (
	"errors"
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
	"github.com/chessbrain/chessbrain/run"
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

// builtins returns the definitions of the built-in stages.
func builtins() []*stage.Definition {
	return slices.Concat(rescore.Definitions(), sample.Definitions(), export.Definitions())
}

// openStage returns the stages that an argument means, a name or the path of a
// program, and their host, which the caller closes.
func (f *pluginFlags) openStage(c *cobra.Command, kind stage.Kind, arg string) (h *host.Host, found []host.Found, err error) {
	name, path := arg, ""
	if strings.ContainsRune(filepath.ToSlash(arg), '/') {
		if name, err = host.ProgramName(arg); err != nil {
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
	found, err = h.FindStages(c.Context(), kind, name, path)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return h, found, nil
}

// stageArg takes one argument: a name or a path.
func stageArg(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: want one name of a stage or path of a program, got %d arguments", c.CommandPath(), len(args))
	}
	return nil
}

// settingsOf reads the flag --set of commands about one stage.
func settingsOf(set []string) (map[string]string, error) {
	all, err := stage.ParseSettings(set)
	if err != nil {
		return nil, usagef("--set %w", err)
	}
	return all, nil
}
