package export

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// ofNet prepares the net of a checkpoint. Tensors that do not fit the architecture, a
// wrong id and numbers that are not finite (nn.ErrNotFinite) are errors.
func ofNet(write func(w io.Writer, net *nn.Net, c *stage.Checkpoint) error) (prepare, error) {
	return func(_ context.Context, c *stage.Checkpoint) (func(io.Writer) error, error) {
		net, err := netOf(c)
		return func(w io.Writer) error { return write(w, net, c) }, err
	}, nil
}

// newSafetensors returns the exporter of docs/FORMATS.md.
func newSafetensors(stage.Values) (prepare, error) {
	return ofNet(func(w io.Writer, net *nn.Net, c *stage.Checkpoint) error {
		return nn.WriteSafetensors(w, net, metadata(c))
	})
}

// newONNX returns the exporter with the inputs and outputs of Leela's own converter
// (lc0.WriteONNX).
func newONNX(stage.Values) (prepare, error) {
	return ofNet(func(w io.Writer, net *nn.Net, c *stage.Checkpoint) error { return lc0.WriteONNX(w, net, metadata(c)) })
}

var leelaSettings = []stage.Setting{
	{Name: "encoding", Doc: "how weights are stored; engines before 0.33 read linear16 alone",
		Default: lc0.Linear16.String(), Text: true, Choices: lc0.EncodingNames()},
	{Name: "fold", Doc: "yes folds batch norm into the convolutions, for a net that nobody trains on",
		Default: "no", Text: true, Choices: []string{"no", "yes"}},
}

// newLeela returns the exporter of a net that Leela's engine loads. The file's training
// steps are the net's optimizer steps; its license is the checkpoint's metadata of that
// name.
func newLeela(v stage.Values) (prepare, error) {
	encoding, err := lc0.ParseLayerEncoding(v.Text("encoding"))
	if err != nil {
		return nil, err
	}
	return ofNet(func(w io.Writer, net *nn.Net, c *stage.Checkpoint) error {
		info := &lc0.NetInfo{License: c.Metadata["license"], TrainingSteps: uint32(min(c.Net.Step, math.MaxUint32)), Folded: v.Text("fold") == "yes"}
		return lc0.WriteNet(w, net, info, encoding)
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
	if err := cmp.Or(net.Validate(), net.CheckFinite()); err != nil {
		return nil, err
	}
	if id := net.ID(); c.Net.ID != "" && c.Net.ID != id {
		return nil, fmt.Errorf("the tensors have id %s, the checkpoint says %s", id, c.Net.ID)
	}
	return net, nil
}
