package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/record"
)

const (
	pluginWindows = 5
	pluginCallers = 6 // more calls under way than a host keeps in flight to a plugin, so that it never waits for games
)

// GameRescorer is what Plugins measures: a rescorer behind a process boundary.
type GameRescorer interface {
	// RescoreBatch returns one game for each of games, in their order.
	RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error)
}

// PluginOptions says what Plugins measures.
type PluginOptions struct {
	Duration  time.Duration          // wall time of all windows, about
	CallBytes int                    // of the games of a call, at most, but for a single game that is larger
	Size      func(*record.Game) int // a game's bytes on the wire

	// Open starts the plugin; stop ends it and returns when its process has ended.
	Open func(context.Context) (r GameRescorer, stop func() error, err error)
}

// PluginResult is the speed of a stream of games through a rescorer. Rates are of
// wall time, medians of windows after a first one that does not count; a row is a
// position, bytes are those of the games on their way to the plugin.
type PluginResult struct {
	GamesPerCall     float64 `json:"games_per_call"`
	BytesPerRow      float64 `json:"bytes_per_row"`
	BytesPerSecond   float64 `json:"bytes_s"`
	RowsPerSecond    float64 `json:"rows_s"`
	SlowestWindow    float64 `json:"rows_s_low"`
	FastestWindow    float64 `json:"rows_s_high"`
	GamesPerSecond   float64 `json:"games_s"`
	LatencySeconds   float64 `json:"latency_s"` // mean time from a call to its answer, with all callers at work
	Callers          int     `json:"callers"`
	Rows             int     `json:"rows"`         // from start to end, what follows too
	WallSeconds      float64 `json:"wall_s"`       // the start of the process is in it
	HostCPUSeconds   float64 `json:"host_cpu_s"`   // of this process
	PluginCPUSeconds float64 `json:"plugin_cpu_s"` // of the plugin's whole life
}

// Plugins streams games of random legal play through a rescorer in another
// process, and back, from several goroutines at once. An answer that is not about
// the games that were sent is an error.
func Plugins(ctx context.Context, o PluginOptions) (r PluginResult, err error) {
	if err := checkDuration(o.Duration); err != nil {
		return r, err
	}
	run := &pluginRun{least: max(o.Duration/pluginWindows, 1), batches: pluginBatches(&o)}
	began, host, child := time.Now(), busyTime(), childTime()
	rescorer, stop, err := o.Open(ctx)
	if err != nil {
		return r, err
	}
	run.rescorer, run.began = rescorer, time.Now()
	if err := errors.Join(callAgain(ctx, len(run.batches), run.call, run.count), stop()); err != nil {
		return r, err
	}
	r = run.result()
	r.WallSeconds = perSecond(time.Since(began))
	r.HostCPUSeconds, r.PluginCPUSeconds = perSecond(busyTime()-host), perSecond(childTime()-child)
	return r, nil
}

// pluginBatches makes the games of each caller.
func pluginBatches(o *PluginOptions) []pluginBatch {
	batches, ordinal := make([]pluginBatch, pluginCallers), uint64(0)
	for i := range batches {
		for b := &batches[i]; ; ordinal++ {
			g := loaderGame(ordinal)
			size := o.Size(g)
			if len(b.games) > 0 && b.bytes+size > o.CallBytes {
				break
			}
			b.games, b.bytes, b.rows = append(b.games, g), b.bytes+size, b.rows+len(g.Plies)
		}
	}
	return batches
}

// pluginBatch is what one caller sends again and again.
type pluginBatch struct {
	games       []*record.Game
	rows, bytes int
}

// pluginCall is an answered call, pluginWindow some of them.
type (
	pluginCall struct {
		batch *pluginBatch
		took  time.Duration
	}
	pluginWindow struct {
		calls, games, rows, bytes int
		took, wall                time.Duration
	}
)

func (w *pluginWindow) add(c pluginCall) {
	w.calls, w.games, w.rows, w.bytes = w.calls+1, w.games+len(c.batch.games), w.rows+c.batch.rows, w.bytes+c.batch.bytes
	w.took += c.took
}

// pluginRun is a measurement under way.
type pluginRun struct {
	rescorer GameRescorer
	least    time.Duration // wall time of a window
	batches  []pluginBatch

	all, window pluginWindow // of all calls, and the one under way
	began       time.Time    // of window
	windows     []pluginWindow
}

// call sends a caller's batch.
func (r *pluginRun) call(ctx context.Context, caller int) (pluginCall, error) {
	b, start := &r.batches[caller], time.Now()
	out, err := r.rescorer.RescoreBatch(ctx, b.games)
	if err != nil {
		return pluginCall{}, err
	}
	if len(out) != len(b.games) {
		return pluginCall{}, fmt.Errorf("%d games came back for %d", len(out), len(b.games))
	}
	for i, g := range b.games {
		if out[i].ID != g.ID || len(out[i].Plies) != len(g.Plies) {
			return pluginCall{}, fmt.Errorf("game %x came back for game %x", out[i].ID, g.ID)
		}
	}
	return pluginCall{b, time.Since(start)}, nil
}

// count sorts an answered call into a window. The first window does not count.
func (r *pluginRun) count(c pluginCall) (enough bool) {
	r.all.add(c)
	r.window.add(c)
	if r.window.wall = time.Since(r.began); r.window.wall >= r.least && len(r.windows) <= pluginWindows {
		r.windows = append(r.windows, r.window)
		r.began, r.window = time.Now(), pluginWindow{}
	}
	return len(r.windows) > pluginWindows
}

// result sums the windows up.
func (r *pluginRun) result() PluginResult {
	var rates []float64
	var counted pluginWindow
	for _, w := range r.windows[1:] {
		rates = append(rates, float64(w.rows)/perSecond(w.wall))
		counted.took, counted.calls = counted.took+w.took, counted.calls+w.calls
	}
	p := PluginResult{Callers: len(r.batches), Rows: r.all.rows}
	p.SlowestWindow, p.RowsPerSecond, p.FastestWindow = spread(rates)
	p.GamesPerCall = float64(r.all.games) / float64(r.all.calls)
	p.BytesPerRow = float64(r.all.bytes) / float64(r.all.rows)
	p.BytesPerSecond = p.RowsPerSecond * p.BytesPerRow
	p.GamesPerSecond = p.RowsPerSecond * float64(r.all.games) / float64(r.all.rows)
	p.LatencySeconds = perSecond(counted.took) / float64(counted.calls)
	return p
}
