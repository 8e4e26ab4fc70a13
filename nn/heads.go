package nn

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoHead says that a net lacks the head that was chosen.
var ErrNoHead = errors.New("no such head")

// Opponent is the name of a policy head for the opponent's reply, in the indices of the
// opponent's own policy, as in Leela's nets. It does not know which replies are legal.
const Opponent = "opponent"

// headOrder lists the heads that a net may have, by Prefix, in the order of Arch.Heads.
// Those that play uses stand before all others.
var headOrder = []string{Policy, Value, MovesLeft,
	"policy.optimistic", "policy.soft", Policy + "." + Opponent, "value.q", "value.st", Auxiliary}

// mainNames are what Leela's files call heads without a name of their own.
var mainNames = map[string]string{Policy: "vanilla", Value: "winner"}

// HeadNames returns the names that further heads of an output may have, nil where it has
// one head at most.
func HeadNames(output string) (names []string) {
	for _, prefix := range headOrder {
		if of, name, further := strings.Cut(prefix, "."); further && of == output {
			names = append(names, name)
		}
	}
	return names
}

// outputOf returns the output that has a further head of a name, "" where none has.
func outputOf(name string) string {
	for _, output := range []string{Policy, Value} {
		if slices.Contains(HeadNames(output), name) {
			return output
		}
	}
	return ""
}

// Prefix begins the names of the head's parameters.
func (h Head) Prefix() string {
	if h.Name == "" {
		return h.Output
	}
	return h.Output + "." + h.Name
}

// Plays reports whether play computes the head.
func (h Head) Plays() bool { return h.Name == "" && h.Output != Auxiliary }

// Forecasts reports whether the head has outputs that play does not compute: of its errors,
// or of categories.
func (h Head) Forecasts() bool { return h.Errors > 0 || h.Categories > 0 }

// MaxCategories is the most Categories that a value head has.
const MaxCategories = 1024

// Named returns the head of an output and a name, shared with a, or nil where there is none.
func (a Arch) Named(output, name string) *Head {
	if i := slices.IndexFunc(a.Heads, func(h Head) bool { return h.Output == output && h.Name == name }); i >= 0 {
		return &a.Heads[i]
	}
	return nil
}

// WithHead returns a with a further head of a name of HeadNames, where it has none of that
// name: like the main one of its output, without its forecasts. A sparse net stays as it is:
// it has no such heads.
func (a Arch) WithHead(output, name string) Arch {
	if h := a.Head(output); h != nil && slices.Contains(HeadNames(output), name) && !a.Sparse() {
		further := *h
		further.Name, further.Errors, further.Categories = name, 0, 0
		return a.with(further)
	}
	return a
}

// with returns a with h at its place, where it has no head of that name.
func (a Arch) with(h Head) Arch {
	if a.Named(h.Output, h.Name) != nil {
		return a
	}
	a.Heads = append(slices.Clone(a.Heads), h)
	slices.SortStableFunc(a.Heads, func(x, y Head) int {
		return slices.Index(headOrder, x.Prefix()) - slices.Index(headOrder, y.Prefix())
	})
	return a
}

// WithForecasts returns a with forecasts at its value head of a name, where that lacks them:
// of its errors where errors is 1, and of so many categories; 0 adds none. A sparse net
// stays as it is.
func (a Arch) WithForecasts(name string, errors, categories int) Arch {
	if a.Named(Value, name) != nil && !a.Sparse() {
		a.Heads = slices.Clone(a.Heads)
		h := a.Named(Value, name)
		h.Errors, h.Categories = cmp.Or(h.Errors, errors), cmp.Or(h.Categories, categories)
	}
	return a
}

// WithHeads returns n with the heads of a, which is n's architecture with more of them or of
// their outputs: fresh ones of Init(a, seed). All else is shared.
func (n *Net) WithHeads(a Arch, seed uint64) *Net {
	if a.Equal(n.Arch) {
		return n
	}
	out := Init(a, seed)
	for i := range out.Params {
		if p := n.param(out.Params[i].Name); p != nil {
			out.Params[i] = *p
		}
	}
	return out
}

// Keep returns n with those of its heads alone that keep wants. n must be valid; the
// parameters are shared.
func (n *Net) Keep(keep func(Head) bool) *Net {
	a := n.Arch
	a.Heads = slices.DeleteFunc(slices.Clone(a.Heads), func(h Head) bool { return !keep(h) })
	if len(a.Heads) == len(n.Arch.Heads) {
		return n
	}
	return n.as(a, func(name string) string { return name })
}

// as returns a net of architecture a, whose parameters are those of n of the names that
// from returns.
func (n *Net) as(a Arch, from func(name string) string) *Net {
	out := &Net{Arch: a}
	for _, s := range Specs(a) {
		p := *n.param(from(s.Name))
		p.Name = s.Name
		out.Params = append(out.Params, p)
	}
	return out
}

// Playing returns n with the heads alone that play uses: all that ONNX files and Leela's
// files of towers have of it.
func (n *Net) Playing() *Net { return n.Keep(Head.Plays) }

// Choose returns n with the named policy and value head as its main ones, and without
// others of that output, which it lists: "policy soft". "vanilla" and "winner" are the main
// ones; "" leaves all heads of an output as they are. n must be valid; parameters are
// shared. Errors wrap ErrNoHead.
func (n *Net) Choose(policy, value string) (_ *Net, others []string, err error) {
	for _, want := range []struct{ output, name string }{{Policy, policy}, {Value, value}} {
		if want.name == "" {
			continue
		}
		var has []string
		var chosen *Head
		for i, h := range n.Arch.Heads {
			if h.Output == want.output {
				if has = append(has, h.spoken()); h.spoken() == want.name {
					chosen = &n.Arch.Heads[i]
				} else {
					others = append(others, h.Output+" "+h.spoken())
				}
			}
		}
		if chosen == nil {
			return nil, nil, fmt.Errorf("%w: %s %q, the net has %s", ErrNoHead, want.output, want.name, strings.Join(has, ", "))
		}
		a, prefix := n.Arch, chosen.Prefix()
		a.Heads = slices.DeleteFunc(slices.Clone(a.Heads), func(h Head) bool { return h.Output == want.output && h.Name != "" })
		main := a.Head(want.output)
		*main = *chosen
		main.Name = ""
		n = n.as(a, func(name string) string {
			if rest, ok := strings.CutPrefix(name, want.output+"."); ok {
				return prefix + "." + rest
			}
			return name
		})
	}
	return n, others, nil
}

// spoken is the head's name, or the one that Leela's files have for the main head.
func (h Head) spoken() string {
	if h.Name == "" {
		return mainNames[h.Output]
	}
	return h.Name
}

// mainParam returns the name that a parameter of a further head has in the main one.
func mainParam(name string) string {
	for _, prefix := range headOrder {
		if output, _, further := strings.Cut(prefix, "."); further {
			if rest, ok := strings.CutPrefix(name, prefix+"."); ok {
				return output + "." + rest
			}
		}
	}
	return name
}
