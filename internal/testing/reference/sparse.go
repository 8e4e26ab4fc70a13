package reference

import (
	"math"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
)

// sparse returns the output of a sparse net, whose features are those of
// encoding.Sparse: that has tests of its own.
func (f forward) sparse(masks *[encoding.NumMasks]uint64, s *encoding.Scalars, legal []uint16) Output {
	in := encoding.Sparse{Features: f.arch.SparseFeatures()}
	in.Set(masks, s, legal)
	table, bias := f.get("input.weight"), f.get("input.bias")
	var x []float64
	for _, features := range [2][]uint16{in.Ours, in.Theirs} {
		for j := range bias {
			sum := bias[j]
			for _, i := range features {
				sum += table[int(i)*len(bias)+j]
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
	moves, ofKind := f.dense(units, "policy.moves"), f.dense(units, "policy.kinds")
	for i, p := range legal {
		out.Policy[p] = moves[in.Rows[i]]
		for kinds := range in.KindLists() {
			out.Policy[p] += ofKind[kinds[i]]
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
