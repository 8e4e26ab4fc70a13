package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
)

// pluginVar makes the test binary a plugin; see pluginMain.
const pluginVar = "CHESSBRAIN_LOOP_TEST_PLUGIN"

// putPlugin puts a program into a directory: the test binary as the plugin that
// mode says.
func putPlugin(t testing.TB, dir, name, mode string) {
	t.Helper()
	binary, err := filepath.Abs(os.Args[0])
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "#!/bin/sh\n%s='%s %s' exec '%s'\n", pluginVar, name, mode, binary), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// putNamed is putPlugin into a directory that the processes of the test search: a
// run directory's own is searched by nobody who does not name it.
func putNamed(t testing.TB, dir, name, mode string) {
	t.Helper()
	putPlugin(t, dir, name, mode)
	t.Setenv(host.DirEnv, dir)
}

// pluginMain serves the stage of a name in a mode:
//
//	mark     rescorer: gives all rows of a game the weight of its setting
//	dies     rescorer: exits whenever it is asked
//	dies-at  rescorer mark, but game 3 is its death
//	draws    sampler: draws as uniform does, under another name
//	stops    sampler: exits when it is asked for rows
//	breaks   exporter: exits whenever it is asked
//	dead     exits before it says a word
func pluginMain(arg string) {
	name, mode, _ := strings.Cut(arg, " ")
	d := &stage.Definition{Name: name, Version: "0.1", Doc: "is for tests", Capabilities: []stage.Capability{stage.Deterministic}}
	switch mode {
	case "mark", "dies", "dies-at":
		d.Kind = stage.KindRescorer
		d.Settings = []stage.Setting{{Name: "weight", Doc: "of all rows", Min: 0.01, Max: 1, Default: "0.5"}}
		d.NewRescorer = func(v stage.Values) (stage.Rescorer, error) {
			return marker{name, mode, float32(v.Number("weight"))}, nil
		}
	case "draws", "stops":
		d.Kind = stage.KindSampler
		d.NewSampler = func(stage.Values) (stage.Sampler, error) { return &drawer{sample.NewUniform(), name, mode}, nil }
	case "breaks":
		d.Kind = stage.KindExporter
		d.NewExporter = func(stage.Values) (stage.Exporter, error) { return breaker(name), nil }
	default:
		os.Exit(9)
	}
	plugins.Serve(d)
}

type marker struct {
	name, mode string
	weight     float32
}

func (m marker) Name() string { return m.name }
func (m marker) Rescore(_ context.Context, g *record.Game) (*record.Game, error) {
	if m.mode == "dies" || m.mode == "dies-at" && g.Ordinal == 3 {
		os.Exit(7)
	}
	g = g.Clone()
	for i := range g.Plies {
		if g.Plies[i].Weight > 0 {
			g.Plies[i].Weight = m.weight
		}
	}
	return g, nil
}

// markOf returns the weight of all rows of a game; fails where they differ.
func markOf(t testing.TB, g *record.Game) float32 {
	t.Helper()
	mark := float32(0)
	for i := range g.Plies {
		switch w := g.Plies[i].Weight; {
		case w == 0 || w == mark:
		case mark == 0:
			mark = w
		default:
			t.Errorf("game %d has rows of weight %v and %v", g.Ordinal, mark, w)
		}
	}
	return mark
}

// marksBelow counts the games below a directory by the weight of their rows.
func marksBelow(t testing.TB, dir string) map[float32]int {
	t.Helper()
	marks := map[float32]int{}
	for _, g := range gamesOf(t, dir) {
		marks[markOf(t, g)]++
	}
	return marks
}

type drawer struct {
	stage.Sampler
	name, mode string
}

func (d *drawer) Name() string { return d.name }
func (d *drawer) Sample(ctx context.Context, draw stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	if d.mode == "stops" {
		os.Exit(7)
	}
	return d.Sampler.Sample(ctx, draw, dst)
}

type breaker string

func (b breaker) Name() string { return string(b) }
func (b breaker) Export(context.Context, *stage.Checkpoint, string) ([]string, error) {
	os.Exit(7)
	return nil, nil
}

// live is a training that runs beside the test.
type live struct {
	dir    string
	cancel context.CancelFunc
	done   chan struct{}

	summary *Summary // valid after done
	log     strings.Builder
	err     error

	mu       sync.Mutex
	changed  *sync.Cond
	episodes int64
	plugins  []*monitor.Plugin
	ended    bool
}

// startLive begins to train.
func startLive(t testing.TB, dir string, opt Options) *live {
	t.Helper()
	return startLiveWith(t, dir, func(ctx context.Context, l *live, events monitor.Sink) (err error) {
		opt.Command, opt.Version, opt.Log = "test", "test", runtest.LogTo(&l.log)
		opt.Readers = append(opt.Readers, events)
		l.summary, err = Train(ctx, opt)
		return err
	})
}

// startLiveWith runs a process that gives its events to a sink.
func startLiveWith(t testing.TB, dir string, run func(context.Context, *live, monitor.Sink) error) *live {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &live{dir: dir, cancel: cancel, done: make(chan struct{})}
	l.changed = sync.NewCond(&l.mu)
	events := monitor.SinkFunc(func(e monitor.Event) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch e := e.(type) {
		case *monitor.Episode:
			l.episodes = e.Episode
		case *monitor.SelfPlay:
			l.episodes = e.Games
		case *monitor.Plugin:
			l.plugins = append(l.plugins, e)
		}
		l.changed.Broadcast()
		return nil
	})
	go func() {
		defer close(l.done)
		l.err = run(ctx, l, events)
		l.mu.Lock()
		l.ended = true
		l.changed.Broadcast()
		l.mu.Unlock()
	}()
	t.Cleanup(func() { cancel(); <-l.done })
	return l
}

// more waits until so many further games were counted.
func (l *live) more(t testing.TB, games int64) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for until := l.episodes + games; l.episodes < until && !l.ended; {
		l.changed.Wait()
	}
	if l.ended {
		l.mu.Unlock()
		<-l.done
		l.mu.Lock()
		t.Fatalf("the run has ended: %v\n%s", l.err, l.log.String())
	}
}

// send gives a command over the control socket.
func (l *live) send(t testing.TB, m run.Message) (answer run.Message, err error) {
	t.Helper()
	return l.sendTo("trainer-main", m)
}

// sendTo gives a command to the process of a role.
func (l *live) sendTo(role string, m run.Message) (answer run.Message, err error) {
	owners, err := fsx.Owners(filepath.Join(l.dir, "locks", role))
	if err != nil {
		return answer, err
	}
	if len(owners) != 1 || owners[0].Socket == "" {
		return answer, fmt.Errorf("%s: no socket: %v", role, owners)
	}
	err = run.Send(context.Background(), owners[0].Socket, m, func(m run.Message) error { answer = m; return nil })
	return answer, err
}

// swap exchanges stages of a kind.
func (l *live) swap(t testing.TB, kind stage.Kind, stages ...run.SwapStage) error {
	t.Helper()
	answer, err := l.send(t, run.Swap{Kind: string(kind), Stages: stages}.Message())
	if err == nil && answer.Type != "ok" {
		err = fmt.Errorf("answer %s %s", answer.Type, answer.Payload)
	}
	return err
}

// stop ends the training as an interrupt does and returns what it came to.
func (l *live) stop(t testing.TB) (*Summary, string) {
	t.Helper()
	l.cancel()
	<-l.done
	if !errors.Is(l.err, run.ErrInterrupted) || l.summary == nil {
		t.Fatalf("%v\n%s", l.err, l.log.String())
	}
	return l.summary, l.log.String()
}

// states returns the states of the events about a plugin, numbers left out.
func (l *live) states(name string) (states []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.plugins {
		if e.Name == name && e.State != monitor.PluginRunning {
			states = append(states, e.State)
		}
	}
	return states
}

// numbers returns the last numbers of a plugin.
func (l *live) numbers(name string) (n monitor.PluginNumbers) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.plugins {
		if e.Name == name && e.State == monitor.PluginRunning {
			n = e.PluginNumbers
		}
	}
	return n
}
