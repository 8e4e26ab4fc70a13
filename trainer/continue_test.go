package trainer

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// What ReadState reads makes a fresh trainer of the net go on as the old one: the
// same steps give the same weights, with each optimizer.
func TestContinue(t *testing.T) {
	a := nntest.TinyArch()
	for _, optimizer := range []string{OptimizerSGD, OptimizerAdamW, OptimizerNAdamW} {
		cfg := testConfig(a, 8)
		cfg.Optimizer = optimizer
		old := newTestTrainer(t, nntest.Net(a, 3), cfg)
		for src := newRowsSource(1, 8, 3); old.NumSteps() < 3; {
			mustStep(t, old, src)
		}
		var saved bytes.Buffer
		if err := old.Section().Save(&saved); err != nil {
			t.Fatal(err)
		}
		s, err := ReadState(bytes.NewReader(saved.Bytes()), SectionVersion)
		if err != nil || !s.Arch.Equal(a) || s.Optimizer != optimizer || s.Steps != 3 || s.Samples != 24 || s.OptimizerSteps != 3 {
			t.Fatalf("%s: %+v %v", optimizer, s, err)
		}
		fresh := newTestTrainer(t, old.Net(), cfg)
		if err := fresh.Continue(Continuation{s.Steps, s.Samples, s.OptimizerSteps, s.Moments}); err != nil {
			t.Fatal(err)
		}
		mustStep(t, old, newRowsSource(2, 8, 1))
		if stats := mustStep(t, fresh, newRowsSource(2, 8, 1)); stats.Step != 4 || stats.Samples != 32 {
			t.Errorf("%s: step %d, %d samples", optimizer, stats.Step, stats.Samples)
		}
		sameBits(t, optimizer, old.Net(), fresh.Net())
	}
}

func TestContinueRefuses(t *testing.T) {
	a := nntest.TinyArch()
	tr := newTestTrainer(t, nntest.Net(a, 3), testConfig(a, 4))
	before := tr.Net()
	for name, c := range map[string]Continuation{
		"negative":     {Steps: -1},
		"unknown":      {Moments: map[string][]float32{"velocity.x": {1}}},
		"other length": {Steps: 7, Moments: map[string][]float32{"velocity.input.bn.beta": {1}}},
	} {
		if err := tr.Continue(c); !errors.Is(err, checkpoint.ErrStateMismatch) || tr.NumSteps() != 0 {
			t.Errorf("%s: %v, step %d", name, err, tr.NumSteps())
		}
	}
	sameBits(t, "refused", before, tr.Net())
}

// FuzzReadState: whatever the bytes are, there is a state or an error, and memory
// is that of the bytes.
func FuzzReadState(f *testing.F) {
	a := nntest.Resized(nntest.Arch("1x1-plain-noml"), 1, 1, 0, 0) // small: each input is read whole
	cfg := testConfig(a, 1)
	tr := newTestTrainer(f, nntest.Net(a, 3), cfg)
	if _, err := tr.Step(context.Background(), newRowsSource(1, 1, 1)); err != nil {
		f.Fatal(err)
	}
	var saved bytes.Buffer
	if err := tr.Section().Save(&saved); err != nil {
		f.Fatal(err)
	}
	f.Add(saved.Bytes())
	f.Add(saved.Bytes()[:200])
	f.Add([]byte("CBTR\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadState(bytes.NewReader(data), SectionVersion)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v %v", s, err)
		}
	})
}
