package export

import (
	"context"
	"io"
	"math"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/stage"
)

// Leela writes a net as <net name>.pb.gz, which Leela's engine loads.
type Leela struct {
	fsys     fsx.FS
	encoding lc0.LayerEncoding
}

// NewLeela returns the exporter over a file system. Weights are stored in the
// given encoding; engines before 0.33 read lc0.Linear16 alone.
func NewLeela(fsys fsx.FS, encoding lc0.LayerEncoding) *Leela { return &Leela{fsys, encoding} }

// Name returns "lc0".
func (*Leela) Name() string { return "lc0" }

// Export writes the file into dst, which is made if it is missing, and returns
// its path. The file's training steps are the net's optimizer steps; its license
// is the checkpoint's metadata of that name. Errors are those of Safetensors and
// lc0.WriteNet, and nothing is written then.
func (l *Leela) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	info := &lc0.NetInfo{License: c.Metadata["license"], TrainingSteps: uint32(min(c.Net.Step, math.MaxUint32))}
	return writeNet(ctx, l.fsys, c, dst, ".pb.gz", func(w io.Writer, net *nn.Net) error {
		return lc0.WriteNet(w, net, info, l.encoding)
	})
}
