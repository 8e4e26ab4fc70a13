package train

import (
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// grown says how the net of a training came to its size.
type grown struct {
	had  []string // architectures before, the first one first
	now  bool     // this process made the newest of them larger
	seed uint64   // of the new weights
}

// firstWeights returns a net of the architecture that the training goes on with: that of
// its checkpoint, if any, or a larger one where a step of loop.grow is due. The state of
// the checkpoint is loaded over it, which grows with it in memory. Nothing is written
// before the first checkpoint of the larger net: a process that is killed until then
// leaves all to the next one, which comes to the same net.
func (c *core) firstWeights(saved *checkpoint.Checkpoint) (*nn.Net, error) {
	have, rows := c.initial.Arch, int64(0)
	c.grown.seed = c.info.Seed + 1 // of the run's seed are the weights that are there
	if saved != nil {
		arch, had, err := setup.CheckpointArch(saved)
		if err != nil {
			return nil, err
		}
		have, rows, c.grown.had = arch, saved.Manifest.Samples, had
		c.grown.seed += uint64(saved.Manifest.Step)
	}
	to, err := c.cfg.Grown(c.dir, have, rows)
	switch {
	case err != nil:
		return nil, err
	case len(c.grown.had) == 0 && !have.Equal(c.initial.Arch) && !to.Equal(c.initial.Arch):
		return c.initial, nil // an older checkpoint, of another net: its state says so
	case !to.Equal(have):
		c.grown.had, c.grown.now = append(c.grown.had, have.Spelled()), true
		c.log.Info("the net grows", "from", have, "to", to, "rows_trained_on", rows)
	}
	switch {
	case to.Equal(c.initial.Arch):
		return c.initial, nil
	case saved == nil:
		return nn.Grow(c.initial, to, c.grown.seed)
	}
	return nn.Init(to, c.grown.seed), nil
}

// trainerSection is the trainer's section, which grows what it loads where that is due.
func (c *core) trainerSection() stage.Section {
	if c.grown.now {
		return c.trainer.GrownSection(c.grown.seed)
	}
	return c.trainer.Section()
}
