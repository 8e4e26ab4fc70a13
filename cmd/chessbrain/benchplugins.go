package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/bench"
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// benchPluginOptions are the flags of bench plugins.
type benchPluginOptions struct {
	seconds float64
	program string
	set     []string
}

func newBenchPlugins() *cobra.Command {
	var o benchPluginOptions
	c := &cobra.Command{
		Use: "plugins", Short: "Measure a stream of games through a rescorer in another process", Args: noArgs,
		Long: `Streams games of random legal play through a rescorer that runs as a plugin: started, supervised and called
as in a run. Without --program it is this program itself with the rescorer identity, which returns every game as it
is.

Rates are of wall time, medians of 5 windows; below them the CPU time of both processes, from start to end.`,
		RunE: stoppable(o.run),
	}
	f := c.Flags()
	f.Float64Var(&o.seconds, "seconds", 4, "of the measurement, about")
	f.StringVar(&o.program, "program", "", "a rescorer's program (default: this one, with the rescorer identity)")
	f.StringArrayVar(&o.set, "set", nil, "a setting of the program, SETTING=VALUE; may come several times")
	bindJSON(c, "one JSON object")
	return c
}

// pluginSpeed is the result of bench plugins.
type pluginSpeed struct {
	Rescorer string `json:"rescorer"`
	Version  string `json:"version"`
	Program  string `json:"program"` // "" = this one
	bench.PluginResult
}

func (o *benchPluginOptions) run(c *cobra.Command, _ []string) (err error) {
	settings, err := settingsOf(o.set)
	if err != nil {
		return err
	}
	if !(o.seconds > 0) || o.seconds > 3600 {
		return usagef("--seconds %g: want more than 0 and at most 3600", o.seconds)
	}
	path := o.program
	options := host.Options{Log: warnings(c)}
	if path == "" {
		if path, err = selfAsProgram(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(path))) }()
		options.Env = []string{serveVar + "=" + filepath.Base(path)}
	}
	name, err := host.ProgramName(path)
	if err != nil {
		return usagef("--program: %w", err)
	}
	options.Dirs = []string{filepath.Dir(path)}
	speed := pluginSpeed{Program: o.program}
	speed.PluginResult, err = bench.Plugins(c.Context(), bench.PluginOptions{
		Duration: time.Duration(o.seconds * float64(time.Second)), CallBytes: api.BatchBytes, Size: api.GameSize,
		Open: func(ctx context.Context) (bench.GameRescorer, func() error, error) {
			return speed.open(ctx, options, stage.Choice{Name: name, Settings: settings})
		},
	})
	if err != nil {
		return asUsage(err)
	}
	return answer(c, &speed)
}

// selfAsProgram makes a directory with a copy of this program under the name of the
// rescorer that it serves, and returns the copy's path. A link would not do: hosts
// refuse a program that others can write, as this one may be where it was built.
func selfAsProgram() (path string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "chessbrain-bench-")
	if err != nil {
		return "", fmt.Errorf("make a directory of plugins: %w", err)
	}
	path = filepath.Join(dir, "identity")
	program, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(path, program, 0o700)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("make this program a plugin: %w", err), os.RemoveAll(dir))
	}
	return path, nil
}

// open starts the plugin in a host of its own.
func (s *pluginSpeed) open(ctx context.Context, options host.Options, choice stage.Choice) (bench.GameRescorer, func() error, error) {
	h, err := host.New(options)
	if err != nil {
		return nil, nil, err
	}
	d, _, err := h.Definition(ctx, stage.KindRescorer, choice.Name)
	var r stage.Rescorer
	if err == nil {
		r, err = h.Rescorer(ctx, choice)
	}
	batch, ok := r.(stage.BatchRescorer)
	if err == nil && !ok {
		err = fmt.Errorf("rescorer %s takes one game at a time", d.Name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	s.Rescorer, s.Version = d.Name, d.Version
	return batch, h.Close, nil
}

// Write prints the result for a person.
func (s *pluginSpeed) Write(w io.Writer) error {
	fmt.Fprintf(w, "rescorer %s %s as a plugin (%s)", s.Rescorer, s.Version, cmp.Or(s.Program, "this program"))
	return s.PluginResult.Write(w)
}

// serveVar is the environment variable that makes this program the plugin of the
// built-in rescorer that it names, so that bench plugins needs no other program.
const serveVar = "CHESSBRAIN_SERVE_RESCORER"

// servePlugin serves the rescorer that the environment names and returns true
// when the host is gone; false where none is named.
func servePlugin() bool {
	name := os.Getenv(serveVar)
	if name == "" {
		return false
	}
	d, err := stage.Find(rescore.Definitions(), stage.KindRescorer, name)
	if err != nil {
		fmt.Fprintf(os.Stderr, "chessbrain: %s: %v\n", serveVar, err)
		os.Exit(exitUsage)
	}
	plugins.Serve(d)
	return true
}
