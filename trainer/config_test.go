package trainer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

func TestConfigValidate(t *testing.T) {
	good := DefaultConfig()
	if err := good.Validate(); err != nil {
		t.Fatalf("the default configuration: %v", err)
	}
	for field, spoil := range map[string]func(c *Config){
		"batch_size":       func(c *Config) { c.BatchSize = 0 },
		"grad_accum_steps": func(c *Config) { c.GradAccumSteps = 0 },
		"workers":          func(c *Config) { c.Workers = -1 },
		"optimizer":        func(c *Config) { c.Optimizer = "lion" },
		"momentum":         func(c *Config) { c.Momentum = 1 },
		"beta2":            func(c *Config) { c.Optimizer, c.Beta2 = OptimizerAdamW, 1 },
		"epsilon":          func(c *Config) { c.Optimizer, c.Epsilon = OptimizerAdamW, 0 },
		"momentum_decay":   func(c *Config) { c.MomentumDecay = 1.5 },
		"weight_decay":     func(c *Config) { c.WeightDecay = -1 },
		"clip_norm":        func(c *Config) { c.ClipNorm = math.NaN() },
		"bn_momentum":      func(c *Config) { c.BNMomentum = 0 },
		"schedule":         func(c *Config) { c.Schedule = nil },
		"warmup":           func(c *Config) { c.Warmup = Warmup{Steps: 1, KataGo: true} },
		"swa.max_averages": func(c *Config) { c.SWA = SWAConfig{Period: 1} },
		"nothing to learn": func(c *Config) { c.Losses = c.Losses[3:] },
		"head":             func(c *Config) { c.Losses[0].Head = "attention" },
		"kind":             func(c *Config) { c.Losses[0].Kind = Huber },
		"weight":           func(c *Config) { c.Losses[0].Weight = math.Inf(1) },
		"twice":            func(c *Config) { c.Losses[1].Metric = c.Losses[0].Metric },
		"metric":           func(c *Config) { c.Losses[1].Metric = "" },
		"temperature": func(c *Config) {
			c.Losses = append(c.Losses, Loss{Head: HeadPolicy, Kind: SoftCross, Metric: "p2", Temperature: 1})
		},
		"beside it": func(c *Config) {
			c.Losses[0] = Loss{Head: HeadPolicy, Kind: SoftCross, Metric: "p", Temperature: 4}
		},
		"strength": func(c *Config) {
			c.Losses = append(c.Losses, Loss{Head: HeadPolicy, Kind: OptimisticCross, Metric: "p2", Strength: 11})
		},
		"short_term with a weight": func(c *Config) {
			c.Losses = append(c.Losses, Loss{Head: HeadPolicy, Kind: OptimisticCross, Metric: "p2"}, Loss{Head: HeadShortTerm, Kind: MSE, Metric: "s"})
		},
		"there are 2": func(c *Config) {
			short := Loss{Head: HeadShortTerm, Kind: MSE, Weight: 1}
			c.Losses = append(c.Losses, Loss{Head: HeadPolicy, Kind: OptimisticCross, Metric: "p2"}, short, short)
			c.Losses[5].Metric, c.Losses[6].Metric = "s", "s2"
		},
		"optimistic_cross_entropy wants one of kind cross_entropy": func(c *Config) {
			c.Losses[0] = Loss{Head: HeadPolicy, Kind: OptimisticCross, Metric: "p"}
		},
		"one policy loss": func(c *Config) { c.Losses = append(c.Losses, Loss{Head: HeadPolicy, Kind: CrossEntropy, Metric: "p2"}) },
		"q_ratio":         func(c *Config) { c.Losses[1].Mix = &Mix{QRatio: 2} },
		"schedule of":     func(c *Config) { c.Losses[1].Mix = &Mix{Schedule: ConstantLR(1.5)} },
		"at each step":    func(c *Config) { c.Losses[1].Mix = &Mix{Schedule: Schedule{}} },
		"target":          func(c *Config) { c.Losses[1].Target = encoding.NumTargets },
	} {
		c := DefaultConfig()
		c.Losses = slices.Clone(c.Losses)
		spoil(&c)
		if err := c.Validate(); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
}

// TestLossesFitNet: a loss on a head that the net lacks is refused by New;
// LossesFor leaves it out.
func TestLossesFitNet(t *testing.T) {
	arch := nntest.Arch("16x2-scalar-noml")
	cfg := DefaultConfig()
	if _, err := New(nn.Init(arch, 1), cfg); !errors.Is(err, ErrConfig) {
		t.Errorf("losses of absent heads: %v", err)
	}
	cfg.Losses = LossesFor(arch, cfg.Losses)
	many := cfg
	for i := range maxTerms {
		many.Losses = append(slices.Clip(many.Losses), Loss{Head: HeadValue, Kind: MSE, Metric: fmt.Sprint(i)})
	}
	if _, err := New(nn.Init(arch, 1), many); !errors.Is(err, ErrConfig) {
		t.Errorf("%d losses: %v", len(many.Losses), err)
	}
	aux := cfg
	aux.Losses = append(slices.Clip(aux.Losses), Loss{Head: HeadReply, Kind: CrossEntropy, Weight: 1, Metric: "reply"})
	if _, err := New(nn.Init(arch, 1), aux); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "no auxiliary head") {
		t.Errorf("a loss of the auxiliary head: %v", err)
	}
	tr := newTestTrainer(t, nn.Init(arch, 1), cfg)
	if len(tr.cfg.Losses) != 3 || tr.cfg.Losses[1].Kind != MSE {
		t.Errorf("LossesFor = %+v", tr.cfg.Losses)
	}
}

// TestAMPWarns: --amp says that it has no effect where the tier has no bf16.
func TestAMPWarns(t *testing.T) {
	tier := kernel.ActiveTier()
	t.Cleanup(func() {
		if err := kernel.SetTier(tier); err != nil {
			t.Error(err)
		}
	})
	for _, tier := range []kernel.Tier{tier, kernel.Generic} {
		if err := kernel.SetTier(tier); err != nil {
			t.Fatal(err)
		}
		cfg := DefaultConfig()
		if tr := newTestTrainer(t, nn.Init(nntest.TinyArch(), 1), cfg); len(tr.Warnings()) != 0 {
			t.Errorf("%s: warnings without --amp: %v", tier, tr.Warnings())
		}
		cfg.Precision = device.BF16
		w := newTestTrainer(t, nn.Init(nntest.TinyArch(), 1), cfg).Warnings()
		if kernel.HasBF16() {
			if len(w) != 0 {
				t.Errorf("%s: warnings with --amp: %v", tier, w)
			}
		} else if len(w) != 1 || !strings.Contains(w[0], "fp32") {
			t.Errorf("%s: warnings with --amp: %v", tier, w)
		}
	}
}
