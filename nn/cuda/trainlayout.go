package cuda

import (
	"bytes"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/driver"
)

// tensorAlign is the floats that trained tensors are aligned to: whether weight
// decay touches a tensor is said for such a stretch. Padding holds 0 and stays 0.
const tensorAlign = 256

// layout places the parameters of a net in two arrays of float32: the trained ones,
// and the running statistics.
type layout struct {
	specs   []nn.ParamSpec
	at      []int // of each parameter, in the array of its kind
	trained int   // floats
	running int
	decay   []byte // by tensorAlign floats of the trained ones: 1 for weights
}

func newLayout(a nn.Arch) *layout {
	l := &layout{specs: nn.Specs(a)}
	for _, s := range l.specs {
		if !s.Kind.Trained() {
			l.at = append(l.at, l.running)
			l.running += s.Len()
			continue
		}
		l.at = append(l.at, l.trained)
		blocks := (s.Len() + tensorAlign - 1) / tensorAlign
		decays := byte(0)
		if s.Kind == nn.Weight {
			decays = 1
		}
		l.decay = append(l.decay, bytes.Repeat([]byte{decays}, blocks)...)
		l.trained += blocks * tensorAlign
	}
	return l
}

// param returns the index of a parameter, -1 where the net has none of that name.
func (l *layout) param(name string) int {
	return slices.IndexFunc(l.specs, func(s nn.ParamSpec) bool { return s.Name == name })
}

// in is the address of parameter i in an array of its kind that begins at base.
func (l *layout) in(base driver.Ptr, i int) driver.Ptr { return base.Offset(4 * l.at[i]) }

// array makes one of the trained parameters, or of the running statistics.
func (l *layout) array(trained bool) []float32 {
	if trained {
		return make([]float32, l.trained)
	}
	return make([]float32, l.running)
}

// put copies the tensors of the wanted kind, among all or among the trained ones alone, to
// their places in the array; take copies them back. Gates lie by square on a device.
func (l *layout) put(array []float32, tensors [][]float32, trained bool) {
	l.each(array, tensors, trained, func(array, tensor []float32, gates bool) {
		if gates {
			tensor = bySquare(tensor)
		}
		copy(array, tensor)
	})
}

func (l *layout) take(array []float32, tensors [][]float32, trained bool) {
	l.each(array, tensors, trained, func(array, tensor []float32, gates bool) {
		if gates {
			array = transposed(array, len(array)/encoding.NumSquares)
		}
		copy(tensor, array)
	})
}

func (l *layout) each(array []float32, tensors [][]float32, trained bool, f func(array, tensor []float32, gates bool)) {
	all, next := len(tensors) == len(l.specs), 0
	for i, s := range l.specs {
		if !all && !s.Kind.Trained() {
			continue
		}
		if s.Kind.Trained() == trained {
			f(array[l.at[i]:][:s.Len()], tensors[next], strings.HasPrefix(s.Name, "input.gate."))
		}
		next++
	}
}
