package join

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// matchPlayer plays games of the run's matches, beside a player's self-play.
type matchPlayer struct {
	post    fleet.Post
	cfg     *config.Config // how this player plays
	workers int
	log     *slog.Logger
	offered chan struct{} // a beat said that there are matches
	failed  bool          // the newest task, and that was said

	of      fleet.Task // that match is open for
	match   *arena.Config
	release func() error
}

// maxMatch is how many games and plies a match may have that a player opens.
const maxMatch = 100_000

// run plays until ctx ends.
func (p *matchPlayer) run(ctx context.Context) {
	for {
		select {
		case <-p.offered:
		case <-ctx.Done():
			p.close()
			return
		}
		for ctx.Err() == nil && p.task(ctx) {
		}
	}
}

// task leases a task and plays it; false where there is none, or none that can be played:
// after a beat another one is asked for.
func (p *matchPlayer) task(ctx context.Context) bool {
	t, err := p.post.Lease(ctx)
	if err != nil || t.ID == 0 {
		return false
	}
	o := fleet.Outcome{ID: t.ID}
	if o.Games, err = p.play(ctx, &t); err != nil {
		o.Failed = err.Error()
		if ctx.Err() == nil && !p.failed {
			p.log.Warn("games of a match go back to the run", "error", err)
		}
	}
	p.failed = err != nil && ctx.Err() == nil
	if ctx.Err() != nil { // but shortly
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), fleet.BeatEvery/5)
		defer cancel()
	}
	if err := p.post.Finish(ctx, o); err != nil {
		p.log.Warn("the run takes no games of its match", "error", err)
		return false
	}
	return o.Failed == ""
}

// play plays the games of a task.
func (p *matchPlayer) play(ctx context.Context, t *fleet.Task) (json.RawMessage, error) {
	if err := p.open(ctx, t); err != nil {
		return nil, err
	}
	cfg, began := *p.match, time.Now()
	cfg.Numbers, cfg.Workers = t.Games, p.workers
	r, err := arena.Play(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p.log.Info("played games of a match", "player1", r.Names[0], "player2", r.Names[1], "games", len(r.Games), "took", time.Since(began).Round(time.Second))
	return arena.EncodeGames(r.Games)
}

// open opens the match of a task, unless it is open.
func (p *matchPlayer) open(ctx context.Context, t *fleet.Task) error {
	of := fleet.Task{Nets: t.Nets, Match: t.Match}
	if p.match != nil && reflect.DeepEqual(of, p.of) {
		return nil
	}
	p.close()
	m := &setup.NetMatch{}
	if err := json.Unmarshal(t.Match, m); err != nil {
		return fmt.Errorf("match of the run: %w", err)
	}
	if m.Games > maxMatch || m.OpeningPlies > maxMatch || m.MaxPlies > maxMatch {
		return fmt.Errorf("match of the run: %d games, %d of %d plies: at most %d of each", m.Games, m.OpeningPlies, m.MaxPlies, maxMatch)
	}
	for i, r := range t.Nets {
		file, err := p.post.Fetch(ctx, r)
		if err == nil {
			m.Nets[i], _, err = nn.ReadSafetensors(bytes.NewReader(file))
		}
		if err != nil {
			return err
		}
	}
	match, release, err := m.Open(p.cfg)
	if err == nil {
		p.of, p.match, p.release = of, match, release
	}
	return err
}

// close closes the match that is open.
func (p *matchPlayer) close() {
	if p.match == nil {
		return
	}
	if err := p.release(); err != nil {
		p.log.Warn("the players of a match could not be closed", "error", err)
	}
	p.match = nil
}
