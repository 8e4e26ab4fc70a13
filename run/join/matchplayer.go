package join

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// matches plays games of the run's matches, beside self-play, until ctx ends. c is how this
// player plays.
func (p *player) matches(ctx context.Context, c *config.Config) {
	for {
		select {
		case <-p.offered:
		case <-ctx.Done():
			return
		}
		for ctx.Err() == nil {
			t, err := p.post.Lease(ctx)
			if err != nil || t.ID == 0 { // it is asked for again after a beat
				break
			}
			o := fleet.Outcome{ID: t.ID}
			if o.Games, err = p.playTask(ctx, c, &t); err != nil {
				o.Failed = err.Error()
				if ctx.Err() == nil {
					p.log.Warn("games of a match go back to the run", "error", err)
				}
			}
			if err := p.post.Finish(context.WithoutCancel(ctx), o); err != nil {
				p.log.Warn("the run takes no games of its match", "error", err)
			}
			if o.Failed != "" {
				break
			}
		}
	}
}

// maxMatch is how many games and plies a match may have that a player opens.
const maxMatch = 100_000

// playTask plays the games of a task.
func (p *player) playTask(ctx context.Context, c *config.Config, t *fleet.Task) (json.RawMessage, error) {
	m := &setup.NetMatch{}
	if err := json.Unmarshal(t.Match, m); err != nil {
		return nil, fmt.Errorf("match of the run: %w", err)
	}
	if m.Games > maxMatch || m.OpeningPlies > maxMatch || m.MaxPlies > maxMatch {
		return nil, fmt.Errorf("match of the run: %d games, %d of %d plies: at most %d of each", m.Games, m.OpeningPlies, m.MaxPlies, maxMatch)
	}
	for i, r := range t.Nets {
		file, err := p.post.Fetch(ctx, r)
		if err == nil {
			m.Nets[i], _, err = nn.ReadSafetensors(bytes.NewReader(file))
		}
		if err != nil {
			return nil, err
		}
	}
	cfg, release, err := m.Open(c)
	if err != nil {
		return nil, err
	}
	cfg.Numbers, cfg.Workers = t.Games, runtime.GOMAXPROCS(0)
	r, err := arena.Play(ctx, *cfg)
	if releaseErr := release(); err == nil {
		err = releaseErr
	}
	if err != nil {
		return nil, err
	}
	p.log.Info("played games of a match", "player1", m.Names[0], "player2", m.Names[1], "games", len(r.Games))
	return arena.EncodeGames(r.Games)
}
