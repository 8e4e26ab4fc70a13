package cuda

import (
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cuda/kernels"
)

// Sizes of a stage of the fused tower's weights (tower_args.cuh).
const (
	seStageUnits   = 16 // units of squeeze-and-excitation
	stageParts     = 3  // products of 16 inputs
	stageBytesEach = 96 // bytes a channel
	productInputs  = 16
	groupOutputs   = 16
)

// stagePacker writes weights in the order in which the fused tower reads them.
type stagePacker struct {
	typ      kernels.Type
	channels int // padded, of the tower
	vector   int
	data     []byte
	vectors  []float32
	biases   [][]float32 // of the layer that has not ended, by pass
}

func (s *stagePacker) numStages() int { return len(s.data) / (stageBytesEach * s.channels) }

// products appends one stage: for each of three products, and each 16 of `channels`
// outputs, the words of mma's second operand, lane by lane. weight gives the weight of
// a product, an input of 16 and an output.
func (s *stagePacker) products(weight func(product, input, output int) float32) {
	stage := make([]float32, 0, stageParts*productInputs*s.channels)
	for p := range stageParts {
		for group := 0; group < s.channels; group += groupOutputs {
			for lane := range 32 {
				for word := range 4 {
					input, output := word%2*8+lane%4*2, group+word/2*8+lane/4
					stage = append(stage, weight(p, input, output), weight(p, input+1, output))
				}
			}
		}
	}
	s.data = append(s.data, stored(s.typ, stage)...)
}

// conv3 appends a 3x3 convolution, which reads that many channels, and returns the
// passes of `channels` outputs.
func (s *stagePacker) conv3(c *nn.Conv, inputs int) int {
	passes := 0
	for first := 0; first < c.Co; first += s.channels {
		for input := 0; input < inputs; input += productInputs {
			for kx := range 3 {
				s.products(func(ky, i, o int) float32 {
					if o, i = first+o, input+i; o >= c.Co || i >= c.Ci {
						return 0
					}
					return c.Weight[((o*c.Ci+i)*3+ky)*3+kx]
				})
			}
		}
		s.biases = append(s.biases, padded(c.Bias[first:min(first+s.channels, c.Co)], s.channels))
		passes++
	}
	return passes
}

// conv1 appends the 1x1 convolutions of the heads side by side, each padded to
// headStep outputs, and returns their biases.
func (s *stagePacker) conv1(convs []*nn.Conv, columns int) []float32 {
	w := make([][]float32, 0, columns) // by output, of the tower's channels; nil: 0
	var bias []float32
	for _, c := range convs {
		for o := range roundUp(c.Co, headStep) {
			if o >= c.Co {
				w, bias = append(w, nil), append(bias, 0)
				continue
			}
			w, bias = append(w, padded(c.Weight[o*c.Ci:][:c.Ci], s.channels)), append(bias, c.Bias[o])
		}
	}
	for first := 0; first < columns; first += s.channels {
		for input := 0; input < s.channels; input += stageParts * productInputs {
			s.products(func(p, i, o int) float32 {
				if o, i = first+o, input+p*productInputs+i; o >= columns || i >= s.channels || w[o] == nil {
					return 0
				}
				return w[o][i]
			})
		}
	}
	return padded(bias, roundUp(columns, s.channels))
}

// endLayer appends the vectors of the layer's passes, and stages and vectors of its
// squeeze-and-excitation, if any.
func (s *stagePacker) endLayer(se ...nn.Dense) {
	c := s.channels
	for _, bias := range s.biases {
		v := append(make([]float32, 0, s.vector), bias...)
		if se != nil {
			f := se[1].Out / 2
			v = append(v, padded(se[1].Bias[:f], c)...)
			v = append(v, padded(se[1].Bias[f:], c)...)
			v = append(v, se[0].Bias...)
		}
		s.vectors = append(s.vectors, padded(v, s.vector)...)
	}
	s.biases = nil
	if se == nil {
		return
	}
	se1, se2 := se[0], se[1]
	f := se1.In
	for first := 0; first < se1.Out; first += seStageUnits {
		stage := make([]float32, stageBytesEach/2*c)
		w2 := stage[seStageUnits*c:]
		for u := range min(seStageUnits, se1.Out-first) {
			copy(stage[u*c:][:f], se1.Weight[(first+u)*f:])
			for o := range se2.Out { // gate, then shift
				w2[((o/f*2+u/8)*c+o%f)*8+u%8] = se2.Weight[o*se2.In+first+u]
			}
		}
		s.data = append(s.data, stored(s.typ, stage)...)
	}
}

// padded returns v followed by zeros.
func padded(v []float32, n int) []float32 {
	p := make([]float32, n)
	copy(p, v)
	return p
}
