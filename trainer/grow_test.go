package trainer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// TestGrownSection: a trainer of a larger net goes on from the state of a smaller one: with
// its counts, with weights and averages that nn.Grow makes of its own, and with its moments
// in their places; what it saves then is a state like any other.
func TestGrownSection(t *testing.T) {
	for _, optimizer := range []string{OptimizerSGD, OptimizerAdamW} {
		for _, pair := range [][2]string{{"8x1", "12x3"}, {"sparse64", "sparse128"}} {
			t.Run(fmt.Sprint(optimizer, pair), func(t *testing.T) { testGrown(t, optimizer, pair[0], pair[1]) })
		}
	}
}

func testGrown(t *testing.T, optimizer, from, to string) {
	arch := func(name string) nn.Arch {
		a := nntest.Named(name)
		if !a.Sparse() {
			a = nntest.Arch(name)
		}
		return a
	}
	small, large := arch(from), arch(to)
	cfg := testConfig(small, 4)
	cfg.Optimizer, cfg.SWA = optimizer, SWAConfig{Period: 1, MaxAverages: 3}
	old := newTestTrainer(t, nn.Init(small, 1), cfg)
	for src := newRowsSource(1, 4, -1); old.NumSteps() < 3; {
		mustStep(t, old, src)
	}
	var saved bytes.Buffer
	if err := old.Section().Save(&saved); err != nil {
		t.Fatal(err)
	}
	fresh := newTestTrainer(t, nn.Init(large, 9), cfg)
	before := fresh.Net()
	if err := fresh.Section().Load(bytes.NewReader(saved.Bytes()), SectionVersion); !errors.Is(err, checkpoint.ErrStateMismatch) {
		t.Errorf("the plain section takes a smaller net: %v", err)
	}
	if err := fresh.GrownSection(5).Load(bytes.NewReader(saved.Bytes()[:saved.Len()-9]), SectionVersion); err == nil {
		t.Error("a state that was cut off is taken")
	}
	sameBits(t, "refused", before, fresh.Net())
	if err := fresh.GrownSection(5).Load(bytes.NewReader(saved.Bytes()), SectionVersion); err != nil {
		t.Fatal(err)
	}
	for what, nets := range map[string][2]*nn.Net{"weights": {old.Net(), fresh.Net()}, "average": {old.SWA(), fresh.SWA()}} {
		want, err := nn.Grow(nets[0], large, 5)
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, what, want, nets[1])
	}
	if fresh.NumSteps() != 3 || fresh.NumSamples() != 12 || fresh.opt.steps != old.opt.steps || fresh.swa.n != old.swa.n {
		t.Errorf("step %d, %d samples, %d of the optimizer, an average of %g", fresh.NumSteps(), fresh.NumSamples(), fresh.opt.steps, fresh.swa.n)
	}
	for i, m := range fresh.opt.moments {
		for j, s := range fresh.trained() {
			at := slices.IndexFunc(old.trained(), func(o nn.ParamSpec) bool { return o.Name == s.Name })
			if at < 0 || s.Len() != old.trained()[at].Len() {
				if low := slices.Min(m.data[j]); m.name == "v" && low < 0 {
					t.Errorf("%s of %s goes down to %g", m.name, s.Name, low)
				}
				continue
			}
			if !slices.Equal(m.data[j], old.opt.moments[i].data[at]) {
				t.Errorf("%s of %s is not the old one", m.name, s.Name)
			}
		}
	}
	mustStep(t, fresh, newRowsSource(2, 4, 1))
	var again bytes.Buffer
	if err := fresh.GrownSection(5).Save(&again); err != nil {
		t.Fatal(err)
	}
	third := newTestTrainer(t, nn.Init(large, 8), cfg)
	if err := third.Section().Load(&again, SectionVersion); err != nil {
		t.Fatal(err)
	}
	sameBits(t, "saved and loaded", fresh.Net(), third.Net())
}
