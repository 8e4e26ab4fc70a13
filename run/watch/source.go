package watch

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/cycle"
)

// How old an answer may be that several readers share.
const (
	statusAge  = 2 * time.Second
	playingAge = 900 * time.Millisecond
	gamesAge   = 5 * time.Second
	curvesAge  = 2 * time.Second
)

// listedGames is the number of finished games that are listed.
const listedGames = 200

// Options say which run is watched.
type Options struct {
	Dir     run.Dir
	Players *config.Config // device and precision of the searches that readers ask for
	Version string         // of the program
	Orders  bool           // readers may stop the run, have it saved, and swap its stages
}

// Source knows a run. It is safe for concurrent use.
type Source struct {
	opt       Options
	status    shared[*cycle.Status]
	playing   shared[[]record.View]
	games     shared[[]Finished]
	trainings shared[[]run.Dir]
	opening   sync.Mutex         // of courses
	courses   map[string]*course // by the training's name
	thinker   thinker
}

// New returns the source of a run, which works, has ended, or is about to begin.
func New(opt Options) *Source {
	s := &Source{opt: opt, courses: map[string]*course{}}
	s.status.costly, s.games.costly = true, true
	s.thinker.free = make(chan struct{}, 1)
	s.thinker.free <- struct{}{}
	return s
}

// Close gives back what searches took. Nobody may ask any more.
func (s *Source) Close() error {
	<-s.thinker.free
	if s.thinker.player == nil {
		return nil
	}
	return s.thinker.player.Close()
}

// shared is an answer that all who ask within some time get. A costly one, which takes long,
// is asked for less often.
type shared[T any] struct {
	costly bool
	mu     sync.Mutex
	value  T
	err    error
	at     time.Time
	keep   time.Duration // after at, of a costly one
}

// A costly answer is kept restFactor times as long as it took, so that it takes half a percent
// of a core, but restMost at most.
const (
	restFactor = 200
	restMost   = 20 * time.Second
)

// get returns the answer, asking anew if the last one is older than age.
func (s *shared[T]) get(age time.Duration, ask func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) > max(age, s.keep) {
		began := time.Now()
		s.value, s.err = ask()
		s.at, s.keep = time.Now(), 0
		if s.costly && s.err == nil {
			s.keep = min(restFactor*s.at.Sub(began), restMost)
		}
	}
	return s.value, s.err
}

// Status is the page of chessbrain status.
func (s *Source) Status() (*cycle.Status, error) {
	return s.status.get(statusAge, func() (*cycle.Status, error) { return cycle.ReadStatus(context.Background(), s.opt.Dir.Root) })
}

// Playing returns games under way.
func (s *Source) Playing() ([]record.View, error) {
	return s.playing.get(playingAge, func() ([]record.View, error) {
		return cycle.Games(context.Background(), s.opt.Dir.Root)
	})
}

// Finished is a game that has ended.
type Finished struct {
	ID string `json:"id"`
	record.View
}

// Finished returns the newest games that can be read, the newest first. Of their moves the
// first ones are in SAN, too.
func (s *Source) Finished() ([]Finished, error) {
	return s.games.get(gamesAge, func() ([]Finished, error) {
		const plies = 150 // of a game, about
		var games []*record.Game
		for g, err := range replay.DirGames(context.Background(), s.opt.Dir.Selfplay(), listedGames*plies, 0, slog.New(slog.DiscardHandler)) {
			if errors.Is(err, fs.ErrNotExist) {
				break // removed since it was listed
			}
			if err != nil {
				return nil, err
			}
			if games = append(games, g); len(games) > 2*listedGames {
				games = append(games[:0], games[listedGames:]...)
			}
		}
		games = games[max(0, len(games)-listedGames):]
		newest := make([]Finished, len(games))
		for i, g := range games {
			view, err := g.View()
			if err == nil {
				err = view.Spell(openingPlies)
			}
			if err != nil {
				return nil, err
			}
			newest[len(games)-1-i] = Finished{hex.EncodeToString(g.ID[:]), view}
		}
		return newest, nil
	})
}
