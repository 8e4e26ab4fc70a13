package trainer

import (
	"io"
	"strings"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// GrownSection is Section for a state of a smaller net, which nn.Grow makes one of this
// trainer's of. Weights and averaged weights answer as before. Counts and loss scale are
// carried over, and so are the moments: those of new weights are 0, and the mean beside
// them where they are second moments. seed draws new weights.
func (t *Trainer) GrownSection(seed uint64) stage.Section {
	s := t.Section()
	s.Load = func(r io.Reader, version int) error {
		var small *Trainer // has no device
		h, data, err := readState(r, version, func(h *stateHeader) error {
			arch, err := h.arch()
			if err != nil {
				return err
			}
			small = &Trainer{cfg: t.cfg, specs: nn.Specs(arch), net: nn.Zero(arch)}
			small.opt = newOptimizerState(t.cfg.Optimizer, small.trained())
			return small.fits(h)
		})
		if err != nil {
			return err
		}
		if data, err = t.grown(small.net.Arch, h, data, seed); err != nil {
			return err
		}
		return t.adopt(h, data)
	}
	return s
}

// grown makes of the tensors of a smaller net's state those of this trainer's.
func (t *Trainer) grown(from nn.Arch, h *stateHeader, data [][]float32, seed uint64) ([][]float32, error) {
	nets := map[string]*nn.Net{} // tensors of one kind, in the place of a net's parameters
	for i, e := range h.Tensors {
		kind, name, _ := strings.Cut(e.Name, ".")
		if nets[kind] == nil {
			nets[kind] = nn.Zero(from)
		}
		copy(nets[kind].Get(name), data[i])
	}
	var err error
	for kind, net := range nets {
		switch kind {
		case "net", "swa":
			nets[kind], err = nn.Grow(net, t.net.Arch, seed)
		default:
			nets[kind], err = nn.GrowMoments(net, t.net.Arch, kind == "v")
		}
		if err != nil {
			return nil, err
		}
	}
	var swa [][]float32
	if h.SWA {
		swa = t.paramData() // for names
	}
	var all [][]float32
	for _, e := range t.tensors(swa).entries {
		kind, name, _ := strings.Cut(e.Name, ".")
		all = append(all, nets[kind].Get(name))
	}
	return all, nil
}
