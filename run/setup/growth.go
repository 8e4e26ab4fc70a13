package setup

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Entries of a checkpoint's manifest: its net, and those that the training had before it
// grew, the first one first.
const (
	ArchKey  = "arch"
	GrownKey = "grown"
)

// growStep says from where on a training has a net of arch: with so many rows behind it, or
// once the run's newest accepted net has so much Elo.
type growStep struct {
	arch nn.Arch
	from int64
	elo  bool // from is Elo
}

// maxElo bounds the Elo of a step, as that of loop.elo.
const maxElo = 100_000

// growth is a schedule of larger nets.
type growth []growStep

// growthOf reads loop.grow.
func growthOf(e *config.Effective) (growth, error) {
	g, err := parseGrowth(e.Config.GetLoop().GetGrow(), e.Config)
	if err != nil {
		return nil, e.Errorf("loop.grow", "want NET@ROWS or NET@ELOelo, such as 64x6@2000000,128x10@1200elo", "%v", err)
	}
	return g, nil
}

// parseGrowth reads "64x6@2000000,128x10@1200elo". A net is a name, or JSON, and gets the
// heads that losses want.
func parseGrowth(text string, c *config.Config) (g growth, err error) {
	var rows, rest string
	for rest = strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		var s growStep
		name, after, _ := strings.Cut(rest, "@")
		if strings.HasPrefix(rest, "{") { // may hold commas
			in := json.NewDecoder(strings.NewReader(rest))
			if err = in.Decode(&s.arch); err == nil {
				err = s.arch.Validate()
			}
			after, _ = strings.CutPrefix(rest[in.InputOffset():], "@")
		} else {
			s.arch, err = nn.ParseArch(strings.TrimSpace(name))
		}
		rows, rest, _ = strings.Cut(after, ",")
		rows, s.elo = strings.CutSuffix(strings.TrimSpace(rows), "elo")
		if s.from, _ = strconv.ParseInt(rows, 10, 64); err == nil && strconv.FormatInt(s.from, 10) != rows {
			err = fmt.Errorf("%q is no number of rows or, before elo, of Elo", rows)
		}
		if err != nil {
			return nil, fmt.Errorf("step %d: %v", len(g)+1, err) // not %w: JSON's errors are those of damaged files
		}
		before := slices.ContainsFunc(g, func(b growStep) bool { return b.elo == s.elo && b.from >= s.from })
		if unit := map[bool]string{false: "rows", true: "Elo"}[s.elo]; s.from < 0 || before {
			return nil, fmt.Errorf("step %d begins at %d %s: want 0 or more, and more than the step before", len(g)+1, s.from, unit)
		}
		if s.elo && s.from > maxElo {
			return nil, fmt.Errorf("step %d begins at %d Elo: want at most %d", len(g)+1, s.from, maxElo)
		}
		s.arch = learning(c, s.arch)
		g = append(g, s)
	}
	return g, nil
}

// behind are the steps that a training whose net is a has not done.
func (g growth) behind(a nn.Arch) growth {
	return g[1+slices.IndexFunc(g, func(s growStep) bool { return s.arch.Equal(a) }):]
}

// check refuses steps of which one does not grow from the net before, the first one from a.
func (g growth) check(a nn.Arch) error {
	for i, s := range g {
		if i > 0 || len(g.behind(a)) == len(g) { // else it is done, and need not come from a
			if err := a.GrowsTo(s.arch); err != nil {
				return err
			}
		}
		a = s.arch
	}
	return nil
}

// checkGrowth refuses a loop.grow that cannot be done from a net of a.
func checkGrowth(e *config.Effective, a nn.Arch) error {
	a = learning(e.Config, a)
	g, err := growthOf(e)
	if err != nil {
		return err
	}
	l := e.Config.GetLoop()
	if rated := l.GetGating() || l.GetRating().GetGames() > 0; !rated && slices.ContainsFunc(g, func(s growStep) bool { return s.elo }) {
		return e.Errorf("loop.grow", "set --rating-games, or name rows", "no match rates the nets: without --gating and --rating-games no net has an Elo")
	}
	if err := g.check(a); err != nil {
		return e.Errorf("loop.grow", "name larger nets of its kind, each larger than the one before", "%v", err)
	}
	return nil
}

// Grown returns the architecture that a training of the run goes on with whose net is a and
// that has trained on so many rows: a, or that of the last step of loop.grow that is due.
func (t *Training) Grown(d run.Dir, a nn.Arch, rows int64) (nn.Arch, error) {
	g, err := growthOf(t.e)
	if t.Source != Shuffles {
		return a, err
	}
	elo, rated := newestElo(d)
	for _, s := range g.behind(a) {
		if due := rated && float64(s.from) <= elo; s.elo && due || !s.elo && s.from <= rows {
			a = s.arch
		}
	}
	return a, err
}

// newestElo is the Elo of the run's newest accepted net in its rating list. ok is false while
// it has none.
func newestElo(d run.Dir) (elo float64, ok bool) {
	newest, err := NewestNet(d, d.Models())
	if err != nil || newest == nil {
		return 0, false
	}
	c, err := catalogue.Read(fsx.OS, d.Catalogue())
	if err != nil { // the next rating makes it anew
		return 0, false
	}
	r, ok := c.Rating(newest.Name)
	return r.Elo, ok
}

// CheckpointArch reads the architecture of a checkpoint's net, and those that the training
// had before it grew.
func CheckpointArch(c *checkpoint.Checkpoint) (a nn.Arch, had []string, err error) {
	f, err := c.Open(NetFile)
	if err != nil {
		return a, nil, err
	}
	defer f.Close()
	if a, err = nn.ReadArch(f); err != nil {
		return a, nil, fmt.Errorf("read %s of checkpoint %s: %w", NetFile, c.Path, err)
	}
	return a, strings.Fields(c.Manifest.Info[GrownKey]), nil
}

// hadNet says whether the training has grown, and has or had a net of this architecture:
// its start may name any of them.
func (s *Start) hadNet(want nn.Arch) bool {
	m, path, err := newestManifest(s.Dir.Checkpoints)
	if err != nil || m == nil || m.Info[GrownKey] == "" {
		return false
	}
	have, err := ReadArch(filepath.Join(path, NetFile))
	return err == nil && (have.Equal(want) || slices.Contains(strings.Fields(m.Info[GrownKey]), want.Spelled()))
}
