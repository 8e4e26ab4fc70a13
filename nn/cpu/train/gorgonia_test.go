package train

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// stock builds the net out of Gorgonia's own float64 operations: convolutions,
// batch norm from means and broadcasts (its BatchNorm has parameters by
// element), products. It is the second gradient oracle, independent of our
// formulas for backward passes and of the finite differences' step.
type stock struct {
	g      *gorgonia.ExprGraph
	params map[string]*gorgonia.Node
	order  gorgonia.Nodes
	n      int // boards
}

func newStock(net *nn.Net, n int) *stock {
	s := &stock{g: gorgonia.NewGraph(), params: map[string]*gorgonia.Node{}, n: n}
	for _, p := range net.Params {
		if strings.HasSuffix(p.Name, ".mean") || strings.HasSuffix(p.Name, ".var") {
			continue
		}
		data := make([]float64, len(p.Data))
		for i, x := range p.Data {
			data[i] = float64(x)
		}
		shape := append([]int(nil), p.Shape...)
		switch {
		case strings.HasSuffix(p.Name, ".gamma"), strings.HasSuffix(p.Name, ".beta"),
			p.Name == "policy.conv2.bias":
			shape = []int{1, shape[0], 1, 1}
		case len(shape) == 1:
			shape = []int{1, shape[0]}
		}
		node := gorgonia.NewTensor(s.g, tensor.Float64, len(shape), gorgonia.WithName(p.Name), gorgonia.WithShape(shape...),
			gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
		s.params[p.Name] = node
		s.order = append(s.order, node)
	}
	return s
}

func (s *stock) conv(x *gorgonia.Node, name string) *gorgonia.Node {
	w := s.params[name+".weight"]
	k := w.Shape()[2]
	return gorgonia.Must(gorgonia.Conv2d(x, w, tensor.Shape{k, k}, []int{k / 2, k / 2}, []int{1, 1}, []int{1, 1}))
}

// channelMean is the mean over boards and squares, shape [1,c,1,1].
func (s *stock) channelMean(x *gorgonia.Node) *gorgonia.Node {
	c := x.Shape()[1]
	m := gorgonia.Must(gorgonia.Mean(x, 0, 2, 3))
	return gorgonia.Must(gorgonia.Reshape(s.once(m), tensor.Shape{1, c, 1, 1}))
}

// once multiplies by 1: Reshape shares memory, and without a copy before it the
// tape machine works in place and computes wrong gradients.
func (s *stock) once(x *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.Mul(x, gorgonia.NewConstant(1.0)))
}

var perChannel = []byte{0, 2, 3}

func (s *stock) batchNorm(x *gorgonia.Node, name string) *gorgonia.Node {
	centred := gorgonia.Must(gorgonia.BroadcastSub(x, s.channelMean(x), nil, perChannel))
	variance := s.channelMean(gorgonia.Must(gorgonia.Square(centred)))
	std := gorgonia.Must(gorgonia.Sqrt(gorgonia.Must(gorgonia.Add(variance, gorgonia.NewConstant(nn.BatchNormEpsilon)))))
	y := gorgonia.Must(gorgonia.BroadcastHadamardDiv(centred, std, nil, perChannel))
	y = gorgonia.Must(gorgonia.BroadcastHadamardProd(y, s.params[name+".gamma"], nil, perChannel))
	return gorgonia.Must(gorgonia.BroadcastAdd(y, s.params[name+".beta"], nil, perChannel))
}

func (s *stock) relu(x *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Rectify(x)) }

func (s *stock) dense(x *gorgonia.Node, name string) *gorgonia.Node {
	w := gorgonia.Must(gorgonia.Transpose(s.params[name+".weight"], 1, 0))
	y := gorgonia.Must(gorgonia.Mul(x, w))
	return gorgonia.Must(gorgonia.BroadcastAdd(y, s.params[name+".bias"], nil, []byte{0}))
}

// linear is the sum of x times given numbers: a loss whose gradient is known.
func (s *stock) linear(x *gorgonia.Node, name string, by []float64) *gorgonia.Node {
	c := gorgonia.NewTensor(s.g, tensor.Float64, x.Dims(), gorgonia.WithName(name), gorgonia.WithShape(x.Shape()...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(x.Shape()...), tensor.WithBacking(by))))
	return gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(x, c))))
}

// TestGradientsAgainstStock: the gradients of all parameters of a net without
// squeeze-and-excitation (input, block, policy and value head) agree, in every
// tier, with a net of stock float64 operations. Each head enters through the gradient of its
// outputs, taken from our losses, which have their own test.
func TestGradientsAgainstStock(t *testing.T) {
	arch := nntest.Arch("16x1-plain-noml")
	net := nntest.Net(arch, 8)
	const n = 2
	cfg := testConfig(arch, n)
	cfg.Terms, cfg.L2 = []device.Term{{Head: device.Policy, Weight: 1}, {Head: device.Value, Weight: 1}}, 0
	b := encoding.NewTrainBatch(n)
	nntest.AppendRows(b, rand.New(rand.NewPCG(3, 3)), n)
	tiers := eachTierGradients(t, net, cfg, b, batchStats)
	tr := newTestTrainer(t, net, cfg)
	gradients(t, tr, b, batchStats) // leaves those of the heads' outputs

	s := newStock(net, n)
	x := s.relu(s.batchNorm(s.conv(s.input(b), "input.conv"), "input.bn"))
	h := s.relu(s.batchNorm(s.conv(x, "tower.0.conv1"), "tower.0.bn1"))
	h = s.batchNorm(s.conv(h, "tower.0.conv2"), "tower.0.bn2")
	x = s.relu(gorgonia.Must(gorgonia.Add(h, x)))
	p := s.conv(s.relu(s.batchNorm(s.conv(x, "policy.conv1"), "policy.bn")), "policy.conv2")
	p = gorgonia.Must(gorgonia.BroadcastAdd(p, s.params["policy.conv2.bias"], nil, perChannel))
	v := s.relu(s.batchNorm(s.conv(x, "value.conv"), "value.bn"))
	v = gorgonia.Must(gorgonia.Reshape(s.once(v), tensor.Shape{n, 64 * arch.Head(nn.Value).Channels}))
	v = s.dense(s.relu(s.dense(v, "value.fc1")), "value.fc2")
	total := gorgonia.Must(gorgonia.Add(s.linear(p, "dp", policyOutputGrad(tr)), s.linear(v, "dv", valueOutputGrad(tr))))
	want := s.run(t, total)

	for _, tier := range tiers {
		for i, spec := range nn.Specs(arch) {
			if tier.grads[i] == nil {
				continue
			}
			diff, size := 0.0, 0.0
			for j, g := range tier.grads[i] {
				d := float64(g) - want[spec.Name][j]
				diff, size = diff+d*d, size+want[spec.Name][j]*want[spec.Name][j]
			}
			if !(math.Sqrt(diff) <= 1e-4*math.Sqrt(size)+1e-7) {
				t.Errorf("%s: %s: |difference| = %g of a gradient of %g", tier.tier, spec.Name, math.Sqrt(diff), math.Sqrt(size))
			}
		}
	}
}

// input is the planes as a constant node, [n,112,8,8].
func (s *stock) input(b *encoding.TrainBatch) *gorgonia.Node {
	var data []float64
	for _, board := range new(reference).planes(b) {
		data = append(data, flat(board)...)
	}
	shape := tensor.Shape{s.n, encoding.NumPlanes, 8, 8}
	return gorgonia.NewTensor(s.g, tensor.Float64, 4, gorgonia.WithName("planes"), gorgonia.WithShape(shape...),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))))
}

// run differentiates and runs the graph and returns the gradients by name.
func (s *stock) run(t *testing.T, total *gorgonia.Node) map[string][]float64 {
	t.Helper()
	nodes, err := gorgonia.Grad(total, s.order...)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]gorgonia.Value, len(nodes))
	for i, n := range nodes {
		gorgonia.Read(n, &values[i]) // Value() may hold another node's data
	}
	vm := gorgonia.NewTapeMachine(s.g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	grads := map[string][]float64{}
	for i, n := range s.order {
		grads[n.Name()] = values[i].Data().([]float64)
	}
	return grads
}

// policyOutputGrad is the loss's gradient with respect to the 80 planes of the
// policy head, channels first.
func policyOutputGrad(tr *trainer) []float64 {
	c := nn.PolicyPlanes
	out := make([]float64, tr.e.boards*64*c)
	for b := range tr.e.boards {
		for sq := range 64 {
			for o := range c {
				out[(b*c+o)*64+sq] = float64(tr.policy.dy[(b*64+sq)*c+o])
			}
		}
	}
	return out
}

// valueOutputGrad is the same of the value head's three outputs.
func valueOutputGrad(tr *trainer) []float64 {
	return widen(tr.heads.list[1].(*scalarHead).dz)
}
