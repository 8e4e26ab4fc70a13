package bench

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/record"
)

// fakeRescorer answers in this process; failing makes its answers wrong.
type fakeRescorer struct {
	calls   atomic.Int64
	stopped bool
	failing func([]*record.Game) ([]*record.Game, error)
}

func (f *fakeRescorer) RescoreBatch(_ context.Context, games []*record.Game) ([]*record.Game, error) {
	f.calls.Add(1)
	if f.failing != nil {
		return f.failing(games)
	}
	return games, nil
}

// plugins measures f with a hundred bytes a ply.
func (f *fakeRescorer) plugins(ctx context.Context, callBytes int) (PluginResult, error) {
	return Plugins(ctx, PluginOptions{Duration: 1, CallBytes: callBytes, Size: func(g *record.Game) int { return 100 * len(g.Plies) },
		Open: func(context.Context) (GameRescorer, func() error, error) {
			return f, func() error { f.stopped = true; return nil }, nil
		}})
}

// Rates, bytes and rows of one result fit each other, and calls are as large as
// asked for.
func TestPlugins(t *testing.T) {
	f := &fakeRescorer{}
	r, err := f.plugins(t.Context(), 60_000)
	if err != nil || !f.stopped {
		t.Fatalf("stopped %v: %v", f.stopped, err)
	}
	if r.BytesPerRow != 100 || r.Callers != pluginCallers || r.BytesPerSecond != 100*r.RowsPerSecond {
		t.Errorf("%+v", r)
	}
	if most, least := 60_000./(100*minLoaderPlies), 60_000./(100*maxLoaderPlies)-1; r.GamesPerCall > most || r.GamesPerCall < least {
		t.Errorf("%v games a call, want %v to %v", r.GamesPerCall, least, most)
	}
	if !(0 < r.SlowestWindow && r.SlowestWindow <= r.RowsPerSecond && r.RowsPerSecond <= r.FastestWindow && r.LatencySeconds > 0) {
		t.Errorf("rates %+v", r)
	}
	if perGame := r.RowsPerSecond / r.GamesPerSecond; perGame < minLoaderPlies || perGame > maxLoaderPlies {
		t.Errorf("%v rows a game", perGame)
	}
	if n := int64(r.Rows); n < minLoaderPlies*f.calls.Load() || r.WallSeconds <= 0 {
		t.Errorf("%d rows in %d calls and %v s", n, f.calls.Load(), r.WallSeconds)
	}
	// A call of less than a game holds one.
	if r, err := f.plugins(t.Context(), 1); err != nil || r.GamesPerCall != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A plugin that fails, or answers about other games, ends the measurement, and is
// stopped.
func TestPluginsFailing(t *testing.T) {
	broken := errors.New("broken")
	for want, failing := range map[string]func([]*record.Game) ([]*record.Game, error){
		"broken":                 func([]*record.Game) ([]*record.Game, error) { return nil, broken },
		"0 games came back for ": func([]*record.Game) ([]*record.Game, error) { return nil, nil },
		" came back for game ": func(games []*record.Game) ([]*record.Game, error) {
			other := make([]*record.Game, len(games))
			for i := range games {
				other[i] = &record.Game{ID: record.GameID(1, 2, uint64(i)), Plies: games[i].Plies}
			}
			return other, nil
		},
	} {
		f := &fakeRescorer{failing: failing}
		if _, err := f.plugins(t.Context(), 1); err == nil || !strings.Contains(err.Error(), want) || !f.stopped {
			t.Errorf("error %v, want %q; stopped %v", err, want, f.stopped)
		}
	}
	for _, d := range []time.Duration{0, -1, 2 * time.Hour} {
		if _, err := Plugins(t.Context(), PluginOptions{Duration: d}); !errors.Is(err, ErrOptions) {
			t.Errorf("duration %v: %v", d, err)
		}
	}
	if _, err := Plugins(t.Context(), PluginOptions{Duration: 1, CallBytes: 1, Size: func(*record.Game) int { return 1 },
		Open: func(context.Context) (GameRescorer, func() error, error) { return nil, nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the start", err)
	}
}
