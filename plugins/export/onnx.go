package export

import (
	"context"
	"io"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// ONNX writes a net as <net name>.onnx, with the inputs and outputs of Leela's
// own converter (lc0.WriteONNX).
type ONNX struct{ fsys fsx.FS }

// NewONNX returns the exporter over a file system.
func NewONNX(fsys fsx.FS) *ONNX { return &ONNX{fsys} }

// Name returns "onnx".
func (*ONNX) Name() string { return "onnx" }

// Export writes the file into dst, which is made if it is missing, and returns
// its path. Errors are those of Safetensors and lc0.WriteONNX, and nothing is
// written then.
func (o *ONNX) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	return writeNet(ctx, o.fsys, c, dst, ".onnx", func(w io.Writer, net *nn.Net) error {
		return lc0.WriteONNX(w, net, metadata(c))
	})
}
