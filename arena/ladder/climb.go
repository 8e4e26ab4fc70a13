package ladder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/arena/rating"
)

// Options of [Climb] and [Calibrate].
type Options struct {
	Engine  *Engine  // of FindEngine; nil = none: its rungs are left out
	Games   int      // at most against a rung, an even number
	Error   float64  // half of the rating's 95 % interval, in Elo, that is small enough
	Rungs   []string // these and no others, each with all its games; none = as the climb finds them
	Seed    uint64
	Workers int
	Keep    string // directory that keeps finished games, to go on from; "" = none
	Tell    func(format string, args ...any)
}

const (
	startElo       = 975          // where a climb begins: the greedy player's place
	batch          = 20           // games that the rung to play next is chosen for
	leastKnowledge = 0.01         // p(1-p) of a game that is not worth its time
	normal95       = 1.96         // half-width of a 95 % interval in standard errors
	climber        = "the player" // its name beside those of the rungs
)

// ErrRung says that Options.Rungs names what is no rung.
var ErrRung = errors.New("no such rung")

// climb is a climb under way.
type climb struct {
	options *Options
	player  arena.Player
	log     arena.LogPlayer
	rungs   []*opponent
	rating  rating.Rating
}

// opponent is a rung in a climb.
type opponent struct {
	Rung
	pairing
	trouble string // why its games do not count; "" = they do
}

// Climb plays a player against the rungs and returns what they say. log says who
// plays, and how bounded, for the games that are kept.
//
// An engine that crashes, hangs, makes illegal moves or cannot be started marks the
// rung, and the others are played. Where ctx ends, the report has what was played,
// and the error is ctx's.
func Climb(ctx context.Context, player arena.Player, log arena.LogPlayer, o Options) (_ *Report, err error) {
	c := &climb{options: &o, player: player, log: log}
	if err := c.choose(); err != nil {
		return nil, err
	}
	defer func() {
		for _, r := range c.rungs {
			err = errors.Join(err, r.close())
		}
	}()
	began := time.Now()
	for err == nil {
		if err = c.rate(); err != nil {
			break
		}
		r := c.next()
		if r == nil {
			break
		}
		err = c.play(ctx, r)
	}
	report := c.report()
	report.Seconds = time.Since(began).Seconds()
	return report, err
}

// choose settles which rungs there are.
func (c *climb) choose() error {
	names := []string{}
	for _, r := range Rungs() {
		names = append(names, r.Name)
		wanted := len(c.options.Rungs) == 0 && (!r.NeedsEngine() || c.options.Engine != nil)
		if wanted || slices.Contains(c.options.Rungs, r.Name) {
			c.rungs = append(c.rungs, &opponent{Rung: r})
		}
	}
	for _, name := range c.options.Rungs {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%w: %s; there are %v", ErrRung, name, names)
		}
	}
	return nil
}

// rate fits the player's rating to the games so far.
func (c *climb) rate() error {
	var results []rating.Result
	anchors := map[string]float64{}
	for _, r := range c.rungs {
		if r.trouble == "" && len(r.games) > 0 {
			results, anchors[r.Name] = append(results, r.result(climber, r.Name)), r.Elo
		}
	}
	if len(results) == 0 {
		c.rating = rating.Rating{Elo: startElo, Prior: true}
		return nil
	}
	list, err := rating.Fit(results, anchors)
	if err != nil {
		return err
	}
	c.rating = list.Ratings[slices.IndexFunc(list.Ratings, func(r rating.Rating) bool { return r.Name == climber })]
	return nil
}

// next returns the rung of which the next games say the most; nil if it is enough.
func (c *climb) next() (best *opponent) {
	all := len(c.options.Rungs) > 0
	if !all && !c.rating.Prior && normal95*c.rating.Error <= c.options.Error {
		return nil
	}
	most := 0.0
	for _, r := range c.rungs {
		if r.trouble != "" || len(r.games) >= c.options.Games {
			continue
		}
		if all {
			return r
		}
		p := arena.ExpectedScore(r.Elo - c.rating.Elo)
		if knows := p * (1 - p); knows > leastKnowledge && knows/float64(len(r.games)+batch) > most {
			best, most = r, knows/float64(len(r.games)+batch)
		}
	}
	return best
}

// play plays the next games against a rung.
func (c *climb) play(ctx context.Context, r *opponent) error {
	if r.config.Openings == nil {
		player, err := r.Player(c.options.Engine)
		if err != nil {
			r.trouble = err.Error()
			return nil
		}
		if err := r.begin(c.options, [2]arena.Player{c.player, player}, [2]arena.LogPlayer{c.log, c.options.rungPlayer(&r.Rung)}); err != nil {
			return err
		}
		if len(r.games) > 0 {
			r.noteFailures()
			return nil
		}
	}
	games := min(len(r.games)&^1+batch, c.options.Games)
	err := r.pairing.play(ctx, games)
	if err != nil && ctx.Err() == nil && r.NeedsEngine() {
		if _, again := r.Player(c.options.Engine); again != nil {
			r.trouble, err = again.Error(), nil
		} else { // an engine may be late once, where the machine is busy
			err = r.pairing.play(ctx, games)
		}
	}
	r.noteFailures()
	if err != nil {
		return err
	}
	s := r.score()
	c.options.Tell("%d games against %s, %.1f %%", s.Games(), r.Name, 100*s.Estimate.Score)
	return nil
}

// noteFailures marks the rung where its engine failed in a game.
func (r *opponent) noteFailures() {
	for i := range r.games {
		if g := &r.games[i]; g.End.Failed() && g.Result(0) > 0 {
			r.trouble = "its engine failed in " + failure(g)
		}
	}
}

// failure says what happened in a game that a player lost by failing.
func failure(g *arena.Game) string { return fmt.Sprintf("game %d: %s: %s", g.Number+1, g.End, g.Note) }

// rungPlayer says in a log who plays.
func (o *Options) rungPlayer(r *Rung) arena.LogPlayer {
	if r.NeedsEngine() {
		return arena.LogPlayer{Name: r.Name, Settings: o.Engine.Name}
	}
	return arena.LogPlayer{Name: r.Name}
}
