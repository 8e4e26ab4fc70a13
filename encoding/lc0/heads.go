package lc0

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/encoding/lc0/netpb"
	"github.com/chessbrain/chessbrain/nn"
)

// A file of format 7 has several policy and value heads, each in a message of its own. Here
// the layers of each stand where a file with one head of each output has them: those of the
// main heads in the file's weights, those of each further head in weights of its own.

// furtherHeads are the weights of further heads by nn.Head.Prefix.
type furtherHeads map[string]*netpb.Weights

// has returns the weights that hold a head: w for main heads, nil where there are none.
func (f furtherHeads) has(w *netpb.Weights, h nn.Head) *netpb.Weights {
	if h.Name == "" {
		return w
	}
	return f[h.Prefix()]
}

// of is has that makes them where there are none.
func (f furtherHeads) of(w *netpb.Weights, h nn.Head) *netpb.Weights {
	if f.has(w, h) == nil {
		f[h.Prefix()] = &netpb.Weights{}
	}
	return f.has(w, h)
}

// policyPlaces and valuePlaces are the places of heads in a file, by their names.
func policyPlaces(p *netpb.PolicyHeads) map[string]**netpb.PolicyHead {
	return map[string]**netpb.PolicyHead{"": &p.Vanilla, "optimistic": &p.OptimisticSt, "soft": &p.Soft, "opponent": &p.Opponent}
}

func valuePlaces(v *netpb.ValueHeads) map[string]**netpb.ValueHead {
	return map[string]**netpb.ValueHead{"": &v.Winner, "q": &v.Q, "st": &v.St}
}

// spread takes the heads of a file of format 7 apart. w is changed.
func spread(w *netpb.Weights) (furtherHeads, error) {
	f := furtherHeads{}
	if p := w.PolicyHeads; p != nil {
		if p.Vanilla == nil {
			return nil, fmt.Errorf("%w: several policy heads, and none is vanilla", ErrUnsupported)
		}
		for name, at := range policyPlaces(p) {
			if h := *at; h != nil {
				to := f.of(w, nn.Head{Output: nn.Policy, Name: name})
				to.IpPolW, to.IpPolB = cmp.Or(h.IpPolW, p.IpPolW), cmp.Or(h.IpPolB, p.IpPolB)
				to.Ip2PolW, to.Ip2PolB, to.Ip3PolW, to.Ip3PolB, to.Ip4PolW = h.Ip2PolW, h.Ip2PolB, h.Ip3PolW, h.Ip3PolB, h.Ip4PolW
				to.PolEncoder, to.PolHeadcount = h.PolEncoder, proto.Uint32(h.GetPolHeadcount())
			}
		}
	}
	if v := w.ValueHeads; v != nil {
		if v.Winner == nil {
			return nil, fmt.Errorf("%w: several value heads, and none is winner", ErrUnsupported)
		}
		for name, at := range valuePlaces(v) {
			if h := *at; h != nil {
				to := f.of(w, nn.Head{Output: nn.Value, Name: name})
				to.IpValW, to.IpValB, to.Ip1ValW, to.Ip1ValB, to.Ip2ValW, to.Ip2ValB = h.IpValW, h.IpValB, h.Ip1ValW, h.Ip1ValB, h.Ip2ValW, h.Ip2ValB
			}
		}
	}
	return f, nil
}

// gather is the way back: it moves the heads to their messages, where there are further
// ones or forecasts. The main policy's embedding stands where heads without one look for it.
func (f furtherHeads) gather(w *netpb.Weights) {
	if len(f) == 0 && w.ValueHeads == nil {
		return
	}
	p, v := &netpb.PolicyHeads{IpPolW: w.IpPolW, IpPolB: w.IpPolB}, made(&w.ValueHeads)
	for name, at := range policyPlaces(p) {
		if of := f.has(w, nn.Head{Output: nn.Policy, Name: name}); of != nil {
			*at = &netpb.PolicyHead{Ip2PolW: of.Ip2PolW, Ip2PolB: of.Ip2PolB, Ip3PolW: of.Ip3PolW, Ip3PolB: of.Ip3PolB,
				Ip4PolW: of.Ip4PolW, PolEncoder: of.PolEncoder, PolHeadcount: of.PolHeadcount}
			if name != "" {
				(*at).IpPolW, (*at).IpPolB = of.IpPolW, of.IpPolB
			}
		}
	}
	for name, at := range valuePlaces(v) {
		if of := f.has(w, nn.Head{Output: nn.Value, Name: name}); of != nil {
			to := made(at)
			to.IpValW, to.IpValB, to.Ip1ValW, to.Ip1ValB, to.Ip2ValW, to.Ip2ValB = of.IpValW, of.IpValB, of.Ip1ValW, of.Ip1ValB, of.Ip2ValW, of.Ip2ValB
		}
	}
	w.PolicyHeads = p
	w.IpPolW, w.IpPolB, w.Ip2PolW, w.Ip2PolB, w.Ip3PolW, w.Ip3PolB, w.Ip4PolW = nil, nil, nil, nil, nil, nil, nil
	w.PolEncoder, w.PolHeadcount = nil, nil
	w.IpValW, w.IpValB, w.Ip1ValW, w.Ip1ValB, w.Ip2ValW, w.Ip2ValB = nil, nil, nil, nil, nil, nil
}

// addFurther adds the further heads and the forecasts of a file to the architecture of the
// others. It lists the heads that nets of this build cannot have.
func (c counter) addFurther(a nn.Arch, file *netpb.Weights, f furtherHeads, format *netpb.NetworkFormat) (_ nn.Arch, others []string) {
	for _, output := range []string{nn.Policy, nn.Value} {
		for _, name := range nn.HeadNames(output) {
			w := f[nn.Head{Output: output, Name: name}.Prefix()]
			if w == nil {
				continue
			}
			h, err := c.scalarHead(output, a, w.GetValue(), w.GetIpValB(), w.GetIp1ValB()), error(nil)
			if h.Form = a.ValueForm(); output == nn.Policy {
				h, err = c.policy(a.Width(), format, w)
			}
			h.Name = name
			with := a
			with.Heads = append(a.Heads[:len(a.Heads):len(a.Heads)], h)
			if err != nil || output == nn.Policy && !h.Attends() || with.Validate() != nil {
				others = append(others, output+" "+name)
				continue
			}
			a = with
		}
	}
	for name, at := range valuePlaces(cmp.Or(file.ValueHeads, &netpb.ValueHeads{})) {
		h := *at
		if a.Attention() && c.count(h.GetIpValErrB()) == 1 {
			a = a.WithForecasts(name, 1, 0)
		}
		if n := c.count(h.GetIpValCatB()); a.Attention() && n > 1 && n <= nn.MaxCategories {
			a = a.WithForecasts(name, 0, n)
		}
	}
	return a, others
}
