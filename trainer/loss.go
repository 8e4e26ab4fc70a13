package trainer

import (
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Head names the output that a loss is about.
type Head string

// The heads of a net, and the weights themselves.
const (
	HeadPolicy    Head = "policy"
	HeadValue     Head = "value"
	HeadMovesLeft Head = "moves_left"
	HeadWeights   Head = "weights" // L2 only

	// Parts of the auxiliary head, see encoding.Ahead.
	HeadSurvival  Head = "survival"   // which men are not taken
	HeadMaterial  Head = "material"   // some plies on
	HeadReply     Head = "reply"      // the opponent's move
	HeadShortTerm Head = "short_term" // a value of the near future, and how far it is off
)

// LossKind names the formula of a loss.
type LossKind string

// The formulas. Each belongs to one head.
const (
	CrossEntropy    LossKind = "cross_entropy"        // policy: -sum t log softmax over the legal moves, or all where the head is nn.Opponent; reply: both of its squares'
	WDLCrossEntropy LossKind = "wdl_cross_entropy"    // value, WDL head: -sum t log softmax over win, draw, loss
	MSE             LossKind = "mse"                  // value, scalar head: (tanh(logit) - q)^2; short term: that, and the same of the square's forecast
	Huber           LossKind = "huber"                // moves left: Huber of plies/20, material of pawns/5, delta 0.5
	L2              LossKind = "l2"                   // weights: half the sum of squares of all weight tensors
	SoftCross       LossKind = "soft_cross_entropy"   // policy: cross entropy of both sides to the power of 1/Temperature
	BinaryCross     LossKind = "binary_cross_entropy" // survival: the mean over the men
	// ValueError is of a value head that forecasts its error: (forecast - (value - target)^2)^2,
	// which the value does not follow.
	ValueError LossKind = "value_error"
	// ValueCategorical is of a value head that forecasts the category of Target: the cross
	// entropy of its Buckets equal parts of [-1,1]. The head's layers before fc2 follow it.
	ValueCategorical LossKind = "value_categorical"
	// OptimisticCross is the policy's cross entropy by device.Optimism of the row: Target
	// against the value and the error of the loss of HeadShortTerm, which is beside it.
	OptimisticCross LossKind = "optimistic_cross_entropy"
)

// Loss is one term of the objective. The objective's gradient is, over a
// micro-batch of N rows, the sum of Weight * rowWeight * loss / N: rows whose
// target is unknown (NaN) count with 0. The reported value is the mean over the
// rows whose target is known, weighted by the row weights and not by Weight.
type Loss struct {
	Head   Head
	Name   string // of a further policy or value head of the net (nn.HeadNames); "" = the main one
	Kind   LossKind
	Target encoding.Target // value, moves left and short term: what is learnt; OptimisticCross: how it came out
	// Mix, if not nil, learns QRatio*Mix.Other + (1-QRatio)*Target instead. A row
	// of which one part is not known learns the other part alone.
	Mix    *Mix
	Weight float64 // factor in the objective, >= 0
	Metric string  // its name in StepStats and metrics, unique

	Temperature float64 // of SoftCross, > 1
	Strength    float64 // of OptimisticCross: standard deviations
	Buckets     int     // of ValueCategorical, as nn.Head.Categories
}

// Mix blends two targets, as Leela's q_ratio does.
type Mix struct {
	QRatio   float64  // share of Other, [0,1]
	Schedule Schedule // of shares by step, in the place of QRatio; nil = there is none
	Other    encoding.Target
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
	HeadPolicy:    {CrossEntropy, SoftCross, OptimisticCross},
	HeadValue:     {WDLCrossEntropy, MSE, ValueError, ValueCategorical},
	HeadMovesLeft: {Huber},
	HeadWeights:   {L2},
	HeadSurvival:  {BinaryCross},
	HeadMaterial:  {Huber},
	HeadReply:     {CrossEntropy},
	HeadShortTerm: {MSE},
}

// validate checks one loss apart from the net.
func (l *Loss) validate(field string) error {
	switch kinds, ok := kindsOf[l.Head]; {
	case !ok:
		return configError(field, "head %q is none of policy, value, moves_left, weights, survival, material, reply, short_term", l.Head)
	case !slices.Contains(kinds, l.Kind):
		return configError(field, "kind %q does not belong to head %q, which has %v", l.Kind, l.Head, kinds)
	case l.Name != "" && !slices.Contains(nn.HeadNames(string(l.Head)), l.Name):
		return configError(field, "head_name %q is none of %q, the further ones of head %s", l.Name, nn.HeadNames(string(l.Head)), l.Head)
	case l.Name == nn.Opponent && l.Kind != CrossEntropy:
		return configError(field, "kind %q does not belong to head_name %q, which learns one move: want %q", l.Kind, l.Name, CrossEntropy)
	case !(l.Weight >= 0) || math.IsInf(l.Weight, 0):
		return configError(field, "weight %v is not a finite number >= 0", l.Weight)
	case l.Kind == SoftCross && !(l.Temperature > 1 && l.Temperature <= 100):
		return configError(field, "temperature %v is not above 1 and at most 100", l.Temperature)
	case math.IsNaN(l.Strength) || math.Abs(l.Strength) > 10:
		return configError(field, "strength %v is outside [-10,10]", l.Strength)
	case l.Kind == ValueCategorical && (l.Buckets < 2 || l.Buckets > nn.MaxCategories):
		return configError(field, "buckets %d is outside [2,%d]", l.Buckets, nn.MaxCategories)
	case l.Metric == "":
		return configError(field, "no metric name")
	case l.Target >= encoding.NumTargets:
		return configError(field, "target %d is unknown", l.Target)
	case l.Mix != nil && !(l.Mix.QRatio >= 0 && l.Mix.QRatio <= 1):
		return configError(field, "q_ratio %v is outside [0,1]", l.Mix.QRatio)
	case l.Mix != nil && l.Mix.Schedule != nil && (l.Mix.Schedule.Validate() != nil || l.Mix.Schedule.Largest() > 1):
		return configError(field, "the schedule of q_ratio has no share in [0,1] at each step")
	case l.Mix != nil && l.Mix.Other >= encoding.NumTargets:
		return configError(field, "mixed target %d is unknown", l.Mix.Other)
	}
	return nil
}

var deviceHeads = map[Head]device.Head{HeadPolicy: device.Policy, HeadValue: device.Value, HeadMovesLeft: device.MovesLeft,
	HeadSurvival: device.Survival, HeadMaterial: device.Material, HeadReply: device.Reply, HeadShortTerm: device.ShortTerm}

// Auxiliary says whether the loss is of the auxiliary head.
func (l *Loss) Auxiliary() bool { return deviceHeads[l.Head].Output() == nn.Auxiliary }

// forecast says whether the loss is of a value head's forecast and not of its value.
func (l *Loss) forecast() bool { return l.Kind == ValueError || l.Kind == ValueCategorical }

// Ahead says whether rows need encoding.Ahead for the loss.
func (l *Loss) Ahead() bool { return l.Auxiliary() || l.Name == nn.Opponent }

// term is a loss in the device's words, as it is at step 0.
func (l *Loss) term() device.Term {
	t := device.Term{Head: deviceHeads[l.Head], Name: l.Name, Errors: l.Kind == ValueError, Categorical: l.Kind == ValueCategorical, Weight: l.Weight, Target: l.Target}
	if l.Kind == SoftCross {
		t.Temperature = l.Temperature
	}
	if l.Kind == OptimisticCross {
		t.Optimistic, t.Strength = true, l.Strength
	}
	if l.Mix != nil {
		t.Other, t.Ratio = l.Mix.Other, float32(l.Mix.At(0))
	}
	return t
}

// target returns what a row should learn at step 0; which fields are known is the same at
// each step. A field that is not known is NaN.
func (l *Loss) target(targets *[encoding.NumTargets]encoding.QDM) encoding.QDM {
	t, value := l.term(), nn.ValueWDL
	if l.Kind == MSE || l.Kind == OptimisticCross || l.forecast() {
		value = nn.ValueScalar
	}
	return t.Learn(targets, value)
}
