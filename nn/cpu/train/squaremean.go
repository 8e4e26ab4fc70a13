package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// squareMean is the mean of each channel over the 64 squares. Its output y and the
// gradient of that, dy, are [capacity][channels].
type squareMean struct {
	channels int
	y, dy    []float32
}

func newSquareMean(capacity, channels int) *squareMean {
	return &squareMean{channels, make([]float32, capacity*channels), make([]float32, capacity*channels)}
}

// forward sets y from x [boards][64][channels], rows of s both.
func (m *squareMean) forward(s span, x []float32) {
	y := s.rows(m.y, m.channels)
	clear(y)
	m.eachSquare(y, x, func(y, x []float32) { kernel.Add(y, y, x) })
	kernel.Scale(y, 1.0/64)
}

// backward sets dx [boards][64][channels], rows of s, from dy, which it overwrites: each
// square has the same share.
func (m *squareMean) backward(s span, dx []float32) {
	dy := s.rows(m.dy, m.channels)
	kernel.Scale(dy, 1.0/64)
	m.eachSquare(dy, dx, func(dy, dx []float32) { copy(dx, dy) })
}

// eachSquare calls f with the channels of y, of a board, and those of x, of its squares.
func (m *squareMean) eachSquare(y, x []float32, f func(y, x []float32)) {
	for at := 0; at < len(x); at += m.channels {
		board := at / (64 * m.channels)
		f(y[board*m.channels:][:m.channels], x[at:][:m.channels])
	}
}
