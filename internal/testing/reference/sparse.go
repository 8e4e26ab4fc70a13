package reference

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// sparse returns the output of a sparse net, whose features are those of
// encoding.Sparse: that has tests of its own.
func (f forward) sparse(n *nn.Net, masks *[encoding.NumMasks]uint64, s *encoding.Scalars, legal []uint16) Output {
	in := encoding.Sparse{Features: f.arch.SparseFeatures()}
	in.Set(masks, s, legal)
	table, bias := n.Get("input.weight"), f.get("input.bias")
	var x []float64
	for _, features := range [2][]uint16{in.Ours, in.Theirs} {
		for j := range bias {
			sum := bias[j]
			for _, i := range features {
				sum += float64(table[int(i)*len(bias)+j])
			}
			sum = math.Min(math.Max(sum, 0), 1)
			x = append(x, sum*sum)
		}
	}
	relu := func(y []float64) []float64 {
		for i, v := range y {
			y[i] = math.Max(v, 0)
		}
		return y
	}
	value := relu(f.dense(x, "value.fc1"))
	units := relu(f.dense(x, "policy.fc1"))
	out := Output{Value: f.dense(value, "value.fc2"), Policy: make([]float64, encoding.NumPolicy)}
	row := func(name string, o uint16) float64 { // of a large layer, most of which is not asked for
		y := float64(n.Get(name + ".bias")[o])
		for i, w := range n.Get(name + ".weight")[int(o)*len(units):][:len(units)] {
			y += float64(w) * units[i]
		}
		return y
	}
	for i, p := range legal {
		out.Policy[p] = row("policy.moves", in.Rows[i])
		for kinds := range in.KindLists() {
			out.Policy[p] += row("policy.kinds", kinds[i])
		}
	}
	out.WDL = wdl(out.Value, nn.ValueWDL)
	if f.arch.Head(nn.MovesLeft) != nil {
		out.MovesLeft = math.Max(0, f.dense(value, "moves_left.fc2")[0])
	}
	if f.arch.Head(nn.Auxiliary) != nil {
		out.Auxiliary = f.dense(relu(f.dense(x, "auxiliary.fc1")), "auxiliary.fc2")
	}
	return out
}
