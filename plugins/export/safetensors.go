package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Safetensors writes a net as <net name>.safetensors (docs/FORMATS.md).
type Safetensors struct{ fsys fsx.FS }

// NewSafetensors returns the exporter over a file system.
func NewSafetensors(fsys fsx.FS) *Safetensors { return &Safetensors{fsys} }

// Name returns "safetensors".
func (*Safetensors) Name() string { return "safetensors" }

// Export writes the file into dst, which is made if it is missing, and returns
// its path. Tensors that do not fit the architecture, a wrong id and numbers
// that are not finite (nn.ErrNotFinite) are errors, and nothing is written then.
func (s *Safetensors) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	return writeNet(ctx, s.fsys, c, dst, ".safetensors", func(w io.Writer, net *nn.Net) error {
		return nn.WriteSafetensors(w, net, metadata(c))
	})
}

// netOf checks a checkpoint and returns its net, which shares the tensors.
func netOf(c *stage.Checkpoint) (*nn.Net, error) {
	net := &nn.Net{}
	if err := json.Unmarshal(c.Arch, &net.Arch); err != nil {
		return nil, fmt.Errorf("architecture: %w", err)
	}
	for _, t := range c.Tensors {
		net.Params = append(net.Params, nn.Param(t))
	}
	if err := net.Validate(); err != nil {
		return nil, err
	}
	if err := net.CheckFinite(); err != nil {
		return nil, err
	}
	if id := net.ID(); c.Net.ID != "" && c.Net.ID != id {
		return nil, fmt.Errorf("the tensors have id %s, the checkpoint says %s", id, c.Net.ID)
	}
	return net, nil
}
