package setup

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// PluginMonitor is what a process does about its plugins beside using them: it keeps
// the games that killed one, and makes events of what happens to them. Safe for
// concurrent use once root, process, job and log are set.
type PluginMonitor struct {
	Root    string // the run directory
	Process string // name of the process, as in the games' directory
	Job     string
	Log     *slog.Logger

	mu      sync.Mutex // guards the rest
	bus     *monitor.Bus
	waiting []*monitor.Plugin // until there is a bus

	keeping sync.Mutex // one quarantine at a time
}

// Options are a host's options with the monitor behind them.
func (d *PluginMonitor) Options(c *config.Plugins) host.Options {
	o := HostOptions(c, d.Root, d.Log)
	o.Quarantine = d.keep
	o.Notify = func(e host.Event) {
		d.publish(&monitor.Plugin{Name: e.Name, Kind: string(e.Kind), State: e.State, Detail: e.Detail})
	}
	return o
}

// warnAside names programs in plugins/ of the run directory where nobody named that
// directory: earlier versions ran them, and a run that relied on it goes on with the
// built-in stages of their names.
func warnAside(runDir string, dirs []string, log *slog.Logger) {
	aside := run.Dir{Root: runDir}.Plugins()
	info, err := os.Stat(aside)
	if err != nil || !info.IsDir() {
		return
	}
	named := slices.ContainsFunc(dirs, func(dir string) bool {
		other, err := os.Stat(dir)
		return err == nil && os.SameFile(info, other)
	})
	if !named {
		cmp.Or(log, slog.Default()).Warn("programs in a run directory are not used unless you name their directory", "dir", aside, "remedy", "--plugin-dir "+aside)
	}
}

// quarantine is where a process keeps games that killed a plugin.
func (d *PluginMonitor) quarantine() string { return run.Dir{Root: d.Root}.Quarantine(d.Process) }

// keep writes games that killed a plugin into a chunk of their own. nil means
// that they are on stable storage.
func (d *PluginMonitor) keep(kind stage.Kind, name, reason string, games []*record.Game) error {
	if len(games) == 0 {
		return nil
	}
	d.keeping.Lock()
	defer d.keeping.Unlock()
	w := replay.NewWriter(fsx.OS, d.quarantine(), replay.WriterOptions{NetID: games[0].NetID, RunID: d.Job})
	var err error
	for _, g := range games {
		err = errors.Join(err, w.Append(g))
	}
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		return fmt.Errorf("keep games that killed %s %s: %w", kind, name, err)
	}
	d.Log.Error("games killed a plugin; copies of them are kept for a look", "kind", string(kind), "plugin", name, "games", len(games),
		"reason", reason, "dir", d.quarantine())
	return nil
}

// publish hands an event to the bus, at once or when there is one.
func (d *PluginMonitor) publish(e *monitor.Plugin) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bus == nil {
		d.waiting = append(d.waiting, e)
		return
	}
	d.bus.Publish(e)
}

// Open lets events go to the bus.
func (d *PluginMonitor) Open(bus *monitor.Bus) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bus = bus
	for _, e := range d.waiting {
		bus.Publish(e)
	}
	d.waiting = nil
}

// PluginState is what a program did, on a status page.
type PluginState struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	monitor.PluginNumbers
}

// Page returns what a status page says of the stages.
func (s *Stages) Page() (stages []string, programs []PluginState) {
	for _, i := range s.Infos() {
		stages = append(stages, i.String())
	}
	for _, e := range pluginStates(s.AllHosts()) {
		programs = append(programs, PluginState{Kind: e.Kind, Name: e.Name, PluginNumbers: e.PluginNumbers})
	}
	return stages, programs
}

// ReportEvery is how often a process reports its state.
func ReportEvery(c *config.Config) time.Duration {
	return max(time.Duration(c.GetLog().GetEverySeconds()*float64(time.Second)), time.Second)
}

// Report makes events of what the programs did so far.
func (d *PluginMonitor) Report(hosts []*host.Host) {
	for _, e := range pluginStates(hosts) {
		d.publish(e)
	}
}

// pluginStates says what programs did since the process uses them, by kind and
// name. Built-in stages have nothing to say.
func pluginStates(hosts []*host.Host) []*monitor.Plugin {
	var all []*monitor.Plugin
	for _, h := range hosts {
		for _, s := range h.Stats() {
			all = append(all, StateOf(&s))
		}
	}
	slices.SortStableFunc(all, func(a, b *monitor.Plugin) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// StateOf is what one program did, as an event has it.
func StateOf(s *host.Stats) *monitor.Plugin {
	n := monitor.PluginNumbers{Version: s.Version, PID: int64(s.PID), Calls: int64(s.Calls), Games: int64(s.Games), Rows: int64(s.Rows),
		Bytes: int64(s.Bytes), Seconds: monitor.Number(s.Seconds), Restarts: int64(s.Restarts), Quarantined: int64(s.Quarantined)}
	if s.Seconds > 0 {
		n.RowsPerSecond = monitor.Number(float64(s.Rows) / s.Seconds)
	}
	if s.Calls > 0 {
		n.MeanLatency = monitor.Number(s.Seconds / float64(s.Calls))
	}
	return &monitor.Plugin{Name: s.Name, Kind: string(s.Kind), State: monitor.PluginRunning, PluginNumbers: n}
}
