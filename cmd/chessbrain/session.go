package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/configs"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/watch"
)

// session is what commands that work on a run have in common: the effective
// configuration, the log and the progress display.
type session struct {
	command   string
	effective *config.Effective
	flags     *config.FlagSet
	file      string   // --config
	recipe    string   // --recipe
	stretch   float64  // --stretch
	overrides []string // --override-config
	dryRun    bool
	stays     bool                                     // does not become the GPU program
	loop      bool                                     // the run is a closed loop's
	begins    bool                                     // the run is a new one
	plain     bool                                     // no recipe where none is named
	runDir    string                                   // default of --run-dir; "" = the schema's
	plan      func(*config.Effective, io.Writer) error // checks all inputs and says what would be done
	profiles  string                                   // --profile-dir
	logName   string                                   // of the log's file in the run; "" = one of its own a start

	rereads bool             // reads --config again at SIGHUP
	reload  <-chan os.Signal // then; see reloads

	progress *monitor.Progress
	terminal terminal // which progress writes to
	log      *slog.Logger
	readers  []monitor.Sink // of the run's events, beside its files
	traces   *monitor.Traces
	closers  []func() error // of what open opened
}

// bind registers the configuration's flags of the groups, --config and
// --dry-run.
func (s *session) bind(c *cobra.Command, groups []config.Group) {
	s.flags = config.NewFlagSet(groups...)
	if s.runDir != "" {
		s.flags.Preset("run-dir", s.runDir)
	}
	bindConfig(c, s.flags)
	c.Flags().StringVar(&s.file, "config", "", "configuration file (textproto; chessbrain recipes show example has every key)")
	c.Flags().StringVar(&s.recipe, "recipe", "", "a configuration inside the program, instead of --config (chessbrain recipes)")
	completeFlag(c, "recipe", recipeNames())
	c.Flags().Float64Var(&s.stretch, "stretch", 1, "make the run of --recipe or --config so many times as long: games, steps, schedules and window; 0.15 of speedrun takes ten minutes")
	c.Flags().BoolVar(&s.dryRun, "dry-run", false, "check everything, say what would be done, create nothing")
	c.Flags().StringArrayVar(&s.overrides, "override-config", nil, "fields of the configuration, path=value[,path=value...]; wins over everything else")
	c.Flags().StringVar(&s.profiles, "profile-dir", "", "write CPU and heap profiles and a trace of this process there")
}

// bindConfig registers flags of the configuration. Words of an enum are completed.
func bindConfig(c *cobra.Command, flags *config.FlagSet) {
	for _, v := range flags.Values() {
		f := c.Flags().VarPF(v, v.Flag().Name, "", v.Flag().Usage)
		f.NoOptDefVal = v.NoOptDefVal()
		if words := strings.Split(v.Type(), "|"); len(words) > 1 {
			completeFlag(c, f.Name, words)
		}
		if strings.HasSuffix(f.Name, "-dir") {
			c.MarkFlagDirname(f.Name)
		}
	}
}

// keptLogs is how many logs of a command a run keeps.
const keptLogs = 100

// oneRun takes the run directory as an argument instead of --run-dir.
func oneRun(c *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return usagef("%s takes one run directory at most, got %q", c.CommandPath(), args)
	case len(args) == 0:
		return nil
	case c.Flags().Changed("run-dir"):
		return usagef("%s: %s and --run-dir: keep one of the two", c.CommandPath(), args[0])
	}
	return c.Flags().Set("run-dir", args[0])
}

// takeNames lets flags of a command be given by other names, too.
func takeNames(c *cobra.Command, others map[string]string) {
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(others[name], name))
	})
}

// resolve merges flags, environment, file, what the run keeps, and defaults.
func (s *session) resolve(c *cobra.Command) error {
	s.command = strings.Join(append([]string{c.CommandPath()}, os.Args[min(2, len(os.Args)):]...), " ")
	in := config.Input{Path: s.file, Env: os.LookupEnv, Flags: s.flags, Overrides: s.overrides}
	if c.Flags().Changed("stretch") {
		in.Stretch = &s.stretch
	}
	switch {
	case s.begins:
	case s.loop:
		in.OfRun = setup.OfLoop
	case s.trains():
		in.OfRun = setup.OfTraining
	default:
		in.OfRun = setup.OfRun
	}
	if s.trains() && !s.loop && !s.plain {
		in.Otherwise = otherwise
	}
	var err error
	if s.recipe != "" {
		if s.file != "" {
			return usagef("--recipe and --config: keep one of the two; chessbrain recipes show %s is a beginning of a file", s.recipe)
		}
		if in.File, err = recipe(s.recipe); err != nil {
			return err
		}
		for _, r := range configs.Recipes() {
			if r.Name == s.recipe && (r.Command == "run") != s.loop && s.trains() && !s.begins && given(c, "source") == "" {
				return usagef("recipe %[1]s is for chessbrain %[2]s RUN --recipe %[1]s; chessbrain recipes says what each is for", r.Name, r.Command)
			}
		}
	}
	s.effective, err = config.Resolve(in)
	if err != nil || s.stays || !s.computes() {
		return err
	}
	return handOver(s.effective, s.trains())
}

// computes says whether the command plays or trains, trains whether it trains.
func (s *session) computes() bool { return s.flags.Lookup("device") != nil }
func (s *session) trains() bool   { return s.flags.Lookup("devices") != nil }

// check refuses what cannot work and tells w what would be done. It creates
// nothing.
func (s *session) check(w io.Writer) error {
	if s.computes() {
		if err := setup.CheckDevices(s.effective, s.trains()); err != nil {
			return err
		}
	}
	return s.plan(s.effective, w)
}

// open checks everything and then starts the progress display, the metrics
// endpoint and the log. On an error everything is closed again.
func (s *session) open(c *cobra.Command) (err error) {
	if err := s.check(io.Discard); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	cfg := s.effective.Config
	s.terminal = terminal{w: os.Stderr}
	columns, _ := monitor.TerminalSize(os.Stderr)
	s.progress = monitor.NewProgress(monitor.ProgressOptions{
		Out: &s.terminal, Terminal: monitor.IsTerminal(os.Stderr), Width: columns, Quiet: cfg.GetLog().GetQuiet(),
		Every: time.Duration(cfg.GetLog().GetEverySeconds() * float64(time.Second)),
	})
	s.closers = append(s.closers, s.progress.Close)
	address, err := s.serveMetrics()
	if err != nil {
		return err
	}
	page, err := s.serveWeb()
	if err != nil {
		return err
	}
	if s.profiles != "" {
		stop, err := monitor.Profiles(s.profiles)
		if err != nil {
			return pathError(err)
		}
		s.closers = append(s.closers, stop)
	}
	file, logs := cfg.GetLogFilename(), c.Name()
	if name := cfg.GetTraining().GetTrainingName(); s.trains() && name != run.FirstTraining {
		logs += "-" + name
	}
	if file == "" {
		if s.logName == "" {
			s.logName = fmt.Sprintf("%s_%s.log", logs, time.Now().Format("20060102T150405.000000")) // processes may start in the same second
		}
		file = filepath.Join(run.Dir{Root: cfg.GetRunDir()}.Logs(), s.logName)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.GetLog().GetLevel().String())); err != nil {
		return err
	}
	var closer io.Closer
	s.log, closer, err = monitor.NewLogger(monitor.LogOptions{
		Level: level, JSON: cfg.GetLog().GetFormat() == config.Log_JSON, File: file,
		MaxBytes: int64(cfg.GetLog().GetMaxMib()) << 20, Keep: int(cfg.GetLog().GetKeep()),
		Terminal: s.progress, Quiet: cfg.GetLog().GetQuiet(),
		OnError: []slog.Attr{slog.String("config", string(config.Marshal(cfg)))},
	})
	if err != nil {
		return pathError(fmt.Errorf("open log %s: %w; name another place with --run-dir or --log-file", file, err))
	}
	s.closers = append(s.closers, closer.Close)
	if cfg.GetLogFilename() == "" { // one more each start, also where a service starts it for ever
		err := monitor.RemoveOldLogs(filepath.Join(filepath.Dir(file), logs+"_*.log"), keptLogs)
		if err != nil {
			s.log.Warn("old logs could not be removed", "error", err)
		}
	}
	host, _ := os.Hostname() // for people
	s.traces = monitor.OpenTraces(cfg.GetMetrics().GetOtlp(), version(), fmt.Sprintf("%s-%s-%d", host, c.Name(), os.Getpid()), s.log)
	s.closers = append(s.closers, s.traces.Close)
	s.log.Info("settings", "from", s.effective.Layers())
	if setup.Machine.Left() {
		s.log.Warn("a GPU failed: this start computes on the CPU, the next one takes the GPU again")
	}
	if address != "" {
		s.log.Info("metrics", "address", address)
	}
	if page != "" {
		s.log.Info("watch this run in a browser", "address", page)
	}
	return s.track()
}

// perform does a command's work: it resolves the configuration unless the command has,
// and in a dry run says what would be done; else it opens the session, works until the
// end or the first interrupt, and prints the summary, beside an error, too.
func perform[S interface {
	comparable
	printed
}](c *cobra.Command, s *session, work func(context.Context) (S, error)) (err error) {
	if s.effective == nil {
		if err := s.resolve(c); err != nil {
			return err
		}
	}
	if s.dryRun {
		return s.check(c.OutOrStdout())
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	if err := s.open(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.rereads {
		var stop func()
		s.reload, stop = reloads(s.file)
		defer stop()
	}
	summary, err := work(ctx)
	if s.trains() && ctx.Err() == nil && errors.Is(err, driver.ErrFault) && s.effective.Config.GetTraining().GetOnGpuFault() == config.Training_CPU {
		err = gpuFault{err}
	}
	if summary == *new(S) {
		return err
	}
	return errors.Join(err, s.progress.Close(), answer(c, summary))
}

// serveMetrics opens the Prometheus endpoint where one is asked for and returns
// its address.
func (s *session) serveMetrics() (address string, err error) {
	m := s.effective.Config.GetMetrics()
	if m.GetAddr() == "" {
		return "", nil
	}
	token, err := s.token()
	if err != nil {
		return "", err
	}
	_, info, err := setup.Layout(s.effective.Config)
	if err != nil {
		return "", err
	}
	prom := monitor.NewProm(info.Job)
	server, err := monitor.Serve(monitor.ServerOptions{Addr: m.GetAddr(), Public: m.GetPublic(), Token: token}, prom.Handler())
	if err != nil {
		return "", s.effective.Errorf("metrics.addr", "", "%v", err)
	}
	s.closers = append(s.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return server.Close(ctx)
	})
	s.readers = append(s.readers, prom)
	return "http://" + server.Addr.String() + "/metrics", nil
}

// token is what readers of the metrics and of the page must have; "" = nothing.
func (s *session) token() (string, error) {
	token, err := readToken(s.effective.Config.GetMetrics().GetTokenFile())
	if err != nil {
		err = s.effective.Errorf("metrics.token_file", "name a readable file", "%v", err)
	}
	return token, err
}

// serveWeb opens the page for browsers where one is asked for and returns its address.
func (s *session) serveWeb() (address string, err error) {
	c := s.effective.Config
	m := c.GetMetrics()
	if m.GetWeb() == "" {
		return "", nil
	}
	token, err := s.token()
	if err != nil {
		return "", err
	}
	dir, _, err := setup.Layout(c)
	if err != nil {
		return "", err
	}
	source := watch.New(watch.Options{Dir: dir, Players: c, Version: version(), Orders: m.GetWebControl()})
	address, end, err := serveWeb(monitor.ServerOptions{Addr: m.GetWeb(), Public: m.GetPublic(), Token: token}, source)
	if err != nil {
		return "", s.effective.Errorf("metrics.web", "", "%v", err)
	}
	s.closers = append(s.closers, end)
	return address, nil
}

// terminal is a standard error that may break: a run goes on without it.
type terminal struct {
	w   io.Writer
	err error // the first; valid once the display is closed
}

func (t *terminal) Write(b []byte) (int, error) {
	if _, err := t.w.Write(b); t.err == nil {
		t.err = err
	}
	return len(b), nil
}

// close ends what open and serveMetrics opened.
func (s *session) close() (err error) {
	if s.progress != nil && s.log != nil {
		err = s.progress.Close()
		if s.terminal.err != nil {
			s.log.Warn("the terminal could not be written; the run went on without it", "error", s.terminal.err)
		}
	}
	for _, end := range slices.Backward(s.closers) {
		err = errors.Join(err, end())
	}
	s.closers = nil
	return err
}

// reloads delivers a signal for each SIGHUP, which asks to read the configuration
// file again. Without a file there is nothing to read: SIGHUP then ends the
// process as it ends others.
func reloads(config string) (signals <-chan os.Signal, stop func()) {
	if config == "" {
		return nil, func() {}
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}
