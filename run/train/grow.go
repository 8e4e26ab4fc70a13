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
func firstWeights(r *training, saved *checkpoint.Checkpoint) (*nn.Net, error) {
	have, rows := r.initial.Arch, int64(0)
	r.grown.seed = r.info.Seed + 1 // of the run's seed are the weights that are there
	if saved != nil {
		arch, had, err := setup.CheckpointArch(saved)
		if err != nil {
			return nil, err
		}
		rows, r.grown.had = saved.Manifest.Samples, had
		r.grown.seed += uint64(saved.Manifest.Step)
		have = arch
	}
	to, err := r.cfg.Grown(have, rows)
	if err != nil {
		return nil, err
	}
	if len(r.grown.had) == 0 && !have.Equal(r.initial.Arch) && !to.Equal(r.initial.Arch) {
		return r.initial, nil // an older checkpoint, of another net: its state says so
	}
	if to.Equal(have) {
		if have.Equal(r.initial.Arch) {
			return r.initial, nil
		}
		return nn.Init(have, r.info.Seed), nil
	}
	r.grown.had, r.grown.now = append(r.grown.had, have.Spelled()), true
	r.log.Info("the net grows", "from", have, "to", to, "parameters", to.NumParams(), "rows_trained_on", rows)
	if saved == nil {
		return nn.Grow(r.initial, to, r.grown.seed)
	}
	return nn.Init(to, r.grown.seed), nil
}

// trainerSection is the trainer's section, which grows what it loads where that is due.
func (c *core) trainerSection() stage.Section {
	if c.grown.now {
		return c.trainer.GrownSection(c.grown.seed)
	}
	return c.trainer.Section()
}
