package ratings

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/arena/ladder"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Climber is a net for the ladder.
type Climber struct {
	*setup.NetPlayer
	Name, NetID string
	Search      mcts.Config // that fits it, see setup.SearchOf
}

// Climb has the net climb with a limit. o.Keep is the directory of all its climbs.
func (n *Climber) Climb(ctx context.Context, limit ladder.Limit, o ladder.Options) (*ladder.Report, error) {
	search := n.Search.ForVisits(limit.Visits)
	said, err := json.Marshal(search) // games of another search are another climb's
	if err != nil {
		return nil, err
	}
	player, err := n.Player(n.Name, arena.Settings{Search: search, TreeReuse: true}, arena.Limits{MoveTime: limit.Time, Margin: arena.DefaultMargin})
	if err != nil {
		return nil, err
	}
	tell := o.Tell
	o.Tell = func(format string, a ...any) { tell(limit.String()+": "+format, a...) }
	if o.Keep != "" {
		o.Keep = filepath.Join(o.Keep, strings.ReplaceAll(limit.String(), " ", "-"))
	}
	r, err := ladder.Climb(ctx, player, arena.LogPlayer{Name: n.Name, NetID: n.NetID, Settings: limit.String() + " " + string(said)}, o)
	if r != nil {
		r.Limit = limit
	}
	return r, err
}

// ladderError is half of the 95 % interval, in Elo, that is small enough for a run's ratings.
const ladderError = 40

// ladder places the newest accepted net, unless it has its place already. A net that cannot
// play, and rungs without an engine, are told and left out.
func (r *rater) ladder(ctx context.Context, c *catalogue.Catalogue) error {
	nets := playable(c)
	if r.want.LadderGames == 0 || len(nets) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	net, limit := nets[len(nets)-1], ladder.Limit{Visits: r.want.Search.Search.Simulations}
	keep := run.LadderOf(r.dir.Root, net.Name)
	result, err := readLadder(filepath.Join(keep, run.LadderName))
	if err != nil {
		return err
	}
	if result.NetID != net.NetID { // also where there is none
		*result = ladder.Result{Net: net.Name, NetID: net.NetID, Seed: 1}
	}
	if slices.ContainsFunc(result.Climbs, func(c *ladder.Report) bool { return c.Limit == limit }) {
		return nil
	}
	climber, err := r.climber(net)
	if err != nil {
		r.log.Warn("a net is left out of the ladder: it cannot play", "net", net.Name, "error", err)
		return nil
	}
	report, err := r.climb(ctx, climber, limit, keep, result)
	if err != nil || report.Games == 0 {
		return errors.Join(err, climber.Close())
	}
	result.Climbs = append(result.Climbs, report)
	r.log.Info("a net on the ladder", "net", net.Name, "limit", limit.String(), "rating", report.Rating(), "games", report.Games)
	return errors.Join(run.WriteJSON(filepath.Join(keep, run.LadderName), result), climber.Close())
}

// climb has a net climb with the engine that there is.
func (r *rater) climb(ctx context.Context, net *Climber, limit ladder.Limit, keep string, result *ladder.Result) (*ladder.Report, error) {
	o := ladder.Options{Games: r.want.LadderGames, Error: ladderError, Seed: result.Seed, Workers: runtime.GOMAXPROCS(0), Keep: keep,
		Tell: func(format string, a ...any) { r.log.Warn("ladder: " + fmt.Sprintf(format, a...)) }}
	engine, err := ladder.FindEngine(ctx, cmp.Or(r.want.LadderEngine, "stockfish"))
	if err != nil {
		r.log.Warn("the ladder has no rungs of Stockfish: a net above the greedy player cannot be placed", "error", err)
	} else if o.Engine, result.Engine = engine, engine.Name; engine.Doubt() != "" {
		r.log.Warn("ladder: " + engine.Doubt())
	}
	result.Device, result.Precision = setup.DescribePlayers(r.opt.Effective.Config)
	r.page.Set(func(p *Page) {
		*p = Page{State: "playing", Player1: net.Name, Player2: "the ladder", Matches: r.done.Matches, Games: r.done.Games}
	})
	return net.Climb(ctx, limit, o)
}

// climber opens a net of the catalogue for the ladder.
func (r *rater) climber(n catalogue.Net) (*Climber, error) {
	net, meta, err := setup.ReadNetFile(filepath.Join(r.dir.Root, filepath.FromSlash(n.Path)))
	if err != nil {
		return nil, err
	}
	search, err := setup.SearchOf(meta)
	if err != nil {
		return nil, err
	}
	player, err := setup.OpenNetPlayer(r.opt.Effective.Config, net)
	return &Climber{player, n.Name, net.ID(), search}, err
}

// readLadder reads the answer of the ladder that is kept, an empty one where there is none or
// where it is damaged: it is made anew from the games beside it.
func readLadder(path string) (*ladder.Result, error) {
	r := &ladder.Result{}
	if there, err := run.ReadJSON(path, r); err != nil && !there {
		return nil, err
	} else if err != nil {
		return &ladder.Result{}, nil
	}
	return r, nil
}
