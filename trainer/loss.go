package trainer

import (
	"fmt"
	"math"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
)

// Head names the output that a loss is about.
type Head string

// The heads of a net, and the weights themselves.
const (
	HeadPolicy    Head = "policy"
	HeadValue     Head = "value"
	HeadMovesLeft Head = "moves_left"
	HeadWeights   Head = "weights" // L2 only
)

// LossKind names the formula of a loss.
type LossKind string

// The formulas. Each belongs to one head.
const (
	CrossEntropy    LossKind = "cross_entropy"     // policy: -sum t log softmax over the legal moves
	WDLCrossEntropy LossKind = "wdl_cross_entropy" // value, WDL head: -sum t log softmax over win, draw, loss
	MSE             LossKind = "mse"               // value, scalar head: (tanh(logit) - q)^2
	Huber           LossKind = "huber"             // moves left: Huber of plies/20, delta 0.5
	L2              LossKind = "l2"                // weights: half the sum of squares of all weight tensors
)

// Unit (plies) and delta of the moves-left Huber loss (lczero-training).
const (
	movesLeftUnit = 20
	huberDelta    = 0.5
)

// Loss is one term of the objective. The objective's gradient is, over a
// micro-batch of N rows, the sum of Weight * rowWeight * loss / N: rows whose
// target is unknown (NaN) count with 0. The reported value is the mean over the
// rows whose target is known, weighted by the row weights and not by Weight.
type Loss struct {
	Head   Head
	Kind   LossKind
	Target encoding.Target // value and moves left: what is learnt
	// Mix, if not nil, learns QRatio*Mix.Other + (1-QRatio)*Target instead. A row
	// of which one part is not known learns the other part alone.
	Mix    *Mix
	Weight float64 // factor in the objective, >= 0
	Metric string  // its name in StepStats and metrics, unique
}

// Mix blends two targets, as Leela's q_ratio does.
type Mix struct {
	QRatio float64 // share of Other, [0,1]
	Other  encoding.Target
}

// targetNames are the configuration's names, in the order of encoding.Target.
var targetNames = [encoding.NumTargets]string{"RESULT", "ROOT", "BEST", "PLAYED", "ORIG", "ST"}

// ParseTarget reads RESULT, ROOT, BEST, PLAYED, ORIG or ST in any case.
func ParseTarget(s string) (encoding.Target, error) {
	for i, name := range targetNames {
		if strings.EqualFold(s, name) {
			return encoding.Target(i), nil
		}
	}
	return 0, fmt.Errorf("target %q is none of %s", s, strings.Join(targetNames[:], ", "))
}

// DefaultLosses are those of the configuration: policy cross entropy, WDL cross
// entropy against half the result and half the root's value, moves left where the
// net has that head, and L2.
func DefaultLosses() []Loss {
	return []Loss{
		{Head: HeadPolicy, Kind: CrossEntropy, Weight: 1, Metric: "policy_loss"},
		{Head: HeadValue, Kind: WDLCrossEntropy, Target: encoding.TargetResult, Mix: &Mix{QRatio: 0.5, Other: encoding.TargetRoot},
			Weight: 0.25, Metric: "value_loss"},
		{Head: HeadMovesLeft, Kind: Huber, Target: encoding.TargetResult, Weight: 0.1, Metric: "moves_left_loss"},
		{Head: HeadWeights, Kind: L2, Weight: 1e-3, Metric: "l2_loss"},
	}
}

// kindsOf lists the formulas that a head has.
var kindsOf = map[Head][]LossKind{
	HeadPolicy:    {CrossEntropy},
	HeadValue:     {WDLCrossEntropy, MSE},
	HeadMovesLeft: {Huber},
	HeadWeights:   {L2},
}

// validate checks one loss apart from the net.
func (l *Loss) validate(field string) error {
	kinds, ok := kindsOf[l.Head]
	if !ok {
		return configError(field, "head %q is none of policy, value, moves_left, weights", l.Head)
	}
	fits := false
	for _, k := range kinds {
		fits = fits || k == l.Kind
	}
	if !fits {
		return configError(field, "kind %q does not belong to head %q, which has %v", l.Kind, l.Head, kinds)
	}
	if !(l.Weight >= 0) || math.IsInf(l.Weight, 0) {
		return configError(field, "weight %v is not a finite number >= 0", l.Weight)
	}
	if l.Metric == "" {
		return configError(field, "no metric name")
	}
	if l.Target >= encoding.NumTargets {
		return configError(field, "target %d is unknown", l.Target)
	}
	if l.Mix != nil {
		if !(l.Mix.QRatio >= 0 && l.Mix.QRatio <= 1) {
			return configError(field, "q_ratio %v is outside [0,1]", l.Mix.QRatio)
		}
		if l.Mix.Other >= encoding.NumTargets {
			return configError(field, "mixed target %d is unknown", l.Mix.Other)
		}
	}
	return nil
}

// target returns what a row should learn; a field that is not known is NaN. The
// device's loss kernel has the same rule (mixed in loss.cu).
func (l *Loss) target(t *[encoding.NumTargets]encoding.QDM) encoding.QDM {
	base, r := t[l.Target], l.share(t)
	if r == 0 {
		return base
	}
	other := t[l.Mix.Other]
	if r == 1 {
		return other
	}
	return encoding.QDM{
		Q: r*other.Q + (1-r)*base.Q,
		D: r*other.D + (1-r)*base.D,
		M: r*other.M + (1-r)*base.M,
	}
}

// share is the weight of Mix.Other in a row's target, [0,1]. The shares of a mix
// are those of its known parts, renormalised: games without a search, such as
// imported ones, have a result and no root value, and would teach nothing if the
// unknown part masked the row. A part that the configuration gives share 0 is not
// asked for, also where it alone is known.
func (l *Loss) share(t *[encoding.NumTargets]encoding.QDM) float32 {
	switch {
	case l.Mix == nil || l.Mix.QRatio == 0:
		return 0
	case l.Mix.QRatio == 1:
		return 1
	case !l.knows(t[l.Mix.Other]):
		return 0
	case !l.knows(t[l.Target]):
		return 1
	}
	return float32(l.Mix.QRatio)
}

// knows says whether v has all fields that the formula reads. Q of one part beside
// D of another would be no distribution, so win, draw, loss needs both.
func (l *Loss) knows(v encoding.QDM) bool {
	switch {
	case l.Head == HeadMovesLeft:
		return v.M == v.M
	case l.Kind == MSE:
		return v.Q == v.Q
	}
	return v.Q == v.Q && v.D == v.D
}
