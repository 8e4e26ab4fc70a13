package lc0

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
)

func onnxOf(t *testing.T, n *nn.Net, meta map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := WriteONNX(&buf, n, meta); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// The model computes in the interpreter, from planes as the engine feeds them
// (plane 109 in plies), what the net does in the reference.
func TestWriteONNX(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 3))
	nets := map[string]*nn.Net{}
	for _, name := range []string{"8x2", "6x1-mish", "8x1-plain-scalar-noml", "2x1-classical-scalar-mish", "4x1-pooled", "4x1-aux"} {
		nets[name] = sample(t, name)
	}
	attention := nntest.AttentionNets()
	other := attention["smolgen"].Clone() // heads that Leela's files do not have behind encoders
	other.Heads[0], other.Heads[1].Kind = nn.Head{Output: nn.Policy, Kind: nn.PolicyConvolutional}, nn.HeadPooled
	attention["other heads"] = other
	for name, a := range attention {
		nets["attention, "+name] = nntest.Net(a, 3)
	}
	for _, name := range slices.Sorted(maps.Keys(nets)) {
		n := nets[name]
		for _, p := range n.Params { // some batch norm that matters, some negative numbers
			for i := range p.Data {
				p.Data[i] *= float32(.5 + rng.Float64())
			}
		}
		m := decodeModel(t, onnxOf(t, n, nil))
		const batch = 2
		planes := newArray(batch, encoding.NumPlanes, 8, 8)
		var want []reference.Output
		for b := range batch {
			masks, s := randomInput(rng)
			want = append(want, reference.Forward(n, masks, s))
			flat := make([]float32, encoding.NumPlanes*64)
			encoding.ExpandPlanes(flat, masks, s)
			for i, v := range flat {
				if i/64 == 109 {
					v = float32(s.Rule50)
				}
				planes.data[b*len(flat)+i] = float64(v)
			}
		}
		got, err := m.run(map[string]*array{"/input/planes": planes})
		if err != nil {
			t.Fatal(err)
		}
		for b, w := range want {
			checkRow(t, seed, name, got["/output/policy"], b, w.Policy)
			if n.Arch.ValueForm() == nn.ValueScalar {
				checkRow(t, seed, name, got["/output/value"], b, []float64{w.WDL[0] - w.WDL[2]})
			} else {
				checkRow(t, seed, name, got["/output/wdl"], b, w.WDL[:])
			}
			if n.Arch.Head(nn.MovesLeft) != nil {
				checkRow(t, seed, name, got["/output/mlh"], b, []float64{w.MovesLeft})
			}
		}
	}
}

// checkRow holds a row of an output: folding rounds weights to float32, a few
// 1e-7 of the largest number each.
func checkRow(t *testing.T, seed uint64, net string, got *array, b int, want []float64) {
	t.Helper()
	if got == nil || len(got.dims) != 2 || got.dims[1] != len(want) {
		t.Fatalf("%s: the output is %v, want rows of %d", net, got, len(want))
	}
	scale := 1.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i, v := range want {
		if g := got.data[b*len(want)+i]; !(math.Abs(g-v) <= 2e-5*scale) {
			t.Fatalf("%s, seed %d, row %d: number %d is %v, want %v", net, seed, b, i, g, v)
		}
	}
}

// Names, shapes and versions are those of lc0's own converter.
func TestONNXHeader(t *testing.T) {
	n := sample(t, "8x1")
	m := decodeModel(t, onnxOf(t, n, map[string]string{"job": "a", "arch": "replaced"}))
	if m.ir != 8 || m.opset != 17 {
		t.Errorf("IR %d, opset %d, want 8 and 17", m.ir, m.opset)
	}
	if want := map[string]string{"/input/planes": "float[batch,112,8,8]"}; !maps.Equal(m.inputs, want) {
		t.Errorf("inputs %v, want %v", m.inputs, want)
	}
	if want := map[string]string{"/output/policy": "float[batch,1858]", "/output/wdl": "float[batch,3]", "/output/mlh": "float[batch,1]"}; !maps.Equal(m.outputs, want) {
		t.Errorf("outputs %v, want %v", m.outputs, want)
	}
	if m.meta["job"] != "a" || m.meta["net_id"] != n.ID() || m.meta["arch"] == "replaced" || len(m.meta) != 3 {
		t.Errorf("metadata %v", m.meta)
	}
	checkNames(t, m)
	table := m.tensors["/const/mapping_table"]
	// FORMATS.md, section 2: a1b1 (0) is one to the east, plane 14; b1c3 (36) the
	// knight's first jump, plane 56; h7h8b (1857) the bishop's promotion straight
	// on, plane 68.
	for idx, want := range map[int]float64{0: 14 * 64, 36: 56*64 + 1, 1857: 68*64 + 55} {
		if table.data[idx] != want {
			t.Errorf("policy index %d is gathered from %v, want %v", idx, table.data[idx], want)
		}
	}
	plain := decodeModel(t, onnxOf(t, sample(t, "4x1-plain-scalar-noml"), nil))
	if want := map[string]string{"/output/policy": "float[batch,1858]", "/output/value": "float[batch,1]"}; !maps.Equal(plain.outputs, want) {
		t.Errorf("outputs %v, want %v", plain.outputs, want)
	}
}

// checkNames holds that nodes have names of their own, and that each tensor is used.
func checkNames(t *testing.T, m *decodedModel) {
	t.Helper()
	nodes, used := map[string]bool{}, map[string]bool{}
	for _, node := range m.nodes {
		if nodes[node.name] {
			t.Errorf("two nodes of name %s", node.name)
		}
		nodes[node.name] = true
		for _, name := range node.inputs {
			used[name] = true
		}
	}
	for name := range m.tensors {
		if !used[name] {
			t.Errorf("tensor %s is not used", name)
		}
	}
}

// All encoders use one tensor of smolgen's last layer, and a model is hardly larger
// than its weights.
func TestONNXAttention(t *testing.T) {
	for name, a := range nntest.AttentionNets() {
		n := nntest.Net(a, 3)
		data := onnxOf(t, n, nil)
		m := decodeModel(t, data)
		checkNames(t, m)
		wide, readers := 0, 0
		for name, x := range m.tensors {
			if len(x.dims) != 2 || x.dims[1] != 64*64 {
				continue
			}
			wide++
			for _, node := range m.nodes {
				if slices.Contains(node.inputs, name) {
					readers++
				}
			}
		}
		if smolgen := a.Blocks[1].Kind == nn.BlockSmolgen; smolgen && (wide != 1 || readers != 2) || !smolgen && wide > 0 {
			t.Errorf("%s: %d tensors to all pairs of squares, read by %d nodes", name, wide, readers)
		}
		if more := len(data) - 4*a.NumParams(); more > 1<<16 {
			t.Errorf("%s: %d bytes besides the weights", name, more)
		}
	}
}

func TestWriteONNXRefuses(t *testing.T) {
	n := sample(t, "8x1")
	n.Params[3].Data[0] = float32(math.Inf(1))
	var buf bytes.Buffer
	if err := WriteONNX(&buf, n, nil); !errors.Is(err, nn.ErrNotFinite) || buf.Len() > 0 {
		t.Errorf("an infinite number: %v, %d bytes", err, buf.Len())
	}
	n = sample(t, "8x1")
	n.Params = n.Params[:3]
	if err := WriteONNX(&buf, n, nil); !errors.Is(err, nn.ErrParams) {
		t.Errorf("missing parameters: %v", err)
	}
	if err := checkOnnxSize(1 << 31); !errors.Is(err, ErrUnsupported) || checkOnnxSize(1<<31-1) != nil {
		t.Errorf("2 GiB: %v", err)
	}
	want := errors.New("disk")
	if err := WriteONNX(failing{want}, sample(t, "8x1"), nil); !errors.Is(err, want) {
		t.Errorf("the writer's error is %v", err)
	}
}

func TestONNXIsDeterministic(t *testing.T) {
	n := sample(t, "8x1")
	meta := map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
	before := n.ID()
	if !bytes.Equal(onnxOf(t, n, meta), onnxOf(t, n, meta)) || n.ID() != before {
		t.Error("two models of one net differ, or the net was changed")
	}
}
