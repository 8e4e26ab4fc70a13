package trainer

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Continuation is how far a net was trained elsewhere.
type Continuation struct {
	Steps, Samples int64
	OptimizerSteps int64
	// Moments are state tensors of the optimizer by "<moment>.<parameter>"; those
	// that are not there begin at zero.
	Moments map[string][]float32
}

// Continue makes a fresh trainer go on from there: with that place in the
// schedule, and those moments. Errors wrap checkpoint.ErrStateMismatch and change nothing.
func (t *Trainer) Continue(c Continuation) error {
	if c.Steps < 0 || c.Samples < 0 || c.OptimizerSteps < 0 {
		return fmt.Errorf("%w: a negative count", checkpoint.ErrStateMismatch)
	}
	if t.pull(true); t.failed != nil {
		return t.failed
	}
	place := map[string][]float32{}
	for _, m := range t.opt.moments {
		for i, s := range t.trained() {
			place[m.name+"."+s.Name] = m.data[i]
		}
	}
	for name, data := range c.Moments {
		if dst, ok := place[name]; !ok || len(dst) != len(data) {
			return fmt.Errorf("%w: moment %s of %d numbers has no place in this trainer", checkpoint.ErrStateMismatch, name, len(data))
		}
	}
	for name, data := range c.Moments {
		copy(place[name], data)
	}
	t.opt.steps = c.OptimizerSteps
	t.progress.Step, t.progress.Samples = c.Steps, c.Samples
	return t.dev.push()
}

// SavedState is a trainer's section, read without a trainer.
type SavedState struct {
	Continuation
	Arch      nn.Arch
	Optimizer string
}

// ReadState reads what Section saved, with all its checks but those against a
// trainer. Errors are a *checkpoint.CorruptError or wrap checkpoint.ErrStateMismatch.
func ReadState(r io.Reader, version int) (*SavedState, error) {
	h, data, err := readState(r, version, (*stateHeader).known)
	if err != nil {
		return nil, err
	}
	s := &SavedState{Optimizer: h.Optimizer, Continuation: Continuation{
		Steps: h.Progress.Step, Samples: h.Progress.Samples, OptimizerSteps: h.OptimizerSteps, Moments: map[string][]float32{}}}
	if s.Arch, err = h.arch(); err != nil {
		return nil, err
	}
	for i, e := range h.Tensors {
		if kind, _, _ := strings.Cut(e.Name, "."); kind != "net" && kind != "swa" {
			s.Moments[e.Name] = data[i]
		}
	}
	return s, nil
}

// arch is the architecture that a header names.
func (h *stateHeader) arch() (a nn.Arch, err error) {
	if err = json.Unmarshal(h.Arch, &a); err == nil {
		err = a.Validate()
	}
	if err != nil {
		return a, stateError("its architecture: %v", err)
	}
	return a, nil
}

// known checks a header by itself: each tensor is one of the architecture's, with
// its length, and none comes twice.
func (h *stateHeader) known() error {
	a, err := h.arch()
	if err != nil {
		return err
	}
	lengths := map[string]int{}
	for _, s := range nn.Specs(a) {
		lengths[s.Name] = s.Len()
	}
	seen := map[string]bool{}
	for _, e := range h.Tensors {
		kind, name, _ := strings.Cut(e.Name, ".")
		if n, ok := lengths[name]; !ok || kind == "" || n != e.Len || seen[e.Name] {
			return stateError("tensor %q of %d numbers does not belong to a net %s", e.Name, e.Len, a)
		}
		seen[e.Name] = true
	}
	return nil
}
