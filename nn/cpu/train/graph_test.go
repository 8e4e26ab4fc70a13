package train

import (
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/nn"
)

// noted is a layer of one weight, y = w*x by halves of its buffers, that notes its calls.
type noted struct {
	label string
	p     *param
	at    int
	out   []float32
	calls *[]string
}

func (l *noted) name() string  { return l.label }
func (l *noted) params() []int { return []int{l.at} }

func (l *noted) forward(x []float32) []float32 {
	*l.calls = append(*l.calls, l.label)
	for i := range l.out {
		if l.out[i] = l.p.data[0]; x != nil {
			l.out[i] *= x[i]
		}
	}
	return l.out
}

func (l *noted) backward(x, y, dy []float32) []float32 {
	*l.calls = append(*l.calls, l.label+" back")
	l.p.grad[0] = 0
	for i := range dy {
		l.p.grad[0] += dy[i] * y[i] / l.p.data[0]
		dy[i] *= l.p.data[0] // in place, as the layers do
	}
	return dy
}

// plainHead is a head whose loss is the sum of the tower's activations.
type plainHead struct{ e *engine }

func (h plainHead) params() []int            { return nil }
func (h plainHead) grads() *weightGrads      { return newWeightGrads(h.e) }
func (h plainHead) objective() float64       { return 0 }
func (h plainHead) forward([]float32) passes { return passes{settle: func() {}} }
func (h plainHead) backward(_, dx []float32, _ bool) passes {
	return passes{settle: func() {
		for i := range dx {
			dx[i] = 1
		}
	}}
}

// TestGraphOrder: in every run each layer runs once forward, in order, and once
// backward, in the reverse order, with the outputs and gradients that belong to it. The
// layers overwrite the gradient on its way and leave work to each other because of that.
func TestGraphOrder(t *testing.T) {
	var calls []string
	params := make([]param, 4)
	var layers []towerLayer
	for i, label := range []string{"a", "b", "c", "d"} {
		params[i] = param{spec: nn.ParamSpec{Name: label + ".weight", Shape: []int{1}}, data: []float32{float32(i + 2)}, grad: make([]float32, 1)}
		layers = append(layers, &noted{label, &params[i], i, make([]float32, 6), &calls})
	}
	h := &heads{e: newEngine(nn.DefaultArch(), 1, 1, .1, 0)}
	h.list = []headLayer{plainHead{h.e}}
	defer h.e.pool.close()
	g, err := newGraph(layers, h, params, 1, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	for run := range 3 {
		calls = calls[:0]
		if _, err := g.run(); err != nil {
			t.Fatal(err)
		}
		if want := []string{"a", "b", "c", "d", "d back", "c back", "b back", "a back"}; !slices.Equal(calls, want) {
			t.Fatalf("run %d: %v, want %v", run, calls, want)
		}
		for i, p := range params { // six times the product of the others
			if want := float32(6*2*3*4*5) / p.data[0]; p.grad[0] != want {
				t.Errorf("run %d: gradient %d is %v, want %v", run, i, p.grad[0], want)
			}
		}
	}
}
