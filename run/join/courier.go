package join

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/selfplay"
)

const (
	chunkBytes  = 128 << 10        // a chunk is delivered when it is as large,
	chunkAge    = 20 * time.Second // or as old
	lookEvery   = time.Second      // for sealed chunks
	firstResend = time.Minute      // a chunk without a verdict is delivered again
	lastResend  = 16 * time.Minute
	maxSpool    = 1 << 30          // bytes of games that wait here
	lastDrain   = 30 * time.Second // for the last games of a player that stops,
	lastVerdict = 5 * time.Second  // while verdicts come at least so often
)

// courier delivers the sealed chunks of a playing process, and removes what the run has
// counted. A chunk is kept until its verdict has come, over any number of starts; the
// numbers of its games are on disk before it is removed, and stay used up. One goroutine
// runs it; Room is for all.
type courier struct {
	post    fleet.Post
	dir     run.Dir
	process string
	log     *slog.Logger
	limit   int64 // bytes that wait, beyond which no game begins
	traces  *monitor.Traces

	begun   chan struct{} // closed when the process has read its games, and asks for room
	once    sync.Once
	settled run.Ordinals       // numbers of the games that the run has, without branches
	parcels map[string]*parcel // by path
	pause   time.Time          // nothing is delivered before
	sealed  time.Time          // when the newest chunk was, or this courier began
	stuck   bool               // nothing is delivered at the moment, and that was said
	verdict []fleet.Verdict    // that have come

	mu      sync.Mutex
	bytes   int64 // that wait
	waiting int   // chunks
	games   int64 // counted by the run, since this start
	rested  bool  // that no game begins was said
	resting bool  // the run has games enough
}

// parcel is a chunk on its way.
type parcel struct {
	path  string
	sum   string
	bytes int64
	tries int
	again time.Time // when it is delivered again

	begun, first time.Time // when its games began, about, and when it was delivered first
}

// Delivered, Chunks and Room make it a play.Courier.
func (c *courier) Delivered() run.Ordinals { return c.settled.Clone() }

func (c *courier) Chunks() (bytes int64, every time.Duration) { return chunkBytes, chunkAge }

func (c *courier) Room(ctx context.Context) bool {
	c.once.Do(func() { close(c.begun) })
	for !c.room() {
		if run.Sleep(ctx, lookEvery) != nil {
			return false
		}
	}
	return ctx.Err() == nil
}

func (c *courier) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	full := c.bytes > c.limit
	if c.resting && !c.rested {
		c.log.Info("self-play rests: the run has more games than it trains on")
	} else if full && !c.rested {
		c.log.Warn("self-play rests: too many games wait for the run", "waiting", fsx.FormatBytes(uint64(c.bytes)), "limit", fsx.FormatBytes(uint64(c.limit)))
	}
	c.rested = full || c.resting
	return !c.rested
}

// rest lets no games begin, or lets them begin again.
func (c *courier) rest(resting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = resting
}

// newCourier returns a courier for the games of a process in dir.
func newCourier(post fleet.Post, dir run.Dir, process string, log *slog.Logger) (*courier, error) {
	c := &courier{post: post, dir: dir, process: process, log: log, limit: maxSpool, begun: make(chan struct{}), parcels: map[string]*parcel{}, sealed: time.Now()}
	if _, err := run.ReadJSON(c.file(), &c.settled); err != nil {
		return nil, fmt.Errorf("read %s: %w; join with another --run-dir", c.file(), err)
	}
	return c, nil
}

// file holds the numbers of the games that the run has.
func (c *courier) file() string { return filepath.Join(c.dir.Root, "delivered.json") }

// run delivers from when the process has read its own games until ctx ends.
func (c *courier) run(ctx context.Context) error {
	select {
	case <-c.begun:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		if err := c.step(ctx); err != nil {
			return err
		}
		c.await(ctx)
	}
	return nil
}

// finish delivers what is left and waits for the verdicts, but not for ever. It returns
// how many chunks stay.
func (c *courier) finish(ctx context.Context) (left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, lastDrain)
	defer cancel()
	for since, before := time.Now(), -1; ; before = len(c.parcels) {
		if err := c.step(ctx); err != nil || len(c.parcels) == 0 || ctx.Err() != nil || c.stuck {
			return len(c.parcels), err
		}
		if len(c.parcels) != before {
			since = time.Now()
		}
		if time.Since(since) > lastVerdict {
			return len(c.parcels), nil
		}
		c.await(ctx)
	}
}

// await waits for a verdict, or for the time to look again.
func (c *courier) await(ctx context.Context) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	select {
	case v := <-c.post.Verdicts():
		c.verdict = append(c.verdict, v)
	case <-timer.C:
	case <-ctx.Done():
	}
}

// step takes verdicts, looks for sealed chunks, and delivers what is due.
func (c *courier) step(ctx context.Context) error {
	for more := true; more; {
		select {
		case v := <-c.post.Verdicts():
			c.verdict = append(c.verdict, v)
		default:
			more = false
		}
	}
	if err := c.settle(); err != nil {
		return err
	}
	if err := c.look(); err != nil {
		return err
	}
	for _, p := range c.parcels {
		now := time.Now()
		if ctx.Err() != nil || now.Before(c.pause) {
			break
		}
		if now.Before(p.again) {
			continue
		}
		if err := c.deliver(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// look finds the sealed chunks.
func (c *courier) look() error {
	paths, err := replay.ListChunks(fsx.OS, c.dir.Selfplay())
	if err != nil {
		return fmt.Errorf("look for games to deliver: %w", err)
	}
	there, bytes := map[string]bool{}, int64(0)
	for _, path := range paths {
		if filepath.Base(filepath.Dir(path)) != c.process || !strings.HasSuffix(path, replay.SealedSuffix) {
			continue
		}
		p := c.parcels[path]
		if p == nil {
			info, err := os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("look for games to deliver: %w", err)
			}
			p = &parcel{path: path, bytes: info.Size(), begun: c.sealed}
			if c.sealed = info.ModTime(); c.sealed.Before(p.begun) { // of an earlier start
				p.begun = c.sealed
			}
			c.parcels[path] = p
		}
		there[path] = true
		bytes += p.bytes
	}
	for path := range c.parcels {
		if !there[path] {
			delete(c.parcels, path)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes, c.waiting = bytes, len(c.parcels)
	return nil
}

// deliver puts a chunk into the mailbox.
func (c *courier) deliver(ctx context.Context, p *parcel) error {
	data, err := fsx.ReadFile(fsx.OS, p.path)
	if err != nil {
		return fmt.Errorf("deliver games: %w", err)
	}
	p.sum = fleet.SumOf(data)
	if p.first.IsZero() {
		p.first = time.Now()
	}
	err = c.post.Deliver(ctx, data, p.tries)
	switch {
	case err == nil:
		c.stuck = false
		p.again = time.Now().Add(min(firstResend<<min(p.tries, 4), lastResend))
		p.tries++
		return nil
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, fleet.ErrTooLarge):
		c.verdict = append(c.verdict, fleet.Verdict{Sum: p.sum, Rejected: err.Error()})
		return nil
	}
	if !c.stuck {
		c.log.Warn("games wait here", "reason", err)
	}
	c.stuck, c.pause = true, time.Now().Add(fleet.BeatEvery)
	return nil
}

// settle does what the verdicts say: it notes the numbers of the games of the settled
// chunks, and removes these.
func (c *courier) settle() error {
	var done []*parcel
	for _, v := range c.verdict {
		for _, p := range c.parcels {
			if p.sum != v.Sum || slices.Contains(done, p) {
				continue
			}
			if v.Rejected != "" {
				if err := c.setAside(p, v.Rejected); err != nil {
					return err
				}
			}
			games, _, err := replay.ReadChunk(fsx.OS, p.path)
			if err != nil {
				return fmt.Errorf("settle delivered games: %w", err)
			}
			for _, g := range games {
				if _, _, _, branch := selfplay.BranchOrdinal(g.Ordinal); !branch {
					c.settled.Add(g.Ordinal)
				}
			}
			c.trace(p, v.Rejected)
			c.mu.Lock()
			c.games += int64(v.Games)
			c.mu.Unlock()
			done = append(done, p)
		}
	}
	c.verdict = nil
	if len(done) == 0 {
		return nil
	}
	if err := run.WriteJSON(c.file(), c.settled); err != nil {
		return err
	}
	for _, p := range done {
		if err := fsx.OS.Remove(p.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove delivered games: %w", err)
		}
		delete(c.parcels, p.path)
	}
	return nil
}

// trace tells of a chunk that is settled.
func (c *courier) trace(p *parcel, rejected string) {
	if c.traces == nil {
		return
	}
	for name, start := range map[string]time.Time{spanPlayed: p.begun, spanDelivered: p.first} {
		s := spanOf(p.sum, name, start, int(p.bytes))
		s.Failed, s.Attributes["tries"] = rejected, strconv.Itoa(p.tries)
		c.traces.Add(s)
	}
}

// setAside keeps a copy of a chunk that the run will not have.
func (c *courier) setAside(p *parcel, reason string) error {
	aside := filepath.Join(c.dir.Root, "rejected", c.process+"-"+p.sum[:12]+replay.SealedSuffix)
	c.log.Error("the run does not take a chunk of games; it is set aside", "chunk", aside, "reason", reason)
	data, err := fsx.ReadFile(fsx.OS, p.path)
	if err == nil {
		err = fsx.PutFile(fsx.OS, aside, data)
	}
	if err != nil {
		return fmt.Errorf("set a chunk aside: %w", err)
	}
	return nil
}

// counts are for a Beat.
func (c *courier) counts() (games int64, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.games, c.waiting
}
