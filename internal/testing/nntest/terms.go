package nntest

import (
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// FurtherHeads are nets that together have every head and forecast that play does not use.
func FurtherHeads() map[string]nn.Arch {
	encoded := AttentionNets()["encoded twice"]
	return map[string]nn.Arch{
		"further heads":            Arch("16x1-pooled-optimistic-soft-opponent-q-st-aux"),
		"further heads, forecasts": Arch("16x1-pooled-noml-q").WithForecasts("", 1, 4).WithForecasts("q", 1, 7),
		"further heads, scalar":    Arch("16x1-plain-scalar-noml-soft-opponent-q").WithForecasts("q", 1, 0).WithForecasts("", 0, 3),
		"attention, further heads": encoded.WithAuxiliary().WithHead(nn.Policy, "optimistic").WithHead(nn.Policy, "opponent").WithHead(nn.Value, "st").WithForecasts("st", 0, 8),
	}
}

// Terms are all losses that a net can have.
func Terms(a nn.Arch) []device.Term {
	terms := []device.Term{
		{Head: device.Policy, Weight: 1},
		{Head: device.Value, Weight: .25, Target: encoding.TargetResult, Other: encoding.TargetRoot, Ratio: .5},
		{Head: device.Value, Weight: .5, Target: encoding.TargetRoot},
	}
	if a.Head(nn.MovesLeft) != nil {
		terms = append(terms, device.Term{Head: device.MovesLeft, Weight: .1, Target: encoding.TargetResult})
	}
	if a.Head(nn.Auxiliary) != nil {
		terms = append([]device.Term{{Head: device.Policy, Weight: 2, Temperature: 4}, OptimisticTerm}, append(terms, AuxiliaryTerms...)...)
	}
	for _, h := range a.Heads {
		if h.Errors > 0 {
			terms = append(terms, device.Term{Head: device.Value, Name: h.Name, Errors: true, Weight: .6, Target: encoding.TargetRoot})
		}
		if h.Categories > 0 {
			terms = append(terms, device.Term{Head: device.Value, Name: h.Name, Categorical: true, Weight: .4, Target: encoding.TargetResult, Other: encoding.TargetRoot, Ratio: .3})
		}
		switch t := (device.Term{Head: device.Value, Name: h.Name, Weight: .7, Target: encoding.TargetRoot}); {
		case h.Name == "optimistic" && a.Head(nn.Auxiliary) != nil:
			t = OptimisticTerm
			t.Name = h.Name
			terms = append(terms, t)
		case h.Name == nn.Opponent:
			terms = append(terms, device.Term{Head: device.Policy, Name: h.Name, Weight: 2})
		case h.Output == nn.Policy && h.Name != "":
			terms = append(terms, device.Term{Head: device.Policy, Name: h.Name, Weight: 2, Temperature: 4})
		case h.Name != "":
			terms = append(terms, t)
		}
	}
	return terms
}

// OptimisticTerm gives rows of these tests weights from .13 to 1.
var OptimisticTerm = device.Term{Head: device.Policy, Weight: 3, Optimistic: true, Strength: .5, Target: encoding.TargetResult, Other: encoding.TargetRoot, Ratio: .5}

// AuxiliaryTerms are all losses of the auxiliary head.
var AuxiliaryTerms = []device.Term{
	{Head: device.Survival, Weight: .8}, {Head: device.Material, Weight: .4}, {Head: device.Reply, Weight: .3},
	{Head: device.ShortTerm, Weight: .9, Target: encoding.TargetRoot},
}
