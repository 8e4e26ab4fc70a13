package export

import (
	"context"
	"io"
	"math"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Leela writes a net as <net name>.pb.gz, which Leela's engine loads.
type Leela struct {
	fsys fsx.FS
	opt  LeelaOptions
}

// LeelaOptions say how the weights are stored.
type LeelaOptions struct {
	Encoding lc0.LayerEncoding // engines before 0.33 read lc0.Linear16 alone
	Folded   bool              // batch norm is folded into the convolutions: to play with, not to train on
}

// leelaDefinition describes the exporter "lc0".
func leelaDefinition(fsys fsx.FS) *stage.Definition {
	return &stage.Definition{Name: "lc0", Doc: "writes the net for Leela's engine (.pb.gz)",
		Settings: []stage.Setting{
			{Name: "encoding", Doc: "how weights are stored; engines before 0.33 read linear16 alone",
				Default: lc0.Linear16.String(), Text: true, Choices: lc0.EncodingNames()},
			{Name: "fold", Doc: "yes folds batch norm into the convolutions, for a net that nobody trains on",
				Default: "no", Text: true, Choices: []string{"no", "yes"}},
		},
		NewExporter: func(v stage.Values) (stage.Exporter, error) {
			e, err := lc0.ParseLayerEncoding(v.Text("encoding"))
			if err != nil {
				return nil, err
			}
			return NewLeela(fsys, LeelaOptions{Encoding: e, Folded: v.Text("fold") == "yes"}), nil
		}}
}

// NewLeela returns the exporter over a file system.
func NewLeela(fsys fsx.FS, opt LeelaOptions) *Leela { return &Leela{fsys, opt} }

// Name returns "lc0".
func (*Leela) Name() string { return "lc0" }

// Export writes the file into dst, which is made if it is missing, and returns
// its path. The file's training steps are the net's optimizer steps; its license
// is the checkpoint's metadata of that name. Errors are those of Safetensors and
// lc0.WriteNet, and nothing is written then.
func (l *Leela) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	info := &lc0.NetInfo{License: c.Metadata["license"], TrainingSteps: uint32(min(c.Net.Step, math.MaxUint32)), Folded: l.opt.Folded}
	return writeNet(ctx, l.fsys, c, dst, ".pb.gz", func(w io.Writer, net *nn.Net) error {
		return lc0.WriteNet(w, net, info, l.opt.Encoding)
	})
}
