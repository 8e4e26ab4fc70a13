package tools

import (
	"io"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/export/npz"
)

// illegal marks the policy target of moves that are not legal, as in Leela's
// records.
const illegal = -1

// array is one array of a dump: float32, little endian, C order, a row after the
// other.
type array struct {
	name  string
	shape []int // of one row
	fill  func(dst []float32, b *encoding.TrainBatch, i int)
}

// arrays are those of a dump with N rows:
//
//	inputs         [N,112,8,8] planes, square a1 first
//	policy_target  [N,1858] probabilities; -1 = not legal
//	value_targets  [N,6,3] Q, D, M of result, root, best, played, orig, st; NaN = not known
//	weight         [N]
//	policy         [N,1858] the net's probabilities, 0 = not legal
//	wdl            [N,3] the net's win, draw, loss
//	moves_left     [N] the net's, in plies
var arrays = []array{
	{"inputs", []int{encoding.NumPlanes, 8, 8}, func(dst []float32, b *encoding.TrainBatch, i int) {
		encoding.ExpandPlanes(dst, &b.Masks[i], &b.Scalars[i])
	}},
	{"policy_target", []int{encoding.NumPolicy}, func(dst []float32, b *encoding.TrainBatch, i int) {
		for k := range dst {
			dst[k] = illegal
		}
		for k, m := range b.LegalOf(i) {
			dst[m] = b.PolicyOf(i)[k]
		}
	}},
	{"value_targets", []int{int(encoding.NumTargets), 3}, func(dst []float32, b *encoding.TrainBatch, i int) {
		for t, v := range b.Targets[i] {
			dst[3*t], dst[3*t+1], dst[3*t+2] = v.Q, v.D, v.M
		}
	}},
	{"weight", nil, func(dst []float32, b *encoding.TrainBatch, i int) { dst[0] = b.Weight[i] }},
	{"policy", []int{encoding.NumPolicy}, func(dst []float32, b *encoding.TrainBatch, i int) {
		clear(dst)
		for k, m := range b.LegalOf(i) {
			dst[m] = b.PriorOf(i)[k]
		}
	}},
	{"wdl", []int{3}, func(dst []float32, b *encoding.TrainBatch, i int) { copy(dst, b.WDL[i][:]) }},
	{"moves_left", nil, func(dst []float32, b *encoding.TrainBatch, i int) { dst[0] = b.M[i] }},
}

// writeNPZ writes the arrays as numpy.savez_compressed does.
func (d *Dump) writeNPZ(w io.Writer) error {
	z := npz.NewWriter(w)
	for _, a := range arrays {
		size := 1
		for _, n := range a.shape {
			size *= n
		}
		values, raw := make([]float32, size), make([]byte, 0, 4*size)
		if err := z.Array(a.name, npz.Float32, append([]int{d.rows}, a.shape...), func(out io.Writer) error {
			return d.each(func(_ int, b *encoding.TrainBatch, i int) error {
				a.fill(values, b, i)
				raw = npz.AppendFloat32(raw[:0], values...)
				_, err := out.Write(raw)
				return err
			})
		}); err != nil {
			return err
		}
	}
	return z.Close()
}
