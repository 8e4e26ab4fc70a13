package lc0

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// An attention net that is written reads back as what computes the same.
func TestAttentionNets(t *testing.T) {
	for name, a := range nntest.AttentionNets() {
		n := nntest.Net(a, 5)
		for _, e := range []LayerEncoding{Float32, Linear16} {
			got, info := readBack(t, writtenNet(t, n, nil, e))
			if !got.Arch.Equal(a) || info.OtherHeads != "" {
				t.Fatalf("%s: %+v with other heads %q, want %+v", name, got.Arch, info.OtherHeads, a)
			}
			if e == Float32 {
				sameOutputs(t, name, got, n, 1e-5)
			}
		}
		again := writtenNet(t, n, nil, Float32)
		got, info := readBack(t, again)
		if !bytes.Equal(writtenNet(t, got, info, Float32), again) && a.Attention() {
			t.Errorf("%s: what is read is not written as it was", name)
		}
	}
}

// Of several heads the first of each are taken; files of the first attention nets say less.
func TestAttentionFiles(t *testing.T) {
	nets := nntest.AttentionNets()
	fileFor := func(name string) (*nn.Net, *netpb.Net, *netpb.NetworkFormat) {
		n := nntest.Net(nets[name], 5)
		f, err := netFile(n, nil, Float32)
		if err != nil {
			t.Fatal(err)
		}
		return n, f, f.Format.NetworkFormat
	}
	n, f, format := fileFor("dense")
	w := f.Weights
	head := &netpb.PolicyHead{Ip2PolW: w.Ip2PolW, Ip2PolB: w.Ip2PolB, Ip3PolW: w.Ip3PolW, Ip3PolB: w.Ip3PolB, Ip4PolW: w.Ip4PolW}
	w.PolicyHeads = &netpb.PolicyHeads{IpPolW: w.IpPolW, IpPolB: w.IpPolB, Vanilla: head, OptimisticSt: &netpb.PolicyHead{}, Soft: &netpb.PolicyHead{}}
	w.ValueHeads = &netpb.ValueHeads{St: &netpb.ValueHead{}, Winner: &netpb.ValueHead{
		IpValW: w.IpValW, IpValB: w.IpValB, Ip1ValW: w.Ip1ValW, Ip1ValB: w.Ip1ValB, Ip2ValW: w.Ip2ValW, Ip2ValB: w.Ip2ValB}}
	w.IpPolW, w.IpPolB, w.Ip2PolW, w.Ip2PolB, w.Ip3PolW, w.Ip3PolB, w.Ip4PolW = nil, nil, nil, nil, nil, nil, nil
	w.IpValW, w.IpValB, w.Ip1ValW, w.Ip1ValB, w.Ip2ValW, w.Ip2ValB = nil, nil, nil, nil, nil, nil
	for _, structure := range []int32{networkHeads, oldHeads, networkAttention} {
		format.Network = proto.Int32(structure)
		if structure == networkAttention { // before the field of the embedding
			format.InputEmbedding = nil
		}
		got, info := readBack(t, marshal(t, f))
		if !got.Arch.Equal(n.Arch) || info.OtherHeads != "policy optimistic, policy soft, value st" {
			t.Errorf("structure %d: %+v, %q", structure, got.Arch, info.OtherHeads)
		}
		sameOutputs(t, "several heads", got, n, 1e-5)
	}

	n, f, format = fileFor("smolgen")
	format.Network, format.InputEmbedding, format.FfnActivation, format.SmolgenActivation = proto.Int32(networkSE), nil, nil, nil
	want := n.Arch.Clone()
	for i := range want.Blocks[1:] {
		want.Blocks[1+i].HiddenActivation, want.Blocks[1+i].SmolgenActivation = nn.ReLU2, nn.Swish
	}
	if got, _ := readBack(t, marshal(t, f)); !got.Arch.Equal(want) {
		t.Errorf("an old file is %+v, want %+v", got.Arch, want)
	}

	for say, spoil := range map[string]func(f *netpb.Net, w *netpb.Weights, nf *netpb.NetworkFormat){
		"activation 4 of smolgen":       func(_ *netpb.Net, _ *netpb.Weights, nf *netpb.NetworkFormat) { nf.SmolgenActivation = proto.Int32(4) },
		"activation 5 of the feed":      func(_ *netpb.Net, _ *netpb.Weights, nf *netpb.NetworkFormat) { nf.FfnActivation = proto.Int32(5) },
		"input embedding 3":             func(_ *netpb.Net, _ *netpb.Weights, nf *netpb.NetworkFormat) { nf.InputEmbedding = proto.Int32(3) },
		"(rpe) of encoder 1":            func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.Encoder[1].Mha.RpeV = w.IpEmbB },
		"1 residual blocks":             func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.Residual = []*netpb.Residual{{}} },
		"12 queries of encoder 0 for 5": func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.Headcount = proto.Uint32(5) },
		"smolgen.weight":                func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.SmolgenW = nil },
		"tower.1.smolgen.ln2.beta":      func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.Encoder[1].Mha.Smolgen.Ln2Betas = nil },
		"block 2 is not like block 1":   func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.Encoder[1].Mha.Smolgen = nil },
		"policy encoder 0 has smolgen":  func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.PolEncoder = w.Encoder[:1] },
		"behind an attention body":      func(_ *netpb.Net, _ *netpb.Weights, nf *netpb.NetworkFormat) { nf.Policy = proto.Int32(policyConv) },
		"value_channels":                func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.IpValB = nil },
		"embedding of 0 numbers":        func(_ *netpb.Net, w *netpb.Weights, _ *netpb.NetworkFormat) { w.IpEmbB = nil },
	} {
		_, f, format := fileFor("smolgen")
		spoil(f, f.Weights, format)
		_, _, err := ReadNet(bytes.NewReader(marshal(t, f)))
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
	a := nets["plain"]
	a.Heads[0] = nn.Head{Output: nn.Policy, Kind: nn.PolicyConvolutional}
	if err := WriteNet(new(bytes.Buffer), nntest.Net(a, 5), nil, Float32); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a convolutional policy behind encoders: %v", err)
	}
}
