package trainer

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// savedState is a trainer after a step and its saved state.
func savedState(t testing.TB, arch nn.Arch, cfg Config) (*Trainer, []byte) {
	t.Helper()
	tr := newTestTrainer(t, nn.Init(arch, 1), cfg)
	mustStep(t, tr, newRowsSource(1, cfg.BatchSize, -1))
	var buf bytes.Buffer
	if err := tr.Section().Save(&buf); err != nil {
		t.Fatal(err)
	}
	return tr, buf.Bytes()
}

// smallArch keeps a state at some kilobytes.
func smallArch() nn.Arch { return nntest.Resized(nntest.Arch("2x1-plain-noml"), 1, 2, 0, 0) }

// TestStateDamaged: a state cut at any byte, with any bit of it flipped, or with
// bytes after its end is refused, and the trainer stays as it was.
func TestStateDamaged(t *testing.T) {
	arch := smallArch()
	cfg := testConfig(arch, 2)
	_, good := savedState(t, arch, cfg)
	tr := newTestTrainer(t, nn.Init(arch, 2), cfg)
	before := tr.Net()
	refuse := func(what string, at int, data []byte) {
		t.Helper()
		err := tr.Section().Load(bytes.NewReader(data), SectionVersion)
		var corrupt *checkpoint.CorruptError
		if !errors.As(err, &corrupt) && !errors.Is(err, checkpoint.ErrStateMismatch) {
			t.Fatalf("%s at %d of %d: %v", what, at, len(good), err)
		}
	}
	stride := 1 + len(good)/400
	for i := 0; i < len(good); i += stride {
		refuse("cut", i, good[:i])
		flipped := bytes.Clone(good)
		flipped[i] ^= 1 << (i % 8)
		refuse("bit flipped", i, flipped)
	}
	refuse("longer", len(good), append(bytes.Clone(good), 0))
	sameBits(t, "refused states", before, tr.Net())
	if err := tr.Section().Load(bytes.NewReader(good), SectionVersion+1); !errors.Is(err, checkpoint.ErrStateMismatch) {
		t.Errorf("later version: %v", err)
	}
	if err := tr.Section().Load(bytes.NewReader(good), SectionVersion); err != nil {
		t.Errorf("the undamaged state: %v", err)
	}
}

// TestStateMismatch: the state of another net or optimizer is refused.
func TestStateMismatch(t *testing.T) {
	arch := smallArch()
	cfg := testConfig(arch, 2)
	_, state := savedState(t, arch, cfg)
	wide := arch.Clone()
	wide.Blocks[0].Width = 4
	adam := cfg
	adam.Optimizer = OptimizerAdamW
	for name, tr := range map[string]*Trainer{
		"net":       newTestTrainer(t, nn.Init(wide, 1), cfg),
		"optimizer": newTestTrainer(t, nn.Init(arch, 1), adam),
	} {
		if err := tr.Section().Load(bytes.NewReader(state), SectionVersion); !errors.Is(err, checkpoint.ErrStateMismatch) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

func FuzzLoadState(f *testing.F) {
	arch := smallArch()
	cfg := testConfig(arch, 2)
	tr, state := savedState(f, arch, cfg)
	f.Add(state)
	f.Add(state[:100])
	f.Add([]byte(stateMagic + "\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tr.Section().Load(bytes.NewReader(data), SectionVersion) != nil {
			return
		}
		if _, err := tr.Evaluate(context.Background(), newRowsSource(1, 2, 1), 2); err != nil {
			t.Error(err)
		}
	})
}
