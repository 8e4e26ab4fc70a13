package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// GrownKey is the entry of a checkpoint's manifest that lists the architectures that the
// training had before it grew, the first one first.
const GrownKey = "grown"

// growStep says that a training with so many rows behind it has a net of arch.
type growStep struct {
	arch nn.Arch
	from int64
}

// growth is a schedule of larger nets.
type growth []growStep

// growthOf reads loop.grow.
func growthOf(e *config.Effective) (growth, error) {
	g, err := parseGrowth(e.Config.GetLoop().GetGrow())
	if err != nil {
		return nil, e.Errorf("loop.grow", "want NET@ROWS, such as 64x6@2000000,128x10@10000000", "%v", err)
	}
	for i := range g {
		if auxiliary(e.Config) {
			g[i].arch = g[i].arch.WithAuxiliary()
		}
	}
	return g, nil
}

// parseGrowth reads "64x6@2000000,128x10@10000000". A net is a name, or JSON.
func parseGrowth(text string) (g growth, err error) {
	for rest := strings.TrimSpace(text); rest != ""; {
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
		rows, more, comma := strings.Cut(after, ",")
		if err == nil {
			s.from, err = strconv.ParseInt(strings.TrimSpace(rows), 10, 64)
		}
		switch rest = strings.TrimSpace(more); {
		case err != nil:
			return nil, fmt.Errorf("step %d: %v", len(g)+1, err) // not %w: JSON's errors are those of damaged files
		case s.from < 0:
			return nil, fmt.Errorf("step %d begins at %d rows, below 0", len(g)+1, s.from)
		case comma && rest == "":
			return nil, errors.New("nothing follows the last comma")
		case len(g) > 0 && s.from <= g[len(g)-1].from:
			return nil, fmt.Errorf("step %d begins at %d rows, not after step %d at %d", len(g)+1, s.from, len(g), g[len(g)-1].from)
		}
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
	for _, s := range g.behind(a) {
		if err := a.GrowsTo(s.arch); err != nil {
			return err
		}
		a = s.arch
	}
	return nil
}

// checkGrowth refuses a loop.grow that cannot be done from the net that e begins with, and
// so from no larger one.
func checkGrowth(e *config.Effective) error {
	a, err := firstArch(e.Config)
	if err != nil {
		return nil // others say so
	}
	if auxiliary(e.Config) {
		a = a.WithAuxiliary()
	}
	return checkGrowthFrom(e, a)
}

// checkGrowthFrom refuses a loop.grow that cannot be done from a net of a.
func checkGrowthFrom(e *config.Effective, a nn.Arch) error {
	g, err := growthOf(e)
	if err != nil {
		return err
	}
	if err := g.check(a); err != nil {
		return e.Errorf("loop.grow", "name larger nets of its kind, each larger than the one before", "%v", err)
	}
	return nil
}

// Grown returns the architecture that a training goes on with whose net is a and that has
// trained on so many rows: a, or that of the last step of loop.grow that is due.
func (t *Training) Grown(a nn.Arch, rows int64) (nn.Arch, error) {
	if t.Source != Shuffles {
		return a, nil
	}
	g, err := growthOf(t.e)
	for _, s := range g.behind(a) {
		if s.from <= rows {
			a = s.arch
		}
	}
	return a, err
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
