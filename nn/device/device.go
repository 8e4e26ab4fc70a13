// Package device declares, in plain types, what a training device does for the
// trainer: nn/cpu/train and nn/cuda are one, and the trainer needs to know of none
// which it is.
package device

import (
	"fmt"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// Precision of products on a device. Sums, weights and moments are fp32 always.
type Precision uint8

// The precisions. FP16 needs a loss scale.
const (
	FP32 Precision = iota
	BF16
	FP16
)

// String is fp32, bf16 or fp16.
func (p Precision) String() string { return [...]string{FP32: "fp32", BF16: "bf16", FP16: "fp16"}[p] }

// Head says which output a Term is about.
type Head uint8

// The heads.
const (
	Policy Head = iota
	Value
	MovesLeft
	Survival // this one and the following: parts of the auxiliary head
	Material
	Reply
	ShortTerm
)

// Output is the name in nn.Arch of the head that it is or belongs to.
func (h Head) Output() string {
	if h >= Survival {
		return nn.Auxiliary
	}
	return [...]string{nn.Policy, nn.Value, nn.MovesLeft}[h]
}

// Term is one loss of a head: the formulas follow from the head and the net (as
// trainer.Loss). Target, Other and Ratio are Value's, MovesLeft's, ShortTerm's and those of
// an optimistic policy.
type Term struct {
	Head   Head
	Name   string  // of the head in nn.Arch, "" = the main one. A policy nn.Opponent learns the reply, by no other formula than the first
	Weight float64 // factor in the objective
	// Temperature, of the policy, if not 0: both the target and the net's policy are taken
	// to the power of 1/Temperature and normalised.
	Temperature float64
	// Errors, of a value head that forecasts them (nn.Head.Errors): the loss is the forecast's,
	// against the square of what the value is off Target. The value does not follow it.
	Errors bool
	// Categorical, of a value head with nn.Head.Categories: the loss is the cross entropy of
	// their softmax and the one in which Target is.
	Categorical bool
	// Optimistic, of the policy, weighs the loss of a row by its Optimism: the auxiliary
	// head's short-term value against what the row learns of this term.
	Optimistic bool
	Strength   float64 // standard deviations from which on rows count
	Target     encoding.Target
	Other      encoding.Target // blended in with share Ratio; a row that knows one of the two only learns that one
	Ratio      float32         // [0,1]; 0 = Target alone, 1 = Other alone
}

// Prefix is that of the head in nn.Arch that the term is about.
func (t *Term) Prefix() string { return nn.Head{Output: t.Head.Output(), Name: t.Name}.Prefix() }

// Config is what a Trainer needs to know before the first step.
type Config struct {
	Arch       nn.Arch
	Capacity   int // rows of a micro-batch, at most
	Precision  Precision
	Workers    int // goroutines of a CPU, 0 = GOMAXPROCS; results do not depend on it
	Terms      []Term
	BNMomentum float64
	Optimizer  string  // "sgd" (Nesterov), "adamw" or "nadamw"
	Momentum   float32 // SGD
	Beta1      float64 // AdamW, NAdamW
	Beta2      float64
	Epsilon    float32
	// MomentumDecay is NAdamW's: its momentum grows from half of Beta1 to Beta1 at this
	// rate; 0 = it is Beta1 from the first step.
	MomentumDecay float64
	Decay         float32 // AdamW's decoupled weight decay, of tensors of kind nn.Weight
	L2            float32 // gradient += L2*w for tensors of kind nn.Weight
}

// State is all that training changes, in host memory: a list a tensor, in the
// order of nn.Specs. Moments ("velocity", or "m" and "v") have only the trained
// ones. SWA is nil where there is no average.
type State struct {
	Params  [][]float32
	Moments [][][]float32
	SWA     [][]float32
}

// NumMoments is how many moments the optimizer keeps of a weight.
func (c *Config) NumMoments() int {
	if c.Optimizer == "sgd" {
		return 1
	}
	return 2
}

// Check refuses a state of another net or optimizer; parts that are nil are not looked at.
func (c *Config) Check(s *State) error {
	if s.Moments != nil && len(s.Moments) != c.NumMoments() {
		return fmt.Errorf("a state with %d moments does not fit %s", len(s.Moments), c.Optimizer)
	}
	all := nn.Specs(c.Arch)
	trained := slices.DeleteFunc(slices.Clone(all), func(s nn.ParamSpec) bool { return !s.Kind.Trained() })
	fits := func(list [][]float32, specs []nn.ParamSpec) error {
		if len(list) != len(specs) {
			return fmt.Errorf("a state of %d tensors does not fit a net of %d", len(list), len(specs))
		}
		for i, s := range specs {
			if len(list[i]) != s.Len() {
				return fmt.Errorf("tensor %s has %d numbers, want %d", s.Name, len(list[i]), s.Len())
			}
		}
		return nil
	}
	for _, list := range [][][]float32{s.Params, s.SWA} {
		if list != nil {
			if err := fits(list, all); err != nil {
				return err
			}
		}
	}
	for _, list := range s.Moments {
		if err := fits(list, trained); err != nil {
			return err
		}
	}
	return nil
}

// Pass says how a micro-batch goes through the net.
type Pass struct {
	Backward  bool    // gradients are wanted
	First     bool    // of the step: gradients are set, else added
	Running   bool    // batch norm takes the running statistics, as inference does
	LossScale float32 // factor of every loss gradient
	// BNMomentum, if not 0, replaces Config's for the running statistics.
	BNMomentum float64
}

// RowLoss is what one row says of one term. Loss is NaN where the target is not known.
type RowLoss struct {
	Loss float64
	Hit  float64 // 1 where the likeliest outcome agrees; 0 for moves left
}

// Rows is what a pass measured, row by row; the caller owns it, Forward sets lengths.
type Rows struct {
	Terms   [][]RowLoss // by term, by row
	Entropy []float64   // of the net's policy, nats; NaN where the row has no known policy target
}

// Update ends a step.
type Update struct {
	Scale     float32 // gradients are multiplied by it: 1/(micro-batches*loss scale)
	ClipNorm  float64 // 0 = off
	LR        float32
	Step      int64   // optimizer steps taken before this one (corrections of the moments)
	Objective float64 // the step's loss; not finite = skip
	// SWAKeep and SWAAdd, if SWAAdd is not 0, make the average SWAKeep*average +
	// SWAAdd*weights after the step; SWAKeep 0 begins it.
	SWAKeep, SWAAdd float32
}

// Updated is what an update did.
type Updated struct {
	GradNorm    float64 // after Scale and L2, before clipping
	HalfSquares float64 // half the sum of squares of all tensors of kind nn.Weight, before the step
	Finite      bool    // gradient norm and running statistics; false = nothing was changed
}

// KeptRow names a row of a trainer's window, and the symmetry under which it is
// shown: slot*encoding.NumTransforms + transform.
type KeptRow uint32

// MaxWindow bounds the rows of a window.
const MaxWindow = 1 << 29

// Kept names the row in a slot, 0 to MaxWindow-1, shown under a symmetry that its
// position allows.
func Kept(slot int, as encoding.Transform) KeptRow {
	return KeptRow(slot)*KeptRow(encoding.NumTransforms) + KeptRow(as)
}

// Trainer holds a net and its optimizer on a device. It is used by one goroutine
// at a time. Results of equal calls are equal bit for bit.
type Trainer interface {
	// Devices is how many work at once: so many passes may be under way before one has to be
	// finished.
	Devices() int
	// Precision is that of the products. Where it is not Config's, why is for the user.
	Precision() (p Precision, why string)
	// Upload replaces the device's state, all of it: without s.SWA there is no average.
	// Download copies those of s.Params, s.Moments and s.SWA that are not nil; their
	// slices have the right lengths.
	Upload(s *State) error
	Download(s *State) error
	// Blend replaces the Ratio of a term, by its index in Config.Terms. No pass may be
	// started and not finished.
	Blend(term int, ratio float32) error
	// Stage copies a micro-batch towards the device, which may be at work on another;
	// b may be changed as soon as it returns. At most two batches a device are staged and
	// not finished.
	Stage(b *encoding.TrainBatch) error
	// OpenWindow makes room on the device for rows that are copied once and used often;
	// numRows is at most MaxWindow. False: they would take more than half of the memory
	// that is free. It is called once, at most.
	OpenWindow(numRows int) (bool, error)
	// Keep copies the rows of b into the window's slots from first on; behind the last
	// slot it goes on with slot 0. Batches that are staged already stay what they are; b
	// may be changed as soon as it returns.
	Keep(first int, b *encoding.TrainBatch) error
	// StageKept is Stage with rows of the window and, beside them, their weights.
	StageKept(rows []KeptRow, weights []float32) error
	// Start begins to take the batch that was staged first, and has not been started,
	// through the net, and returns.
	Start(p Pass) error
	// Finish waits for the pass that was started first and gives its measures.
	Finish(out *Rows) error
	// Drop forgets batches that are staged and not finished, as after an error.
	Drop() error
	// BeginStep drops pending running statistics: those of a step that was skipped. A
	// batch may be staged already, as at Update.
	BeginStep() error
	// KeepRunning copies the pending running statistics into s's tensors of kind
	// nn.Mean and nn.Var.
	KeepRunning(params [][]float32) error
	Update(u Update) (Updated, error)
	Close() error
}
