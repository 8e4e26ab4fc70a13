package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

// ghosts are players without a search: each delivers chunks of games of its own, and
// misbehaves, until the run has confirmed all.
type ghosts struct {
	t      *testing.T
	link   fleet.Link
	net    string
	seed   uint64
	number int
	chunks int // of a ghost
	games  int // of a chunk
	faults atomic.Int64
	done   atomic.Int64

	patience time.Duration // after which what has no verdict is sent again
	began    time.Time
	ctx      context.Context
	cancel   context.CancelFunc
	wait     sync.WaitGroup
}

// chunk returns a sealed chunk of a process.
func (g *ghosts) chunk(process uint64, number int) []byte {
	var games []*record.Game
	for i := range g.games {
		ordinal := uint64(number*g.games + i)
		games = append(games, &record.Game{ID: record.GameID(g.seed, process, ordinal), NetID: g.net, Seed: g.seed, Ordinal: ordinal, End: record.EndAborted})
	}
	return sealed(g.t, g.net, "run", games...)
}

// haunt is one ghost. What it has sent is a list on its disk, as a courier's spool is; a
// ghost that dies forgets all else.
func (g *ghosts) haunt(ctx context.Context, id int, share float64) error {
	rng := rand.New(rand.NewPCG(uint64(id), 7))
	instance := fmt.Sprint("ghost", id)
	var post fleet.Post
	var process uint64
	defer func() {
		if post != nil {
			post.Close()
		}
	}()
	connect := func() error {
		if post != nil {
			post.Close()
			post = nil
		}
		for ctx.Err() == nil {
			p, err := fleet.Dial(g.link, instance, false, slog.New(slog.DiscardHandler))
			if err == nil {
				var w fleet.Welcome
				w, err = p.Join(ctx, fleet.Hello{Protocol: fleet.Protocol})
				switch {
				case err == nil && w.Refused == "" && (process == 0 || process == w.Process):
					post, process = p, w.Process
					return nil
				case err == nil:
					p.Close()
					return fmt.Errorf("ghost %d: %+v, was process %d", id, w, process)
				}
				p.Close()
			}
			time.Sleep(time.Duration(50+rng.IntN(200)) * time.Millisecond)
		}
		return ctx.Err()
	}
	if err := connect(); err != nil {
		return err
	}
	open := map[string]int{} // chunks without a verdict, by their sums
	tries := 0
	send := func(data []byte) {
		tries++
		sendCtx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_ = post.Deliver(sendCtx, data, tries) // what fails is sent again
	}
	for next, confirmed := 0, 0; confirmed < g.chunks; {
		if err := ctx.Err(); err != nil {
			return err
		}
		for len(open) < 3 && next < g.chunks { // several at once: they may overtake each other
			data := g.chunk(process, next)
			open[fleet.SumOf(data)] = next
			send(data)
			next++
			if rng.Float64() < share {
				g.faults.Add(1)
				switch rng.IntN(4) {
				case 0: // the same twice
					send(data)
				case 1: // a flipped bit
					bad := append([]byte(nil), data...)
					bad[rng.IntN(len(bad))] ^= 1 << rng.IntN(8)
					send(bad)
				case 2: // it dies
					if err := connect(); err != nil {
						return err
					}
				case 3: // a chunk of long ago
					send(g.chunk(process, rng.IntN(next)))
				}
			}
		}
		select {
		case v := <-post.Verdicts():
			if _, mine := open[v.Sum]; mine {
				if v.Rejected != "" {
					return fmt.Errorf("ghost %d: a good chunk was refused: %s", id, v.Rejected)
				}
				delete(open, v.Sum)
				confirmed++
				g.done.Add(1)
			}
		case <-time.After(g.patience): // all that is open, again
			for _, n := range open {
				send(g.chunk(process, n))
			}
		case <-ctx.Done():
		}
	}
	return nil
}

// TestGhosts: many players deliver games while they die, repeat themselves and lie, and
// while the run's host is stopped and loses its mailbox. Each game is in the run once.
// FLEET_PLAYERS=5000 is the acceptance of the fleet: a million games, 1 100 faults.
func TestGhosts(t *testing.T) {
	number, chunks, games, faults, restarts := 6, 8, 5, 30, 2
	patience := 500 * time.Millisecond
	if many, err := strconv.Atoi(os.Getenv("FLEET_PLAYERS")); err == nil {
		number, games, faults, restarts = many, 25, many*11/50, 4
		patience = 3 * time.Second // they wait for each other
	}
	dir := t.TempDir() + "/run"
	link, log, closeHost := openHost(t, dir, "127.0.0.1:0")
	g := startGhosts(t, dir, link, number, chunks, games, float64(faults)/float64(number*chunks), patience)
	for i := range restarts {
		g.await(float64(i+1) / float64(restarts+1))
		closeHost()
		if i%2 == 1 { // the mailbox is lost
			if err := os.RemoveAll(DirOf(dir).server()); err != nil {
				t.Fatal(err)
			}
		}
		_, log, closeHost = openHost(t, dir, link.Address)
	}
	g.finish(dir, log, closeHost)
}

// startGhosts lets so many ghosts haunt the host of a run.
func startGhosts(t *testing.T, dir string, link fleet.Link, number, chunks, games int, share float64, patience time.Duration) *ghosts {
	t.Helper()
	roster, err := DirOf(dir).Roster()
	if err != nil {
		t.Fatal(err)
	}
	g := &ghosts{t: t, link: link, net: roster.Nets[0].Name, seed: 7, number: number, chunks: chunks, games: games, patience: patience, began: time.Now()}
	g.ctx, g.cancel = context.WithTimeout(t.Context(), 20*time.Minute)
	for id := range number {
		g.wait.Go(func() {
			if err := g.haunt(g.ctx, id, share); err != nil {
				t.Error(err)
				g.cancel()
			}
		})
	}
	return g
}

// await waits until a share of all chunks is confirmed, and tells the memory by then: that
// of the ghosts and of the host.
func (g *ghosts) await(share float64) {
	defer func() {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		g.t.Logf("%.0f %% of the games: heap of %d MB", 100*share, m.HeapAlloc>>20)
	}()
	for float64(g.done.Load()) < share*float64(g.number*g.chunks) && g.ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
}

// finish waits for the ghosts, closes the host and holds what the run has against what
// they delivered.
func (g *ghosts) finish(dir string, log *said, closeHost func()) {
	g.t.Helper()
	defer g.cancel()
	g.wait.Wait()
	all := g.number * g.chunks * g.games
	g.t.Logf("%d games of %d players with %d faults in %v", all, g.number, g.faults.Load(), time.Since(g.began).Round(time.Millisecond))
	closeHost()
	if g.t.Failed() {
		g.t.Fatal(log)
	}
	roster, err := DirOf(dir).Roster()
	if err != nil || len(roster.Players) != g.number {
		g.t.Fatalf("%d players, %v", len(roster.Players), err)
	}
	seen := map[[16]byte]bool{}
	scan, err := replay.WalkGames(g.t.Context(), fsx.OS, filepath.Join(dir, "selfplay"), func(path string, game *record.Game) error {
		if seen[game.ID] {
			return errors.New(path + ": a game is there twice")
		}
		seen[game.ID] = true
		return nil
	})
	if err != nil || scan.Duplicates > 0 || len(scan.Quarantine) > 0 {
		g.t.Fatalf("%v; %d doubled, %v", err, scan.Duplicates, scan.Quarantine)
	}
	for _, p := range roster.Players {
		for n := range uint64(g.chunks * g.games) {
			if !seen[record.GameID(g.seed, p.Process, n)] {
				g.t.Errorf("game %d of process %d is lost", n, p.Process)
			}
		}
	}
	if len(seen) != all {
		g.t.Errorf("%d games, want %d", len(seen), all)
	}
}
