package lc0

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// severalHeads returns a file with the body of nets[0] and policy and value heads of
// all: vanilla and winner, optimistic and q, soft and st.
func severalHeads(t *testing.T, nets [3]*nn.Net) *netpb.Net {
	t.Helper()
	var files [3]*netpb.Net
	var policies [3]*netpb.PolicyHead
	var values [3]*netpb.ValueHead
	for i, n := range nets {
		f, err := netFile(n, nil, Float32)
		if err != nil {
			t.Fatal(err)
		}
		w := f.Weights
		files[i] = f
		policies[i] = &netpb.PolicyHead{IpPolW: w.IpPolW, IpPolB: w.IpPolB, Ip2PolW: w.Ip2PolW, Ip2PolB: w.Ip2PolB,
			Ip3PolW: w.Ip3PolW, Ip3PolB: w.Ip3PolB, Ip4PolW: w.Ip4PolW}
		values[i] = &netpb.ValueHead{IpValW: w.IpValW, IpValB: w.IpValB, Ip1ValW: w.Ip1ValW, Ip1ValB: w.Ip1ValB, Ip2ValW: w.Ip2ValW, Ip2ValB: w.Ip2ValB}
	}
	f, w := files[0], files[0].Weights
	// The first embedding of policies is shared, as in Leela's files.
	w.PolicyHeads = &netpb.PolicyHeads{IpPolW: w.IpPolW, IpPolB: w.IpPolB, Vanilla: policies[0], OptimisticSt: policies[1], Soft: policies[2]}
	policies[0].IpPolW, policies[0].IpPolB = nil, nil
	w.ValueHeads = &netpb.ValueHeads{Winner: values[0], Q: values[1], St: values[2]}
	w.IpPolW, w.IpPolB, w.Ip2PolW, w.Ip2PolB, w.Ip3PolW, w.Ip3PolB, w.Ip4PolW = nil, nil, nil, nil, nil, nil, nil
	w.IpValW, w.IpValB, w.Ip1ValW, w.Ip1ValB, w.Ip2ValW, w.Ip2ValB = nil, nil, nil, nil, nil, nil
	f.Format.NetworkFormat.Network = proto.Int32(networkHeads)
	return f
}

// A net takes the heads that are asked for; written and read again it has them alone.
func TestChosenHeads(t *testing.T) {
	a := nntest.AttentionNets()["dense"]
	nets := [3]*nn.Net{nntest.Net(a, 5), nntest.Net(a, 6), nntest.Net(a, 7)}
	data := marshal(t, severalHeads(t, nets))
	for _, c := range []struct {
		want          Heads
		policy, value int // whose
		others        string
	}{
		{Heads{}, 0, 0, "policy optimistic, policy soft, value q, value st"},
		{Heads{"vanilla", "winner"}, 0, 0, "policy optimistic, policy soft, value q, value st"},
		{Heads{Policy: "optimistic"}, 1, 0, "policy vanilla, policy soft, value q, value st"},
		{Heads{Value: "st"}, 0, 2, "policy optimistic, policy soft, value winner, value q"},
		{Heads{"soft", "q"}, 2, 1, "policy vanilla, policy optimistic, value winner, value st"},
	} {
		want := nets[0].Clone()
		for _, p := range want.Params {
			for head, of := range map[string]int{"policy.": c.policy, "value.": c.value} {
				if strings.HasPrefix(p.Name, head) {
					copy(p.Data, nets[of].Get(p.Name))
				}
			}
		}
		got, info, err := ReadHeads(bytes.NewReader(data), c.want)
		if err != nil {
			t.Fatal(err)
		}
		if info.OtherHeads != c.others {
			t.Errorf("%+v: the others are %q, want %q", c.want, info.OtherHeads, c.others)
		}
		sameOutputs(t, fmt.Sprintf("%+v", c.want), got, want, 1e-5)
		again, info := readBack(t, writtenNet(t, got, info, Float32))
		if info.OtherHeads != "" {
			t.Errorf("%+v: written, there are others: %q", c.want, info.OtherHeads)
		}
		sameOutputs(t, fmt.Sprintf("%+v, written", c.want), again, want, 1e-5)
	}
	for say, want := range map[string]Heads{
		`no policy head "opponent": the file has vanilla, optimistic, soft`: {Policy: "opponent"},
		`no value head "vanilla": the file has winner, q, st`:               {Value: "vanilla"},
	} {
		if _, _, err := ReadHeads(bytes.NewReader(data), want); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), say) {
			t.Errorf("%v, want %q", err, say)
		}
	}
	// A file of one head each has the usual ones.
	one := writtenNet(t, nets[0], nil, Float32)
	if _, _, err := ReadHeads(bytes.NewReader(one), Heads{"vanilla", "winner"}); err != nil {
		t.Error(err)
	}
	if _, _, err := ReadHeads(bytes.NewReader(one), Heads{Value: "q"}); err == nil || !strings.Contains(err.Error(), "the file has winner") {
		t.Errorf("a file without it: %v", err)
	}
}
