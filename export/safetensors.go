package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strconv"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/stage"
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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	net, err := netOf(c)
	if err != nil {
		return nil, fmt.Errorf("export net %s: %w", c.Net.Name, err)
	}
	meta := maps.Clone(c.Metadata)
	if meta == nil {
		meta = map[string]string{}
	}
	meta["name"] = c.Net.Name
	meta["step"] = strconv.FormatUint(c.Net.Step, 10)
	meta["samples"] = strconv.FormatUint(c.Net.Samples, 10)
	meta["rows"] = strconv.FormatUint(c.Net.Rows, 10)
	if err := fsx.MkdirAll(s.fsys, dst); err != nil {
		return nil, fmt.Errorf("export net %s: %w", c.Net.Name, err)
	}
	path := filepath.Join(dst, c.Net.Name+".safetensors")
	err = fsx.WriteFileFunc(s.fsys, path, func(w io.Writer) error { return nn.WriteSafetensors(w, net, meta) })
	if err != nil {
		return nil, fmt.Errorf("export net: %w", err)
	}
	return []string{path}, nil
}

// netOf checks a checkpoint and returns its net, which shares the tensors.
func netOf(c *stage.Checkpoint) (*nn.Net, error) {
	if err := checkName(c.Net.Name); err != nil {
		return nil, err
	}
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
