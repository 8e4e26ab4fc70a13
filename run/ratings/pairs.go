package ratings

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/setup"
)

// opponent is a player of rating matches.
type opponent struct {
	log  arena.LogPlayer
	open func() (arena.Player, error)
	net  *nn.Net // that open has read; nil for who is no net
}

// pair is a match that the list wants: the newer net is the first.
type pair [2]*opponent

// path is where the pair's match lies, without its suffix. A net's name is that of
// a file already.
func (r *rater) path(p pair) string {
	return filepath.Join(r.dir.Matches(), p[0].log.Name+"__"+p[1].log.Name)
}

// nets returns the players of the nets that can play, oldest first.
func (r *rater) nets(c *catalogue.Catalogue) []*opponent {
	var all []*opponent
	for _, n := range playable(c) {
		all = append(all, r.net(n))
	}
	return all
}

// playable lists the accepted nets that can play, oldest first.
func playable(c *catalogue.Catalogue) []catalogue.Net {
	return slices.DeleteFunc(slices.Clone(c.Nets), func(n catalogue.Net) bool {
		return n.State != catalogue.Accepted || n.Path == "" || n.Problem != ""
	})
}

// net returns the player of a net.
func (r *rater) net(n catalogue.Net) *opponent {
	o := &opponent{log: arena.LogPlayer{Name: n.Name, NetID: n.NetID, SHA256: n.SHA256, Settings: fmt.Sprintf("visits=%d", r.want.Search.Search.Simulations)}}
	o.open = func() (arena.Player, error) {
		net, err := setup.ReadNet(filepath.Join(r.dir.Root, filepath.FromSlash(n.Path)))
		if err != nil {
			return nil, err
		}
		if id := net.ID(); id != n.NetID {
			return nil, fmt.Errorf("net %s has id %s, a moment ago it had %s: start again", n.Name, id, n.NetID)
		}
		p, err := setup.OpenNetPlayer(r.opt.Effective.Config, net)
		if err != nil {
			return nil, fmt.Errorf("prepare net %s for the match: %w", n.Name, err)
		}
		r.players = append(r.players, p)
		o.net = net
		return p.Player(n.Name, r.want.Search, arena.Limits{})
	}
	return o
}

// mover is the player of random moves.
func mover() *opponent {
	return &opponent{log: arena.LogPlayer{Name: RandomMover}, open: func() (arena.Player, error) {
		return named{RandomMover, arena.Random()}, nil
	}}
}

// named gives a player another name.
type named struct {
	name string
	arena.Player
}

func (n named) Name() string { return n.name }

// openEngines asks the configured engines for their names. One that does not answer is
// left out.
func (r *rater) openEngines() {
	for _, c := range r.want.Engines {
		p, err := arena.NewEngine(c)
		if err != nil {
			r.log.Warn("an engine is left out of the ratings: it does not play", "engine", c.Path, "settings", c.String(), "error", err)
			continue
		}
		c.Name = engineName(p.Name(), c.Limits.Nodes)
		if skill, ok := c.Options[setup.SkillOption]; ok {
			c.Name += "-skill" + skill
		}
		r.engines = append(r.engines, &opponent{log: arena.LogPlayer{Name: c.Name, Settings: c.String()},
			open: func() (arena.Player, error) { return arena.NewEngine(c) }})
	}
}

// unsafe is what a part of a file's name should not have.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// engineName makes a name for files of what an engine calls itself, so that another
// version is another player.
func engineName(id string, nodes int) string {
	id = cmp.Or(strings.Trim(unsafe.ReplaceAllString(strings.ToLower(id), "-"), "-."), "engine")
	return fmt.Sprintf("%s-n%d", id[:min(60, len(id))], nodes)
}

// pairs lists the matches that the configuration wants, those of the newest net
// first.
func (r *rater) pairs(nets []*opponent) []pair {
	var all []pair
	for i := len(nets) - 1; i >= 0; i-- {
		earliest := max(0, i-r.want.Opponents)
		for k := i - 1; k >= earliest; k-- {
			all = append(all, pair{nets[i], nets[k]})
		}
		if r.want.First && earliest > 0 {
			all = append(all, pair{nets[i], nets[0]})
		}
		if r.want.Random {
			all = append(all, pair{nets[i], mover()})
		}
		for _, e := range r.engines {
			all = append(all, pair{nets[i], e})
		}
	}
	return all
}

// complete says whether a pair's match has all its games, and their PGN.
func (r *rater) complete(c *catalogue.Catalogue, p pair) bool {
	if _, err := fsx.OS.Stat(r.path(p) + pgnSuffix); err != nil {
		return false
	}
	path := r.dir.Shorten(r.path(p) + logSuffix)
	settings := settingsOf(&arena.LogHeader{Players: [2]arena.LogPlayer{p[0].log, p[1].log}})
	for i := range c.Matches {
		m := &c.Matches[i]
		if m.Path == path {
			return m.Problem == "" && m.SHA1 == p[0].log.SHA256 && m.SHA2 == p[1].log.SHA256 && m.Settings == settings &&
				m.Wins+m.Draws+m.Losses >= r.want.Games
		}
	}
	return false
}
