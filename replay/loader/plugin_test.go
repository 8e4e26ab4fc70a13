package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// batchRescorer gives games a result, all in one call, and does wrong what a
// plugin may do wrong with the game that has the id bad.
type batchRescorer struct {
	resultOf
	bad   [16]byte
	fault string
	err   error // of a call with the bad game

	largest atomic.Int64 // games of one call
}

func (b *batchRescorer) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	b.largest.Store(max(b.largest.Load(), int64(len(games)))) // exact with one thread
	var out []*record.Game
	for _, g := range games {
		next, err := b.Rescore(ctx, g)
		if err != nil {
			return nil, err
		}
		if g.ID == b.bad {
			switch b.fault {
			case "error":
				return nil, b.err
			case "count":
				continue
			case "other game":
				next = next.Clone()
				next.ID[0] ^= 1
			case "nothing":
				next = nil
			case "invalid":
				next = next.Clone()
				next.WhiteResult = 7
			}
		}
		out = append(out, next)
	}
	return out, nil
}

// pluginChain is chain with a plugin stage in the place of the chunk_rescorer.
func pluginChain(dir string, r stage.Rescorer, threads, batch int) Config {
	return chain(dir, func(c *Config) {
		c.Stages[3] = stageOf("rescored", "all", func(c *StageConfig) { c.Plugin = &Plugin{Threads: threads, Batch: batch, Rescorer: r} })
		c.Stages[2].Output.Capacity = 20
	})
}

// orderedRows reads all rows in their order.
func orderedRows(t *testing.T, l *Loader) (rows []string) {
	t.Helper()
	b := encoding.NewTrainBatch(16)
	for {
		b.Reset()
		if err := l.Next(t.Context(), b); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range b.N {
			rows = append(rows, rowKey(b, i))
		}
	}
}

// TestPluginStage: batches of any size on any number of threads give the rows of
// a chunk_rescorer in their order, also with a rescorer that knows no batches.
func TestPluginStage(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	writeGames(t, dir, randomGames(t, 0, 30)...)
	plain := mustNew(t, chain(dir, nil), Options{})
	want := orderedRows(t, plain)
	plain.Close()
	for _, c := range []struct{ threads, batch int }{{1, 1}, {1, 7}, {4, 1}, {4, 7}} {
		for _, r := range []stage.Rescorer{&batchRescorer{resultOf: 1}, resultOf(1)} {
			l := mustNew(t, pluginChain(dir, r, c.threads, c.batch), Options{})
			if got := orderedRows(t, l); !slices.Equal(got, want) {
				t.Errorf("%d threads, batches of %d, %T: other rows or another order", c.threads, c.batch, r)
			}
			s := l.Stats().Stages[3]
			l.Close()
			if s.Kind != "plugin" || s.Counters[0] != (Counter{Name: "chunks_rescored", Value: 30}) || s.Counters[1].Value == 0 || s.Counters[2].Value != 0 {
				t.Errorf("%+v", s)
			}
			if n := s.Counters[3].Value; n > 30 || n < 30/float64(c.batch) {
				t.Errorf("%v batches of at most %d", n, c.batch)
			}
			if b, ok := r.(*batchRescorer); ok && c.threads == 1 && (b.largest.Load() > int64(c.batch) || b.largest.Load() == 0) {
				t.Errorf("a batch of %d, wanted are at most %d", b.largest.Load(), c.batch)
			}
		}
	}
}

// TestPluginGathers: what waits goes into one batch, up to its size, and a batch
// is not waited for.
func TestPluginGathers(t *testing.T) {
	in := NewQueue[*Game](10, Block)
	p := &chunkRescorer{edges: edges[*Game, *Game]{in: in}, batch: 4}
	for i := range 10 {
		put(t, in, &Game{Index: i})
	}
	in.Close()
	var sizes []int
	next := 0
	for {
		b, err := p.gather(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(b))
		for _, g := range b {
			if g.Index != next {
				t.Errorf("chunk %d in the place of %d", g.Index, next)
			}
			next++
		}
	}
	if !slices.Equal(sizes, []int{4, 4, 2}) {
		t.Errorf("batches of %v", sizes)
	}
}

// TestPluginFaults: the game that a rescorer does wrong is quarantined, alone; the
// others of its batch arrive.
func TestPluginFaults(t *testing.T) {
	dir := t.TempDir()
	games := randomGames(t, 0, 12)
	name := writeGames(t, dir, games...)
	for fault, reason := range map[string]string{"error": "not this one", "count": "returned 0 games for 1", "other game": "another game",
		"nothing": "another game", "invalid": "invalid result"} {
		r := &batchRescorer{resultOf: 1, bad: games[5].ID, fault: fault, err: errors.New("not this one")}
		changed := make([]*record.Game, len(games))
		for i, g := range games {
			changed[i], _ = resultOf(1).Rescore(t.Context(), g)
		}
		want, _ := wantRows(t, slices.Delete(changed, 5, 6))
		l := mustNew(t, pluginChain(dir, r, 2, 8), Options{})
		got, _ := readAll(t, l.Next, 32)
		same(t, fault, got, want)
		s := l.Stats()
		if s.Quarantined != 1 || !strings.HasSuffix(name, strings.TrimSuffix(s.Quarantine[0].Name, "[5]")) ||
			!strings.Contains(s.Quarantine[0].Error, reason) || !strings.Contains(s.Quarantine[0].Error, "rescorer result") {
			t.Errorf("%s: %+v", fault, s.Quarantine)
		}
		if bad := s.Stages[3].Counters[2]; bad != (Counter{Name: "chunks_bad", Value: 1}) {
			t.Errorf("%s: %+v", fault, bad)
		}
	}
}

// TestStop: a rescorer that works no more ends the loader, wherever it stands,
// and costs no chunk.
func TestStop(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	games := randomGames(t, 0, 12)
	writeGames(t, dir, games...)
	gone := fmt.Errorf("given up: %w", ErrStop)
	r := &stopping{batchRescorer{resultOf: 1, bad: games[5].ID, fault: "error", err: gone}}
	for at, config := range map[string]Config{
		"rescored": pluginChain(dir, r, 2, 8),
		"chunks": chain(dir, func(c *Config) {
			c.Stages[3].Name, c.Stages[4].Inputs[0] = "chunks", "chunks"
			c.Stages[3].ChunkRescorer.Rescorers[0] = r
		}),
		"all": chain(dir, func(c *Config) {
			c.Stages[1].ChunkSourceReader.Rescorers = append(c.Stages[1].ChunkSourceReader.Rescorers, r)
		}),
		"pool": chain(dir, func(c *Config) {
			c.Stages[1].ChunkSourceReader.Rescorers = append(c.Stages[1].ChunkSourceReader.Rescorers, r)
			c.Stages[2] = stageOf("pool", "reader", func(c *StageConfig) {
				c.ShufflingChunkPool = &ShufflingChunkPool{ChunkPoolSize: 20, Threads: 1, Epochs: 1}
			})
			c.Stages[3].Inputs[0] = "pool"
		}),
	} {
		l := mustNew(t, config, Options{})
		b := encoding.NewTrainBatch(1 << 12)
		err := l.Next(t.Context(), b)
		bad, ok := errors.AsType[*StageError](err)
		if !ok || bad.Stage != at || !errors.Is(err, ErrStop) {
			t.Errorf("%s: %v", at, err)
		}
		if s := l.Stats(); s.Quarantined != 0 {
			t.Errorf("%s: quarantined %v", at, s.Quarantine)
		}
		l.Close()
	}
}

// stopping is a batchRescorer whose single calls fail as its batches do.
type stopping struct{ batchRescorer }

func (s *stopping) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	return stage.RescoreOne(ctx, s, g)
}
