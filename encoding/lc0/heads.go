package lc0

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
)

// Heads names the heads that a net takes of a file with several, as lc0's options
// policy_head and value_head do. "" is the head that lc0 takes without them.
type Heads struct {
	Policy string // vanilla (""), optimistic, soft or opponent
	Value  string // winner (""), q or st
}

// namedHead is a head of a file, nil where the file lacks it.
type namedHead[H any] struct {
	name string
	head *H
}

// choose returns the head that is wanted, and which others the file has.
func choose[H any](kind, want string, heads ...namedHead[H]) (chosen *H, others []string, err error) {
	var names []string
	for _, h := range heads {
		if h.head == nil {
			continue
		}
		names = append(names, h.name)
		if h.name == want {
			chosen = h.head
		} else {
			others = append(others, kind+" "+h.name)
		}
	}
	if chosen == nil {
		return nil, nil, fmt.Errorf("%w: no %s head %q: the file has %s", ErrUnsupported, kind, want, strings.Join(names, ", "))
	}
	return chosen, others, nil
}

// pickHeads puts the wanted heads, of a file that has several, where a file with one of
// each has them, and lists the others. w is changed.
func pickHeads(w *netpb.Weights, want Heads) ([]string, error) {
	p, v := w.GetPolicyHeads(), w.GetValueHeads()
	if p == nil {
		p = &netpb.PolicyHeads{Vanilla: &netpb.PolicyHead{}}
	}
	if v == nil {
		v = &netpb.ValueHeads{Winner: &netpb.ValueHead{}}
	}
	policy, others, err := choose("policy", cmp.Or(want.Policy, "vanilla"), namedHead[netpb.PolicyHead]{"vanilla", p.Vanilla},
		namedHead[netpb.PolicyHead]{"optimistic", p.OptimisticSt}, namedHead[netpb.PolicyHead]{"soft", p.Soft}, namedHead[netpb.PolicyHead]{"opponent", p.Opponent})
	if err != nil {
		return nil, err
	}
	value, more, err := choose("value", cmp.Or(want.Value, "winner"), namedHead[netpb.ValueHead]{"winner", v.Winner},
		namedHead[netpb.ValueHead]{"q", v.Q}, namedHead[netpb.ValueHead]{"st", v.St})
	if err != nil {
		return nil, err
	}
	if h := policy; w.PolicyHeads != nil {
		w.IpPolW, w.IpPolB = cmp.Or(h.IpPolW, p.IpPolW), cmp.Or(h.IpPolB, p.IpPolB)
		w.Ip2PolW, w.Ip2PolB, w.Ip3PolW, w.Ip3PolB, w.Ip4PolW = h.Ip2PolW, h.Ip2PolB, h.Ip3PolW, h.Ip3PolB, h.Ip4PolW
		w.PolEncoder, w.PolHeadcount = h.PolEncoder, proto.Uint32(h.GetPolHeadcount())
	}
	if h := value; w.ValueHeads != nil {
		w.IpValW, w.IpValB, w.Ip1ValW, w.Ip1ValB, w.Ip2ValW, w.Ip2ValB = h.IpValW, h.IpValB, h.Ip1ValW, h.Ip1ValB, h.Ip2ValW, h.Ip2ValB
	}
	return append(others, more...), nil
}
