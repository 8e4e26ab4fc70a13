package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// outerCase is a layer, whose rows are wider than what is used, and what is wanted.
type outerCase struct {
	layer               OuterLayer
	dout, in, dw, dbias []float32
	wantW, wantBias     []float64
}

func newOuterCase(r *rand.Rand, boards, rows, columns, more int, act int32, accumulate bool) *outerCase {
	c := &outerCase{layer: OuterLayer{
		Rows: int32(rows), Columns: int32(columns), DoutStride: int32(rows + more), InStride: int32(columns + 2*more), Act: act,
	}}
	outStride, inStride := rows+more, columns+2*more
	c.dout, c.in, c.dw, c.dbias = normal(r, boards*outStride, 1), normal(r, boards*inStride, 1), normal(r, rows*columns, 1), normal(r, rows, 1)
	c.wantW, c.wantBias = make([]float64, rows*columns), make([]float64, rows)
	if accumulate {
		c.wantW, c.wantBias = widened(c.dw), widened(c.dbias)
	}
	for b := range boards {
		in := widened(c.in[b*inStride:][:columns])
		for i := range in {
			in[i] = act64(in[i], act)
		}
		for row := range rows {
			v := float64(c.dout[b*outStride+row])
			c.wantBias[row] += v
			for column, x := range in {
				c.wantW[row*columns+column] += v * x
			}
		}
	}
	return c
}

// uploadLayers copies layers as C lays them out.
func uploadLayers(t testing.TB, d driver.Device, s driver.Stream, layers []OuterLayer) driver.Ptr {
	t.Helper()
	var b []byte
	for i := range layers {
		b = append(b, bytesOf(&layers[i])...)
	}
	return uploadBytes(t, d, s, b)
}

// TestOuter: sums of fp32 over boards of products of about 1. The layers of a launch
// differ in size, so that some blocks of its grid have nothing to do.
func TestOuter(t *testing.T) {
	r := fresh(t)
	for i, boards := range []int{1, 5, 70, 600} {
		act, accumulate := int32(i%3), i%2 == 1
		cases := []*outerCase{
			newOuterCase(r, boards, 9, 24, 8, act, accumulate),
			newOuterCase(r, boards, 48, 9, 3, (act+1)%3, accumulate),
			newOuterCase(r, boards, 17, 5, 0, act, accumulate),
		}
		if boards == 5 { // so much that tiles are large
			cases = append(cases, newOuterCase(r, boards, 150, 170, 2, act, accumulate))
		}
		eachSeed(t, func(t *testing.T, d driver.Device, k *Set, s driver.Stream) {
			var layers []OuterLayer
			for j, c := range cases {
				l := c.layer
				l.Dout, l.In, l.Dw = upload(t, d, s, F32, c.dout), upload(t, d, s, F32, c.in), upload(t, d, s, F32, c.dw)
				if j != 2 {
					l.Dbias = upload(t, d, s, F32, c.dbias)
				}
				layers = append(layers, l)
			}
			launch := Outer(OuterArgs{Layers: uploadLayers(t, d, s, layers), Boards: int32(boards), Accumulate: btoi(accumulate)}, layers)
			run(t, k, s, launch)
			for j, c := range cases {
				l := layers[j]
				name, tolerance := fmt.Sprintf("%d boards, %d to %d, %s: ", boards, l.Columns, l.Rows, launch.Kernel), 1e-6*float64(4+boards)
				near(t, name+"dw", download(t, s, F32, l.Dw, len(c.dw)), c.wantW, tolerance, 0)
				if l.Dbias != 0 {
					near(t, name+"dbias", download(t, s, F32, l.Dbias, len(c.dbias)), c.wantBias, tolerance, 0)
				}
			}
		})
	}
}

func widened(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}
