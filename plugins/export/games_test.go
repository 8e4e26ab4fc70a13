package export

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// gamesCheckpoint is a checkpoint without a net: exporters of games need none.
func gamesCheckpoint(games ...*record.Game) *stage.Checkpoint {
	return &stage.Checkpoint{Net: stage.NetInfo{Name: "job-main-s100-d200", ID: "ab12", Step: 10, Samples: 100, Rows: 200},
		Metadata: map[string]string{"job": "run-1"}, Games: seqOf(games, nil)}
}

// exportTo exports into memory, through the definition as a user's settings do,
// and returns the one file.
func exportTo(t *testing.T, name string, c *stage.Checkpoint, settings map[string]string) []byte {
	t.Helper()
	m := memfs.New()
	d, err := stage.Find(definitions(m), stage.KindExporter, name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.MakeExporter(settings)
	if err != nil {
		t.Fatal(err)
	}
	files, err := e.Export(context.Background(), c, "run/toexport")
	if err != nil || !slices.Equal(files, []string{filepath.Join("run/toexport", c.Net.Name+"."+name)}) {
		t.Fatalf("%s: %v, %v", name, files, err)
	}
	m.Restart(memfs.DropAll) // acknowledged: a power cut cannot take it
	data, err := fsx.ReadFile(m, files[0])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPGN: the newest games, oldest first, equal to what a reader of PGN finds.
func TestPGN(t *testing.T) {
	seed := rand.Uint64()
	games := anyGames(t, 12, rand.New(rand.NewPCG(seed, 1)))
	for setting, want := range map[int][]*record.Game{0: games, 5: games[7:], 12: games, 100: games} {
		text := exportTo(t, "pgn", gamesCheckpoint(games...), map[string]string{"games": strconv.Itoa(setting)})
		back := runtest.ReadPGN(t, string(text))
		if len(back) != len(want) {
			t.Fatalf("seed %d, games %d: %d games, want %d", seed, setting, len(back), len(want))
		}
		for i, g := range want {
			var moves []chess.Move
			for k := range g.Plies {
				moves = append(moves, g.Plies[k].Move)
			}
			start, err := g.StartBoard()
			if err != nil {
				t.Fatal(err)
			}
			b := back[i]
			if !slices.Equal(b.Moves, moves) || b.Start != start || b.Tag("GameId") != hex.EncodeToString(g.ID[:]) || b.Tag("Event") != "run-1" {
				t.Errorf("seed %d, games %d: game %d is %+v", seed, setting, i, b)
			}
		}
		var one bytes.Buffer
		if err := WritePGN(&one, want[0], "run-1"); err != nil || !bytes.HasPrefix(text, one.Bytes()) {
			t.Errorf("seed %d: the first game differs from WritePGN's: %v", seed, err)
		}
	}
	c := gamesCheckpoint(games[0])
	c.Metadata = nil
	if text := exportTo(t, "pgn", c, nil); !strings.HasPrefix(string(text), `[Event "job-main-s100-d200"]`) {
		t.Errorf("without a job: %.60q", text)
	}
}

// TestGamesErrors: no games, games that cannot be read, and a stop are errors
// that leave nothing.
func TestGamesErrors(t *testing.T) {
	bad := errors.New("unreadable")
	games := anyGames(t, 2, rand.New(rand.NewPCG(1, 2)))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	idle := *games[0]
	idle.Plies = slices.Clone(idle.Plies)
	for i := range idle.Plies {
		idle.Plies[i].Weight = 0
	}
	for name, c := range map[string]struct {
		ctx   context.Context
		spoil func(*stage.Checkpoint)
		want  string // in the message
		npz   bool   // only of npz
	}{
		"nil":      {nil, func(c *stage.Checkpoint) { c.Games = nil }, "there are none", false},
		"none":     {nil, func(c *stage.Checkpoint) { c.Games = seqOf(nil, nil) }, "there are none", false},
		"broken":   {nil, func(c *stage.Checkpoint) { c.Games = seqOf(games[:1], bad) }, "unreadable", false},
		"stopped":  {ended, func(*stage.Checkpoint) {}, "canceled", false},
		"bad name": {nil, func(c *stage.Checkpoint) { c.Net.Name = "../x" }, "plain file name", false},
		"no rows":  {nil, func(c *stage.Checkpoint) { c.Games = seqOf([]*record.Game{&idle}, nil) }, "meant for training", true},
	} {
		for _, exporter := range []string{"pgn", "npz"} {
			if c.npz && exporter != "npz" {
				continue
			}
			m := memfs.New()
			d, err := stage.Find(definitions(m), stage.KindExporter, exporter)
			if err != nil {
				t.Fatal(err)
			}
			e, err := d.MakeExporter(nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx := c.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			checkpoint := gamesCheckpoint(games...)
			c.spoil(checkpoint)
			files, err := e.Export(ctx, checkpoint, "out")
			if err == nil || files != nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, bad) != (name == "broken") {
				t.Errorf("%s, %s: %v, %v", exporter, name, files, err)
			}
			if err != nil && c.want == "there are none" && !strings.Contains(err.Error(), "exporter "+exporter) {
				t.Errorf("%s, %s: the message does not name the exporter: %v", exporter, name, err)
			}
			if list := names(t, m, "out"); list != nil {
				t.Errorf("%s, %s: %v was written", exporter, name, list)
			}
		}
	}
}
