package plugintest

import (
	"encoding/json"
	"fmt"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Checkpoint returns a small net with seeded weights as an exporter sees it.
// games are what it has of them; nil = none to be had.
func Checkpoint(seed uint64, games []*record.Game) *stage.Checkpoint {
	arch := nn.DefaultArch()
	arch.Filters, arch.Blocks = 16, 1
	net := nn.Init(arch, seed)
	text, err := json.Marshal(arch)
	if err != nil {
		panic(err) // a plain struct of numbers and texts
	}
	c := &stage.Checkpoint{
		Net: stage.NetInfo{
			Name: fmt.Sprintf("plugintest-main-s%d-d%d", 64+seed%1000, 128+seed%1000), ID: net.ID(),
			Step: 4, Samples: 64 + seed%1000, Rows: 128 + seed%1000,
		},
		Arch:     text,
		Metadata: map[string]string{"license": "test", "note": "made from a seed: ünïcode"},
	}
	for _, p := range net.Params {
		c.Tensors = append(c.Tensors, stage.Tensor(p))
	}
	if games != nil {
		c.Games = func(yield func(*record.Game, error) bool) {
			for _, g := range games {
				if !yield(g, nil) {
					return
				}
			}
		}
	}
	return c
}

// netOf returns a checkpoint's net, for its ID.
func netOf(c *stage.Checkpoint) *nn.Net {
	n := &nn.Net{}
	for _, t := range c.Tensors {
		n.Params = append(n.Params, nn.Param(t))
	}
	return n
}
