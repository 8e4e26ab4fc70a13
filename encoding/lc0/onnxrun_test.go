package lc0

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// run is a small interpreter of ONNX in float64, written from the operators'
// specification (opset 17): enough for the models that WriteONNX makes. Nodes
// must stand in an order in which each input is there before it is used.
func (m *decodedModel) run(inputs map[string]*array) (map[string]*array, error) {
	values := map[string]*array{}
	maps.Copy(values, m.tensors)
	maps.Copy(values, inputs)
	for _, n := range m.nodes {
		var in []*array
		for _, name := range n.inputs {
			if values[name] == nil {
				return nil, fmt.Errorf("node %s: input %s is not there", n.name, name)
			}
			in = append(in, values[name])
		}
		op, ok := onnxOps[n.op]
		if !ok {
			return nil, fmt.Errorf("node %s: operator %s", n.name, n.op)
		}
		for i, a := range op(n, in) {
			if values[n.outputs[i]] != nil {
				return nil, fmt.Errorf("node %s: %s is there already", n.name, n.outputs[i])
			}
			values[n.outputs[i]] = a
		}
	}
	return values, nil
}

var onnxOps = map[string]func(onnxNode, []*array) []*array{
	"Conv":       runConv,
	"MatMul":     runMatMul,
	"ReduceMean": runReduceMean,
	"Reshape":    runReshape,
	"Transpose":  runTranspose,
	"Split":      runSplit,
	"Gather":     runGather,
	"Softmax":    runSoftmax,

	"LayerNormalization": runLayerNormalization,

	"Add":      binary2(func(a, b float64) float64 { return a + b }),
	"Mul":      binary2(func(a, b float64) float64 { return a * b }),
	"Relu":     unary(func(x float64) float64 { return max(0, x) }),
	"Tanh":     unary(math.Tanh),
	"Sigmoid":  unary(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }),
	"Selu":     unary(selu),
	"Softplus": unary(func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }),
}

// selu has the values that alpha and gamma have where they are absent.
func selu(x float64) float64 {
	if x <= 0 {
		x = 1.67326319217681884765625 * math.Expm1(x)
	}
	return 1.05070102214813232421875 * x
}

func unary(f func(float64) float64) func(onnxNode, []*array) []*array {
	return func(_ onnxNode, in []*array) []*array {
		out := newArray(in[0].dims...)
		for i, v := range in[0].data {
			out.data[i] = f(v)
		}
		return []*array{out}
	}
}

// binary2 broadcasts as numpy does: dimensions are aligned at the end, those of
// length 1 are repeated.
func binary2(f func(a, b float64) float64) func(onnxNode, []*array) []*array {
	return func(_ onnxNode, in []*array) []*array {
		a, b := in[0], in[1]
		rank := max(len(a.dims), len(b.dims))
		wide := func(dims []int) []int { return slices.Concat(slices.Repeat([]int{1}, rank-len(dims)), dims) }
		da, db := wide(a.dims), wide(b.dims)
		dims := make([]int, rank)
		for i := range dims {
			if dims[i] = max(da[i], db[i]); da[i] != dims[i] && da[i] != 1 || db[i] != dims[i] && db[i] != 1 {
				panic(fmt.Sprintf("shapes %v and %v", a.dims, b.dims))
			}
		}
		out := newArray(dims...)
		for i := range out.data {
			at := func(d []int) int {
				rest, index, stride := i, 0, 1
				for k := rank - 1; k >= 0; k-- {
					if d[k] > 1 {
						index += rest % dims[k] * stride
					}
					rest, stride = rest/dims[k], stride*d[k]
				}
				return index
			}
			out.data[i] = f(a.data[at(da)], b.data[at(db)])
		}
		return []*array{out}
	}
}

// runConv: X [N,C,H,W], W [M,C,k,k], B [M]; stride 1, pads top left bottom right.
func runConv(n onnxNode, in []*array) []*array {
	x, w, bias := in[0], in[1], in[2]
	batch, channels, height, width := x.dims[0], x.dims[1], x.dims[2], x.dims[3]
	k, pad := int(n.attributes["kernel_shape"][0]), int(n.attributes["pads"][0])
	if w.dims[1] != channels || w.dims[2] != k || w.dims[3] != k || !slices.Equal(n.attributes["pads"], slices.Repeat([]int64{int64(pad)}, 4)) {
		panic(fmt.Sprintf("Conv %s: %v by %v, pads %v", n.name, x.dims, w.dims, n.attributes["pads"]))
	}
	out := newArray(batch, w.dims[0], height+2*pad-k+1, width+2*pad-k+1)
	rows, columns := out.dims[2], out.dims[3]
	for i := range out.data {
		col, row, o, b := i%columns, i/columns%rows, i/columns/rows%w.dims[0], i/columns/rows/w.dims[0]
		sum := bias.data[o]
		for c := range channels {
			for dy := range k {
				for dx := range k {
					if y, z := row+dy-pad, col+dx-pad; y >= 0 && y < height && z >= 0 && z < width {
						sum += x.data[((b*channels+c)*height+y)*width+z] * w.data[((o*channels+c)*k+dy)*k+dx]
					}
				}
			}
		}
		out.data[i] = sum
	}
	return []*array{out}
}

// runMatMul: of the last two axes; b has two, or the others are those of a.
func runMatMul(n onnxNode, in []*array) []*array {
	a, b := in[0], in[1]
	outer, inner := len(a.dims)-2, len(b.dims)-2
	if outer < 0 || inner < 0 || a.dims[outer+1] != b.dims[inner] || inner > 0 && !slices.Equal(a.dims[:outer], b.dims[:inner]) {
		panic(fmt.Sprintf("MatMul %s: %v by %v", n.name, a.dims, b.dims))
	}
	rows, depth, columns := a.dims[outer], a.dims[outer+1], b.dims[inner+1]
	out := newArray(slices.Concat(a.dims[:outer+1], []int{columns})...)
	for i := range len(out.data) / columns {
		from := 0
		if inner > 0 {
			from = i / rows * depth
		}
		for k, v := range a.data[i*depth:][:depth] {
			for j, w := range b.data[(from+k)*columns:][:columns] {
				out.data[i*columns+j] += v * w
			}
		}
	}
	return []*array{out}
}

// runTranspose: axis perm[i] becomes axis i.
func runTranspose(n onnxNode, in []*array) []*array {
	x, perm := in[0], n.attributes["perm"]
	dims := make([]int, len(x.dims))
	for i, p := range perm {
		dims[i] = x.dims[p]
	}
	out := newArray(dims...)
	for i := range out.data {
		place := make([]int, len(dims)) // in x
		for k, rest := len(dims)-1, i; k >= 0; k-- {
			place[perm[k]], rest = rest%dims[k], rest/dims[k]
		}
		at := 0
		for k, p := range place {
			at = at*x.dims[k] + p
		}
		out.data[i] = x.data[at]
	}
	return []*array{out}
}

// runLayerNormalization: over the last axis.
func runLayerNormalization(n onnxNode, in []*array) []*array {
	x, scale, bias := in[0], in[1], in[2]
	size := x.dims[len(x.dims)-1]
	if epsilon := n.floats["epsilon"]; n.attributes["axis"][0] != -1 || len(scale.data) != size || len(bias.data) != size || epsilon <= 0 {
		panic(fmt.Sprintf("LayerNormalization %s: %v by %v and %v, epsilon %v", n.name, x.dims, scale.dims, bias.dims, epsilon))
	}
	out := newArray(x.dims...)
	for lo := 0; lo < len(x.data); lo += size {
		mean, variance := 0.0, 0.0
		for _, v := range x.data[lo : lo+size] {
			mean += v / float64(size)
		}
		for _, v := range x.data[lo : lo+size] {
			variance += (v - mean) * (v - mean) / float64(size)
		}
		for i, v := range x.data[lo : lo+size] {
			out.data[lo+i] = (v-mean)/math.Sqrt(variance+n.floats["epsilon"])*scale.data[i] + bias.data[i]
		}
	}
	return []*array{out}
}

// runReduceMean: over the last two axes, which go.
func runReduceMean(n onnxNode, in []*array) []*array {
	if !slices.Equal(n.attributes["axes"], []int64{2, 3}) || n.attributes["keepdims"][0] != 0 {
		panic(fmt.Sprintf("ReduceMean %s: %v", n.name, n.attributes))
	}
	x := in[0]
	out, size := newArray(x.dims[:2]...), x.dims[2]*x.dims[3]
	for i := range out.data {
		for _, v := range x.data[i*size:][:size] {
			out.data[i] += v / float64(size)
		}
	}
	return []*array{out}
}

func runReshape(n onnxNode, in []*array) []*array {
	rest, dims := len(in[0].data), make([]int, len(in[1].data))
	for i, d := range in[1].data {
		if dims[i] = int(d); d > 0 {
			rest /= int(d)
		}
	}
	for i, d := range dims {
		if d == -1 {
			dims[i] = rest
		}
	}
	if len(newArray(dims...).data) != len(in[0].data) {
		panic(fmt.Sprintf("Reshape %s: %v to %v", n.name, in[0].dims, in[1].data))
	}
	return []*array{{dims, in[0].data}}
}

// runSplit: along axis 1, in parts of the lengths of the second input.
func runSplit(n onnxNode, in []*array) []*array {
	if n.attributes["axis"][0] != 1 {
		panic("Split along another axis")
	}
	x := in[0]
	inner := len(x.data) / x.dims[0] / x.dims[1]
	var out []*array
	at := 0
	for _, length := range in[1].data {
		dims := slices.Clone(x.dims)
		dims[1] = int(length)
		part := newArray(dims...)
		for b := range x.dims[0] {
			copy(part.data[b*dims[1]*inner:][:dims[1]*inner], x.data[(b*x.dims[1]+at)*inner:])
		}
		out, at = append(out, part), at+dims[1]
	}
	if at != x.dims[1] {
		panic(fmt.Sprintf("Split %s: %v in parts %v", n.name, x.dims, in[1].data))
	}
	return out
}

// runGather: places along axis 1.
func runGather(n onnxNode, in []*array) []*array {
	x, table := in[0], in[1].data
	if n.attributes["axis"][0] != 1 {
		panic("Gather along another axis")
	}
	dims := slices.Clone(x.dims)
	dims[1] = len(table)
	out, inner := newArray(dims...), len(x.data)/x.dims[0]/x.dims[1]
	for b := range dims[0] {
		for i, at := range table {
			copy(out.data[(b*len(table)+i)*inner:][:inner], x.data[(b*x.dims[1]+int(at))*inner:])
		}
	}
	return []*array{out}
}

// runSoftmax: along the last axis.
func runSoftmax(n onnxNode, in []*array) []*array {
	if n.attributes["axis"][0] != -1 {
		panic("Softmax along another axis")
	}
	x := in[0]
	out, size := newArray(x.dims...), x.dims[len(x.dims)-1]
	for lo := 0; lo < len(x.data); lo += size {
		sum, top := 0.0, slices.Max(x.data[lo:lo+size])
		for _, v := range x.data[lo : lo+size] {
			sum += math.Exp(v - top)
		}
		for i, v := range x.data[lo : lo+size] {
			out.data[lo+i] = math.Exp(v-top) / sum
		}
	}
	return []*array{out}
}
