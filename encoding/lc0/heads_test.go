package lc0

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
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
		f, err := netFile(n.Playing(), nil, Float32)
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

// A net has all heads of a file, and the ones that are chosen compute what the file's do;
// so does a net that is written and read again.
func TestSeveralHeads(t *testing.T) {
	a := nntest.AttentionNets()["dense"]
	nets := [3]*nn.Net{nntest.Net(a, 5), nntest.Net(a, 6), nntest.Net(a, 7)}
	net, info := readBack(t, marshal(t, severalHeads(t, nets)))
	if name := "-optimistic-soft-q-st"; info.OtherHeads != "" || !strings.HasSuffix(net.Arch.String(), name) || net.Arch.Named(nn.Value, "st").Hidden != a.Head(nn.Value).Hidden {
		t.Fatalf("%s, without %q", net.Arch, info.OtherHeads)
	}
	data := writtenNet(t, net, info, Float32)
	again, info := readBack(t, data)
	if !again.Arch.Equal(net.Arch) || info.OtherHeads != "" {
		t.Fatalf("written: %s, without %q", again.Arch, info.OtherHeads)
	}
	for _, c := range []struct {
		policyHead, valueHead string
		policy, value         int // whose
		others                string
	}{
		{"", "", 0, 0, ""},
		{"vanilla", "winner", 0, 0, "policy optimistic, policy soft, value q, value st"},
		{"optimistic", "", 1, 0, "policy vanilla, policy soft"},
		{"", "st", 0, 2, "value winner, value q"},
		{"soft", "q", 2, 1, "policy vanilla, policy optimistic, value winner, value st"},
	} {
		want := nets[0].Clone()
		for _, p := range want.Params {
			for head, of := range map[string]int{"policy.": c.policy, "value.": c.value} {
				if strings.HasPrefix(p.Name, head) {
					copy(p.Data, nets[of].Get(p.Name))
				}
			}
		}
		for read, n := range map[string]*nn.Net{"read": net, "written and read": again} {
			what := fmt.Sprintf("%s, %s of policy, %s of value", read, c.policyHead, c.valueHead)
			got, others, err := n.Choose(c.policyHead, c.valueHead)
			if err = errors.Join(err, got.Validate()); err != nil || strings.Join(others, ", ") != c.others {
				t.Errorf("%s: without %q, want %q; %v", what, others, c.others, err)
			}
			sameOutputs(t, what, got, want, 1e-5)
		}
	}
}

// Forecasts of errors and categories are kept behind an attention body, also where one is
// all that wants messages of heads.
func TestForecastsOfValues(t *testing.T) {
	a := nntest.AttentionNets()["dense"]
	for _, with := range []nn.Arch{a.WithForecasts("", 1, 0), a.WithForecasts("", 0, 4), a.WithForecasts("", 1, 0).WithHead(nn.Value, "st").WithHead(nn.Policy, "soft").WithForecasts("st", 1, 5)} {
		n := nntest.Net(with, 3)
		got, _ := readBack(t, writtenNet(t, n, nil, Float32))
		if !got.Arch.Equal(with) {
			t.Fatalf("%+v comes back as %+v", with.Heads, got.Arch.Heads)
		}
		for _, p := range got.Params {
			if (strings.Contains(p.Name, ".error.") || strings.Contains(p.Name, ".categories.")) && !slices.Equal(p.Data, n.Get(p.Name)) {
				t.Errorf("%s is %v, was %v", p.Name, p.Data, n.Get(p.Name))
			}
		}
		sameOutputs(t, "a net with forecasts", got, n, 1e-5)
	}
	tower := nntest.Arch("16x1").WithForecasts("", 1, 3)
	if net, _ := readBack(t, writtenNet(t, nntest.Net(tower, 3), nil, Float32)); !net.Arch.Equal(nntest.Arch("16x1")) {
		t.Errorf("a tower comes back with %+v", net.Arch.Heads)
	}
}

// What files cannot have of a net is left away, and a file without a main head is refused.
func TestFurtherHeadsOfFiles(t *testing.T) {
	a := nntest.AttentionNets()["dense"].WithHead(nn.Value, "q").WithAuxiliary()
	net, _ := readBack(t, writtenNet(t, nntest.Net(a, 3), nil, Float32))
	if net.Arch.Head(nn.Auxiliary) != nil || net.Arch.Named(nn.Value, "q") == nil || len(net.Arch.Heads) != 4 {
		t.Errorf("an attention net comes back as %s", net.Arch)
	}
	mish := nntest.AttentionNets()["mish"]
	if one, several := minVersion(mish, [3]uint32{}, Linear16), minVersion(mish.WithHead(nn.Value, "q"), [3]uint32{}, Linear16); one != versionAttention || several != versionDense {
		t.Errorf("engine %d, with several heads %d", one, several)
	}
	tower := nntest.Arch("16x1-soft-q")
	if net, _ := readBack(t, writtenNet(t, nntest.Net(tower, 3), nil, Float32)); !net.Arch.Equal(nntest.Arch("16x1")) {
		t.Errorf("a tower comes back as %s", net.Arch)
	}
	mixed := nntest.AttentionNets()["dense"].WithHead(nn.Policy, "soft")
	*mixed.Named(nn.Policy, "soft") = nn.Head{Output: nn.Policy, Name: "soft", Kind: nn.PolicyConvolutional}
	if err := WriteNet(new(bytes.Buffer), nntest.Net(mixed, 3), nil, Float32); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a convolutional policy behind an attention body: %v", err)
	}
	for say, spoil := range map[string]func(*netpb.Weights){
		"none is vanilla": func(w *netpb.Weights) { w.PolicyHeads.Vanilla = nil },
		"none is winner":  func(w *netpb.Weights) { w.ValueHeads.Winner = nil },
	} {
		f := severalHeads(t, [3]*nn.Net{nntest.Net(a, 5), nntest.Net(a, 5), nntest.Net(a, 5)})
		spoil(f.Weights)
		if _, _, err := ReadNet(bytes.NewReader(marshal(t, f))); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", say, err)
		}
	}
}
