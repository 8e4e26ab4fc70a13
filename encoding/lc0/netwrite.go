package lc0

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// Engines that a written file needs at least: for a residual tower, for mish and the
// attention policy, for attention bodies, for those of a dense embedding or with several
// heads of an output, for layers that are not Linear16.
var (
	versionTower     = [3]uint32{0, 21, 0}
	versionMish      = [3]uint32{0, 29, 0}
	versionAttention = [3]uint32{0, 30, 0}
	versionDense     = [3]uint32{0, 31, 0}
	versionEncodings = [3]uint32{0, 33, 0}
)

// WriteNet writes a valid net of finite numbers as Leela's engine reads it: a
// gzipped network file, plane 109 of the first convolution in plies. info may be
// nil; its MinVersion is raised to what the net and the encoding need. Batch norm
// is kept, for a net that will be trained on, unless info.Folded asks for
// convolutions with a bias alone; the files of attention nets have none. A pooled value head is written as a flattened one
// (nn.Flatten), which is what ReadNet gives back. The same input gives the same bytes. Errors
// wrap nn.ErrArch, nn.ErrParams, nn.ErrNotFinite, ErrUnsupported (a number that
// the encoding cannot hold, a file too large to be read back), or are w's.
func WriteNet(w io.Writer, net *nn.Net, info *NetInfo, e LayerEncoding) error {
	file, err := netFile(net, info, e)
	if err != nil {
		return fmt.Errorf("write Leela net: %w", err)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(file)
	if err != nil {
		return fmt.Errorf("write Leela net: %w", err)
	}
	if len(data) > maxNetBytes {
		return fmt.Errorf("write Leela net: %w: %d bytes, at most %d can be read back", ErrUnsupported, len(data), maxNetBytes)
	}
	z := gzip.NewWriter(w)
	_, err = z.Write(data)
	if err := errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("write Leela net: %w", err)
	}
	return nil
}

// netFile returns the message of a net.
func netFile(net *nn.Net, info *NetInfo, e LayerEncoding) (*netpb.Net, error) {
	if !e.known() {
		return nil, fmt.Errorf("%w: %s of weights", ErrUnsupported, e)
	}
	if err := errors.Join(net.Validate(), net.CheckFinite(), net.Arch.Only("a Leela network file", kinds...)); err != nil {
		return nil, err
	}
	net = net.Keep(func(h nn.Head) bool { return h.Plays() || h.Name != "" && net.Arch.Attention() })
	if err := checkPolicy(net.Arch); err != nil {
		return nil, err
	}
	info = cmp.Or(info, &NetInfo{})
	b := &netBuilder{net: nn.Flatten(net), encoding: e}
	if info.Folded || net.Arch.Attention() {
		b.net, b.folded = foldedNet(b.net), true
		if err := b.net.CheckFinite(); err != nil {
			return nil, fmt.Errorf("fold batch norm: %w", err)
		}
	}
	weights := b.weights()
	if b.err != nil {
		return nil, b.err
	}
	v := minVersion(net.Arch, info.MinVersion, e)
	return &netpb.Net{
		Magic: proto.Uint32(netMagic), License: proto.String(info.License),
		MinVersion: &netpb.EngineVersion{Major: &v[0], Minor: &v[1], Patch: &v[2]},
		// The file's encoding has one value only; layers name theirs where it differs.
		Format:         &netpb.Format{WeightsEncoding: proto.Int32(int32(Linear16)), NetworkFormat: formatOf(net.Arch)},
		TrainingParams: &netpb.TrainingParams{TrainingSteps: proto.Uint32(info.TrainingSteps)},
		Weights:        weights,
	}, nil
}

// minVersion returns the least engine that computes what the file holds.
func minVersion(a nn.Arch, v [3]uint32, e LayerEncoding) [3]uint32 {
	raise := func(needed bool, to [3]uint32) {
		if needed && slices.Compare(v[:], to[:]) < 0 {
			v = to
		}
	}
	raise(true, versionTower)
	raise(a.Activation == nn.Mish || a.Head(nn.Policy).Attends(), versionMish)
	raise(a.Attention(), versionAttention)
	raise(a.Blocks[0].Kind == nn.BlockDenseEmbedding || hasFurther(a), versionDense)
	raise(e != Linear16, versionEncodings)
	return v
}

// formatOf returns the network format of an architecture.
func formatOf(a nn.Arch) *netpb.NetworkFormat {
	choose := func(condition bool, yes, no int32) *int32 {
		if condition {
			return &yes
		}
		return &no
	}
	wdl := a.ValueForm() == nn.ValueWDL
	policy := map[string]int32{nn.PolicyClassical: policyClassical, nn.PolicyConvolutional: policyConv, nn.PolicyAttention: policyAttention, nn.PolicyEncoded: policyAttention}
	f := &netpb.NetworkFormat{
		Input:             proto.Int32(int32(a.InputFormat())),
		Output:            choose(wdl, outputWDL, outputClassical),
		Network:           choose(a.SEUnits() > 0, networkSE, networkClassical),
		Policy:            proto.Int32(policy[a.Head(nn.Policy).Kind]),
		Value:             choose(wdl, valueWDL, valueClassical),
		MovesLeft:         choose(a.Head(nn.MovesLeft) != nil, movesLeftV1, 0),
		DefaultActivation: choose(a.Activation == nn.Mish, activationMish, 0),
	}
	if a.Attention() {
		last := a.Blocks[len(a.Blocks)-1]
		f.Network = choose(hasFurther(a), networkHeads, networkAttention)
		f.InputEmbedding = choose(a.Blocks[0].Kind == nn.BlockDenseEmbedding, embeddingDense, embeddingMap)
		f.FfnActivation = proto.Int32(activationNumber(last.HiddenActivation))
		if last.Kind == nn.BlockSmolgen {
			f.SmolgenActivation = proto.Int32(activationNumber(last.SmolgenActivation))
		}
	}
	return f
}

// hasFurther says whether an attention net has what only messages of heads have places for.
func hasFurther(a nn.Arch) bool {
	return slices.ContainsFunc(a.Heads, func(h nn.Head) bool { return h.Name != "" || h.Forecasts() && a.Attention() })
}

// netBuilder makes the layers of a file.
type netBuilder struct {
	net      *nn.Net
	encoding LayerEncoding
	folded   bool  // beta is the bias, and there is no batch norm
	err      error // the first
}

func (b *netBuilder) weights() *netpb.Weights {
	w, further := &netpb.Weights{}, furtherHeads{}
	if last := b.net.Arch.Blocks[len(b.net.Arch.Blocks)-1]; last.Heads > 0 {
		w.Headcount = proto.Uint32(uint32(last.Heads))
	}
	for _, h := range b.net.Arch.Heads {
		if h.Heads > 0 {
			further.of(w, h).PolHeadcount = proto.Uint32(uint32(h.Heads))
		}
	}
	eachLayer(b.net.Arch, w, further, b)
	further.gather(w)
	return w
}

// layer encodes a parameter.
func (b *netBuilder) layer(name string) *netpb.Layer {
	if b.err != nil {
		return nil
	}
	data := slices.Clone(b.net.Get(name))
	leelas(b.net.Arch, name, data, false)
	l, err := encodeLayer(data, b.encoding)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", name, err)
	}
	return l
}

func (b *netBuilder) param(name string, at **netpb.Layer) { *at = b.layer(name) }

func (b *netBuilder) squares(conv, bn string, weight, bias **netpb.Layer) {
	*weight, *bias = b.layer(conv+".weight"), b.layer(bn+".beta")
}

func (b *netBuilder) conv(conv, bn string, at **netpb.ConvBlock) {
	c := &netpb.ConvBlock{Weights: b.layer(conv + ".weight")}
	*at = c
	if b.folded {
		c.Biases = b.layer(bn + ".beta")
		return
	}
	c.BnMeans, c.BnStddivs = b.layer(bn+".mean"), b.layer(bn+".var")
	c.BnGammas, c.BnBetas = b.layer(bn+".gamma"), b.layer(bn+".beta")
}

// foldedNet returns a net whose convolutions, with beta as their bias, compute the same
// without batch norm.
func foldedNet(n *nn.Net) *nn.Net {
	out := n.Clone()
	for _, l := range nn.FoldAll(n).All() {
		for _, c := range l.Convs {
			if c.BN != "" {
				copy(out.Get(c.Name+".weight"), c.Weight)
				copy(out.Get(c.BN+".beta"), c.Bias)
			}
		}
	}
	return out
}
