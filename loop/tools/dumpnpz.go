package tools

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
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
	z := zip.NewWriter(w)
	for _, a := range arrays {
		file, err := z.Create(a.name + ".npy")
		if err != nil {
			return err
		}
		out := bufio.NewWriter(file)
		if _, err := out.Write(npyHeader(append([]int{d.rows}, a.shape...))); err != nil {
			return err
		}
		size := 1
		for _, n := range a.shape {
			size *= n
		}
		values, raw := make([]float32, size), make([]byte, 0, 4*size)
		if err := d.each(func(_ int, b *encoding.TrainBatch, i int) error {
			a.fill(values, b, i)
			raw = raw[:0]
			for _, v := range values {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			_, err := out.Write(raw)
			return err
		}); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return z.Close()
}

// npyHeader is the header of a .npy file, version 1.0, of a float32 array: magic,
// version, length u16, a Python literal padded with spaces so that the data begin
// at a multiple of 64 bytes.
func npyHeader(shape []int) []byte {
	var dims strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&dims, "%d, ", n)
	}
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", strings.TrimSuffix(dims.String(), " "))
	pad := 63 - (10+len(text))%64
	text += strings.Repeat(" ", pad) + "\n"
	h := append([]byte("\x93NUMPY\x01\x00"), byte(len(text)), byte(len(text)>>8))
	return append(h, text...)
}
