package trainer

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// Names of the optimizers.
const (
	OptimizerSGD    = "sgd"    // Nesterov momentum
	OptimizerAdamW  = "adamw"  // decoupled weight decay
	OptimizerNAdamW = "nadamw" // AdamW with Nesterov momentum
)

// MaxConsecutiveSkips is how many steps in a row may be skipped for a loss or
// gradient that is not finite before Step returns ErrNonFinite.
const MaxConsecutiveSkips = 10

// ErrNonFinite means that MaxConsecutiveSkips steps in a row had a loss or a
// gradient that is not finite. Weights and optimizer state are those of the
// last good step.
var ErrNonFinite = errors.New("losses or gradients are not finite")

// ErrConfig is wrapped by every complaint about a Config.
var ErrConfig = errors.New("trainer configuration")

// configError wraps ErrConfig with the name of the field at fault.
func configError(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrConfig, field, fmt.Sprintf(format, args...))
}

// Config says how a net is trained. A micro-batch is what goes through the net
// at once and what batch-norm statistics are taken over; a step is
// GradAccumSteps micro-batches and one change of the weights.
type Config struct {
	BatchSize      int // rows of a micro-batch
	GradAccumSteps int // micro-batches of a step; the loss is divided by it
	Workers        int // goroutines of a CPU; 0 = GOMAXPROCS. Results do not depend on it

	Optimizer   string  // OptimizerSGD, OptimizerAdamW or OptimizerNAdamW
	Momentum    float64 // SGD: [0,1)
	Beta1       float64 // AdamW, NAdamW: decay of the first moment, [0,1)
	Beta2       float64 // AdamW, NAdamW: decay of the second moment, [0,1)
	Epsilon     float64 // AdamW, NAdamW: added to the root of the second moment, > 0
	WeightDecay float64 // AdamW, NAdamW: lr*WeightDecay*w is subtracted from weights (not biases, gamma, beta)
	// MomentumDecay in [0,1], of NAdamW: its momentum grows from half of Beta1 to Beta1 at
	// this rate; 0 = it is Beta1 from the first step.
	MomentumDecay float64
	ClipNorm      float64 // global gradient norm above which gradients are scaled down; 0 = off

	Schedule Schedule // learning rate by step
	Warmup   Warmup
	Losses   []Loss
	SWA      SWAConfig

	BNMomentum float64 // share of the new micro-batch in the running statistics, (0,1]
	Seed       uint64  // kept in the state. The trainer itself draws no random numbers

	// Precision of products; weights and sums are fp32. What a device lacks is fp32
	// there, with a warning. FP16 scales the loss dynamically.
	Precision device.Precision
	// Device opens the device that trains; nil = the CPU (nn/cpu/train).
	Device func(device.Config) (device.Trainer, error)
	// Window is how many rows the device shall keep, so that batches may name them
	// (Trainer.KeptRows); 0 = none.
	Window int
}

// SWAConfig turns on stochastic weight averaging.
type SWAConfig struct {
	Period      int64 // steps between two averages; 0 = off
	MaxAverages int   // the average remembers about so many nets, >= 1
}

// DefaultConfig suits short runs of a small net: SGD with Nesterov momentum.
func DefaultConfig() Config {
	return Config{
		BatchSize:      16,
		GradAccumSteps: 1,
		Optimizer:      OptimizerSGD,
		Momentum:       0.9,
		Beta1:          0.9,
		Beta2:          0.999,
		Epsilon:        1e-8,
		WeightDecay:    0.01,
		ClipNorm:       10,
		Schedule:       ConstantLR(0.02),
		Losses:         DefaultLosses(),
		BNMomentum:     0.1,
	}
}

// Validate checks everything that needs no net. Its errors wrap ErrConfig and
// name the field.
func (c *Config) Validate() error {
	for _, f := range []struct {
		name  string
		v, lo int
	}{
		{"batch_size", c.BatchSize, 1}, {"grad_accum_steps", c.GradAccumSteps, 1},
		{"workers", c.Workers, 0}, {"swa.period", int(c.SWA.Period), 0},
	} {
		if f.v < f.lo {
			return configError(f.name, "%d is below %d", f.v, f.lo)
		}
	}
	if c.SWA.Period > 0 && c.SWA.MaxAverages < 1 {
		return configError("swa.max_averages", "%d is below 1", c.SWA.MaxAverages)
	}
	if c.Warmup.Steps < 0 || (c.Warmup.Steps > 0 && c.Warmup.KataGo) {
		return configError("warmup", "want steps >= 0, and not both forms")
	}
	return cmp.Or(c.validateOptimizer(), c.Schedule.Validate(), c.validateLosses())
}

func (c *Config) validateOptimizer() error {
	sgd := c.Optimizer == OptimizerSGD
	if !sgd && c.Optimizer != OptimizerAdamW && c.Optimizer != OptimizerNAdamW {
		return configError("optimizer", "%q is none of sgd, adamw and nadamw", c.Optimizer)
	}
	for _, f := range []struct {
		name string
		v    float64
		ok   bool
	}{
		{"momentum", c.Momentum, c.Momentum >= 0 && c.Momentum < 1},
		{"beta1", c.Beta1, sgd || (c.Beta1 >= 0 && c.Beta1 < 1)},
		{"beta2", c.Beta2, sgd || (c.Beta2 >= 0 && c.Beta2 < 1)},
		{"epsilon", c.Epsilon, sgd || c.Epsilon > 0},
		{"weight_decay", c.WeightDecay, c.WeightDecay >= 0 && !math.IsInf(c.WeightDecay, 0)},
		{"momentum_decay", c.MomentumDecay, c.MomentumDecay >= 0 && c.MomentumDecay <= 1},
		{"clip_norm", c.ClipNorm, c.ClipNorm >= 0},
		{"bn_momentum", c.BNMomentum, c.BNMomentum > 0 && c.BNMomentum <= 1},
	} {
		if !f.ok {
			return configError(f.name, "%v is out of range", f.v)
		}
	}
	return nil
}

// lossOf is a kind of loss of the policy head of a name.
type lossOf struct {
	name string
	kind LossKind
}

func (c *Config) validateLosses() error {
	seen, learns, optimistic, shortTerms := map[string]bool{}, false, false, 0
	policies := map[lossOf]int{}
	for i := range c.Losses {
		l := &c.Losses[i]
		field := fmt.Sprintf("losses[%d] (%s)", i, l.Metric)
		if err := l.validate(field); err != nil {
			return err
		}
		if seen[l.Metric] {
			return configError(field, "the metric name is there twice")
		}
		seen[l.Metric] = true
		if l.Head == HeadPolicy {
			policies[lossOf{l.Name, l.Kind}]++
			optimistic = optimistic || l.Kind == OptimisticCross
		}
		if policies[lossOf{l.Name, l.Kind}] > 1 {
			return configError(field, "want one policy loss of this kind at most, of each head")
		}
		if l.Head == HeadShortTerm && l.Weight > 0 {
			shortTerms++
		}
		learns = learns || (l.Head != HeadWeights && l.Weight > 0)
	}
	for _, kind := range []LossKind{SoftCross, OptimisticCross} {
		if policies[lossOf{kind: kind}] > policies[lossOf{kind: CrossEntropy}] {
			return configError("losses", "a policy loss of kind %s wants one of kind cross_entropy beside it, or the head_name of a further head", kind)
		}
	}
	if optimistic && shortTerms != 1 {
		return configError("losses", "a policy loss of kind optimistic_cross_entropy wants one loss of head short_term with a weight above 0 beside it: there are %d", shortTerms)
	}
	if !learns {
		return configError("losses", "nothing to learn: no head has a loss with a weight above 0")
	}
	return nil
}

// LossesFor returns the losses that fit a net: those of a head that it lacks
// (moves left) are left out, and WDL cross entropy becomes MSE, or the reverse,
// as its value head asks. Use it on DefaultLosses; a list written by a user is
// held against the net by New instead.
func LossesFor(a nn.Arch, losses []Loss) []Loss {
	var fit []Loss
	for _, l := range losses {
		if l.Head == HeadMovesLeft && a.Head(nn.MovesLeft) == nil {
			continue
		}
		if l.Head == HeadValue && !l.forecast() {
			l.Kind = valueKind(a)
		}
		fit = append(fit, l)
	}
	return fit
}

// valueKind is the loss formula of a net's value head.
func valueKind(a nn.Arch) LossKind {
	if a.ValueForm() == nn.ValueScalar {
		return MSE
	}
	return WDLCrossEntropy
}

// checkNet refuses losses that the net cannot have.
func (c *Config) checkNet(a nn.Arch) error {
	for i := range c.Losses {
		l := &c.Losses[i]
		field := fmt.Sprintf("losses[%d] (%s)", i, l.Metric)
		if l.Head == HeadMovesLeft && a.Head(nn.MovesLeft) == nil {
			return configError(field, "the net %s has no moves-left head", a)
		}
		if l.Auxiliary() && a.Head(nn.Auxiliary) == nil {
			return configError(field, "the net %s has no auxiliary head: leave the loss away, or begin a run with it", a)
		}
		if l.Name != "" && a.Named(string(l.Head), l.Name) == nil {
			return configError(field, "the net %s has no %s head %q: leave the loss away, or begin a run with it; a sparse net has no further heads", a, l.Head, l.Name)
		}
		if l.Kind == ValueError && a.Named(nn.Value, l.Name).Errors == 0 {
			return configError(field, "the net %s has no forecast of errors at this head: leave the loss away, or begin a run with it; a sparse net has none", a)
		}
		if l.Kind == ValueCategorical && a.Named(nn.Value, l.Name).Categories != l.Buckets {
			return configError(field, "the net %s has %d categories at this head, not %d: set buckets to them, leave the loss away, or begin a run with it; a sparse net has none",
				a, a.Named(nn.Value, l.Name).Categories, l.Buckets)
		}
		if want := valueKind(a); l.Head == HeadValue && !l.forecast() && l.Kind != want {
			return configError(field, "the net %s has value head %q: want kind %q, not %q", a, a.ValueForm(), want, l.Kind)
		}
	}
	return nil
}
