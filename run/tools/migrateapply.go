package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/trainer"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Net makes the new net of a plan without problems: what is not carried over is
// drawn by seed.
func (p *Plan) Net(from *nn.Net, to nn.Arch, seed uint64) (*nn.Net, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	net := nn.Init(to, seed)
	for _, m := range p.Moved {
		src, dst := from.Get(m.From), net.Get(m.To)
		if len(src) == 0 || len(src) != len(dst) {
			return nil, fmt.Errorf("carry %s over to %s: %d numbers instead of %d", m.From, m.To, len(src), len(dst))
		}
		copy(dst, src)
	}
	return net, net.Validate()
}

// Continuation is how far the old net was trained, with the moments of the
// parameters that are carried over: none where the new configuration has another
// optimizer, or with moments false. dropped counts the moments left behind.
func (p *Plan) Continuation(c *checkpoint.Checkpoint, optimizer string, moments bool) (t *trainer.Continuation, dropped int, err error) {
	s, err := readTrainerState(c)
	if err != nil {
		return nil, 0, err
	}
	t = &trainer.Continuation{Steps: s.Steps, Samples: s.Samples, Moments: map[string][]float32{}}
	if !moments || s.Optimizer != optimizer {
		return t, len(s.Moments), nil
	}
	t.OptimizerSteps = s.OptimizerSteps
	to := map[string]string{}
	for _, m := range p.Moved {
		to[m.From] = m.To
	}
	for name, data := range s.Moments {
		kind, param, _ := strings.Cut(name, ".")
		if fresh, ok := to[param]; ok {
			t.Moments[kind+"."+fresh] = data
		} else {
			dropped++
		}
	}
	return t, dropped, nil
}

// readTrainerState reads the trainer's section of a checkpoint.
func readTrainerState(c *checkpoint.Checkpoint) (*trainer.SavedState, error) {
	i := slices.IndexFunc(c.Manifest.Files, func(f checkpoint.ManifestFile) bool { return f.Section == trainer.SectionName })
	if i < 0 {
		return nil, fmt.Errorf("checkpoint %s has no section %q: %w", c.Manifest.Name, trainer.SectionName, fs.ErrNotExist)
	}
	f, err := c.Open(c.Manifest.Files[i].Name)
	if err != nil {
		return nil, err
	}
	s, err := trainer.ReadState(f, c.Manifest.Files[i].Version)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", c.Path, err)
	}
	return s, nil
}
