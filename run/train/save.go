package train

import (
	"context"

	"github.com/chessbrain/chessbrain/nn"
)

// firstCheckpoint saves a fresh run before its first game, so that even a run
// that is killed at once has its initial weights, and publishes them: the net
// that later ones are held against.
func (r *training) firstCheckpoint(ctx context.Context) error {
	if r.saver.episodes < 0 {
		if err := r.saver.save(ctx); err != nil {
			return err
		}
	}
	if r.state.Rows > 0 || r.trainer.NumSamples() > 0 || !r.out.exportsDirectly() {
		return r.out.payExport(ctx)
	}
	return r.out.bearable(r.out.exportOnce(ctx))
}

// finishState measures the last weights, saves what is not saved yet and
// exports the net. Candidates are those of whole epochs alone.
func (r *training) finishState(ctx context.Context) error {
	if r.saver.unsaved() {
		if err := r.reporter.validate(ctx); err != nil {
			return err
		}
		if err := r.saver.save(ctx); err != nil {
			return err
		}
	}
	if alone, last := r.pace.Exports(); alone && !last && !r.out.exportsDirectly() {
		return nil
	}
	return r.out.bearable(r.out.exportByMode(ctx))
}

func numParams(n *nn.Net) int {
	total := 0
	for _, p := range n.Params {
		total += len(p.Data)
	}
	return total
}
