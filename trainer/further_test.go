package trainer

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

// furtherConfig has a loss for each further head of the nets below.
func furtherConfig(a nn.Arch) Config {
	cfg := testConfig(a, 16)
	cfg.Optimizer, cfg.Schedule = OptimizerAdamW, ConstantLR(0.01)
	cfg.Losses = LossesFor(a, append(slices.DeleteFunc(cfg.Losses, func(l Loss) bool { return l.Kind == SoftCross || l.Kind == OptimisticCross }),
		Loss{Head: HeadPolicy, Name: "optimistic", Kind: OptimisticCross, Target: encoding.TargetRoot, Weight: 1, Metric: "optimistic_loss"},
		Loss{Head: HeadPolicy, Name: "soft", Kind: SoftCross, Temperature: 4, Weight: 2, Metric: "soft_loss"},
		Loss{Head: HeadPolicy, Name: nn.Opponent, Kind: CrossEntropy, Weight: 1, Metric: "opponent_loss"},
		Loss{Head: HeadValue, Name: "q", Target: encoding.TargetRoot, Weight: 1, Metric: "q_loss"},
		Loss{Head: HeadValue, Name: "q", Kind: ValueError, Target: encoding.TargetRoot, Weight: 1, Metric: "q_error"},
		Loss{Head: HeadValue, Kind: ValueError, Target: encoding.TargetResult, Weight: .5, Metric: "error"},
		Loss{Head: HeadValue, Name: "q", Kind: ValueCategorical, Buckets: 6, Target: encoding.TargetResult, Weight: 1, Metric: "q_categories"},
		Loss{Head: HeadValue, Kind: ValueCategorical, Buckets: 32, Target: encoding.TargetRoot, Weight: .5, Metric: "categories"},
		Loss{Head: HeadValue, Name: "st", Target: encoding.TargetResult, Weight: 1, Metric: "st_loss"}))
	return cfg
}

// TestFurtherHeads: each head learns by its own loss, and the measures of the policy and the
// value are the main heads'.
func TestFurtherHeads(t *testing.T) {
	for _, name := range []string{"16x1-optimistic-soft-opponent-q-st-aux", "16x1x2h-pooled-optimistic-soft-opponent-q-st-aux"} {
		a := nntest.Arch(name).WithForecasts("", 1, 32).WithForecasts("q", 1, 6)
		rows := encoding.NewTrainBatch(16)
		nntest.AppendRows(rows, rand.New(rand.NewPCG(1, 1)), 16)
		tr := newTestTrainer(t, nn.Init(a, 1), furtherConfig(a))
		before, src := tr.Net(), &fixedSource{rows: rows, size: 16}
		first := mustStep(t, tr, src)
		var last StepStats
		for range 80 {
			last = mustStep(t, tr, src)
		}
		floors := Measures{Losses: Floors(tr.cfg.Losses, rows)}
		// The weights of an optimistic loss follow another head: it may rise.
		for _, metric := range []string{"policy_loss", "soft_loss", "opponent_loss", "value_loss", "q_loss", "st_loss", "error", "q_error", "categories", "q_categories"} {
			if a, b, least := first.Loss(metric), last.Loss(metric), floors.Loss(metric); !(b-least < .3*(a-least)) {
				t.Errorf("%s: %s went from %v to %v, the least is %v", name, metric, a, b, least)
			}
		}
		after := tr.Net()
		for _, s := range nn.Specs(a) {
			if s.Kind == nn.Weight && slices.Equal(before.Get(s.Name), after.Get(s.Name)) {
				t.Errorf("%s: %s did not change", name, s.Name)
			}
		}
		// The heads are apart: other losses of the further ones leave the main ones' measures.
		cfg := furtherConfig(a)
		cfg.Losses = slices.DeleteFunc(cfg.Losses, func(l Loss) bool { return l.Name != "" || l.forecast() })
		alone := mustStep(t, newTestTrainer(t, nn.Init(a, 1), cfg), &fixedSource{rows: rows, size: 16})
		if alone.PolicyEntropy != first.PolicyEntropy || alone.PolicyAccuracy != first.PolicyAccuracy || alone.ValueAccuracy != first.ValueAccuracy || alone.Loss("value_loss") != first.Loss("value_loss") {
			t.Errorf("%s: %+v, without further heads %+v", name, first.Measures, alone.Measures)
		}
	}
}

// TestFurtherHeadsRefused: names that no head has, and nets that lack the head.
func TestFurtherHeadsRefused(t *testing.T) {
	policy := Loss{Head: HeadPolicy, Name: "soft", Kind: SoftCross, Temperature: 4, Weight: 1, Metric: "x"}
	value := Loss{Head: HeadValue, Name: "q", Kind: WDLCrossEntropy, Weight: 1, Metric: "y"}
	with := func(change func(l *Loss)) Loss {
		l := policy
		change(&l)
		return l
	}
	net := nntest.Arch("16x1-soft")
	for _, c := range []struct {
		arch  nn.Arch
		extra []Loss
		want  string
	}{
		{net, []Loss{with(func(l *Loss) { l.Name = "q" })}, `head_name "q" is none of ["optimistic" "soft" "opponent"], the further ones of head policy`},
		{net.WithHead(nn.Policy, nn.Opponent), []Loss{with(func(l *Loss) { l.Name = nn.Opponent })}, `kind "soft_cross_entropy" does not belong to head_name "opponent", which learns one move`},
		{net, []Loss{with(func(l *Loss) { l.Head, l.Kind = HeadMovesLeft, Huber })}, `head_name "soft" is none of []`},
		{net, []Loss{policy, with(func(l *Loss) { l.Metric = "twice" })}, "losses[5] (twice): want one policy loss of this kind at most, of each head"},
		{net, []Loss{with(func(l *Loss) { l.Kind = OptimisticCross })}, "wants one loss of head short_term"},
		{net, []Loss{value}, `the net 16x1-se-soft has no value head "q": leave the loss away, or begin a run with it`},
		{net.WithForecasts("", 1, 0), []Loss{with(func(l *Loss) { l.Head, l.Name, l.Kind = HeadValue, "", ValueError }), value}, `no value head "q"`},
		{net, []Loss{with(func(l *Loss) { l.Head, l.Name, l.Kind = HeadValue, "", ValueError })}, "the net 16x1-se-soft has no forecast of errors at this head"},
		{net.WithForecasts("", 0, 32), []Loss{with(func(l *Loss) { l.Head, l.Name, l.Kind, l.Buckets = HeadValue, "", ValueCategorical, 31 })}, "the net 16x1-se-soft has 32 categories at this head, not 31"},
		{net, []Loss{with(func(l *Loss) { l.Head, l.Name, l.Kind, l.Buckets = HeadValue, "", ValueCategorical, 2 })}, "has 0 categories at this head, not 2"},
		{net, []Loss{with(func(l *Loss) { l.Head, l.Name, l.Kind, l.Buckets = HeadValue, "", ValueCategorical, 1 })}, "buckets 1 is outside [2,1024]"},
		{nn.SparseArch(nn.SparseBlock), []Loss{policy}, "a sparse net has no further heads"},
	} {
		cfg := DefaultConfig()
		cfg.Losses = append(LossesFor(c.arch, cfg.Losses), c.extra...)
		if _, err := New(nn.Init(c.arch, 1), cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	cfg := DefaultConfig()
	cfg.Losses = append(LossesFor(net, cfg.Losses), policy, with(func(l *Loss) { l.Kind, l.Metric = CrossEntropy, "both" }))
	newTestTrainer(t, nn.Init(net, 1), cfg)
}
