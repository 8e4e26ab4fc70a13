package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda"
)

// NetPlayer is one net on the device of a configuration's players, for any number of
// callers: of a match, an engine, an exam, a tool that writes answers out.
type NetPlayer struct {
	inference Inference
	packed    Packed
}

// OpenNetPlayer prepares net. The caller closes the player when no evaluator is at
// work any more.
func OpenNetPlayer(c *config.Config, net *nn.Net) (*NetPlayer, error) {
	p := &NetPlayer{}
	var err error
	auto := c.GetSelfplay().GetProducerDevice() == "auto" && c.GetTraining().GetDevice() == "auto"
	if auto && cuda.Computes(net.Arch) != nil { // a CPU; a GPU that somebody asked for refuses it
		p.inference = CpuInference{kernelPrecision(onCPU.precision(wantedByPlayers(c)))}
	} else if p.inference, err = OpenInference(c); err != nil {
		return nil, err
	}
	if p.packed, err = p.inference.Pack(net); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Evaluator returns one goroutine's evaluator, for batches of up to maxBatch positions.
func (p *NetPlayer) Evaluator(maxBatch int) (Evaluator, error) {
	return p.inference.NewEvaluator(p.packed, maxBatch)
}

// NewEvaluator is Evaluator for those who cannot take an error, such as
// arena.NetConfig: it is then the evaluator's.
func (p *NetPlayer) NewEvaluator(maxBatch int) mcts.Evaluator {
	e, err := p.Evaluator(maxBatch)
	if err != nil {
		return Failed{Err: err}
	}
	return e
}

// Player makes the net a player of matches under a name. The limits are of time,
// besides the settings' visits.
func (p *NetPlayer) Player(name string, s arena.Settings, l arena.Limits) (arena.Player, error) {
	return arena.NewNet(arena.NetConfig{Name: name, NewEvaluator: p.NewEvaluator, Settings: [2]arena.Settings{s, s}, CacheEntries: arena.DefaultCache, Limits: l})
}

// Warm lets a GPU load what batches need, and finds out whether it works, before a
// clock runs: kernels that are new to the driver are compiled, which takes seconds. On
// the CPU there is nothing to do.
func (p *NetPlayer) Warm(ctx context.Context, maxBatch int) error {
	number := 0
	switch i := p.inference.(type) {
	case *gpuInference:
		number = 1
	case *severalGPUs:
		number = len(i.each)
	}
	for range number { // evaluators are of the GPUs in turn
		if err := p.warm(ctx, maxBatch); err != nil {
			return err
		}
	}
	return nil
}

func (p *NetPlayer) warm(ctx context.Context, maxBatch int) error {
	e, err := p.Evaluator(maxBatch)
	if err != nil {
		return err
	}
	var legal chess.MoveList
	start := chess.NewHistory(chess.StartBoard())
	start.Board().GenerateMoves(&legal)
	b := encoding.NewBatch(maxBatch)
	for _, n := range []int{1, maxBatch} {
		for b.N < n {
			encoding.AppendPosition(b, start, &legal)
		}
		if err := e.Evaluate(ctx, b); err != nil {
			return fmt.Errorf("the net's first positions: %w", err)
		}
	}
	return nil
}

// Close gives the device back; no evaluator may be at work.
func (p *NetPlayer) Close() error { return p.inference.Close() }
