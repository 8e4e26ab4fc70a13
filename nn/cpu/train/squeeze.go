package train

import "github.com/chessbrain/chessbrain/nn/kernel"

// squeeze is squeeze-and-excitation (Hu et al. 2018, with Leela's added bias):
// pool = mean over the squares of y; f = fc2(act(fc1 pool)); gate =
// sigmoid(first half of f), beta = second half; SE(y) = gate*y + beta. y is the
// batch norm's output scale*z + shift, which is never written out: the affine
// map is folded into pool, gate and beta.
type squeeze struct {
	e                      *engine
	fc1, fc2               *conv
	c                      int       // channels
	pool, pre, hidden, f   []float32 // [capacity][c], [units], [units], [2c]
	gate                   []float32 // [capacity][c] after the sigmoid
	scale, shift           []float32 // [capacity][c]: SE(y) = scale*z + shift
	dGate, dF, dHid, dPool []float32
}

func newSqueeze(e *engine, prefix string) *squeeze {
	q := &squeeze{e: e, fc1: newConv(e, prefix+".fc1", 0, true), fc2: newConv(e, prefix+".fc2", 0, true)}
	q.c = q.fc1.ci
	boards := func(n int) []float32 { return make([]float32, e.capacity*n) }
	q.pool, q.gate, q.scale, q.shift, q.dGate, q.dPool = boards(q.c), boards(q.c), boards(q.c), boards(q.c), boards(q.c), boards(q.c)
	q.pre, q.hidden, q.dHid = boards(q.fc1.co), boards(q.fc1.co), boards(q.fc1.co)
	q.f, q.dF = boards(2*q.c), boards(2*q.c)
	return q
}

func (q *squeeze) params() []int { return append(q.fc1.params(), q.fc2.params()...) }

// measure computes scale and shift of s, a group or a slice, for the output of u.
func (q *squeeze) measure(s span, u *unit) {
	c, bn := q.c, u.bn
	pool := s.rows(q.pool, c)
	for i, v := range s.rows(u.boardSum, c) {
		pool[i] = v / 64
	}
	kernel.BatchNormApply(pool, kernel.Stored{F32: pool}, bn.scale, bn.shift, nil, s.n, c, kernel.None)
	q.fc1.forward(s, s.rows(q.pre, q.fc1.co), pool)
	q.e.act.Forward(s.rows(q.hidden, q.fc1.co), s.rows(q.pre, q.fc1.co))
	q.fc2.forward(s, s.rows(q.f, 2*c), s.rows(q.hidden, q.fc1.co))
	for b := s.lo; b < s.lo+s.n; b++ {
		f, gate := q.f[b*2*c:][:2*c], q.gate[b*c:][:c]
		kernel.Sigmoid(gate, f[:c])
		scale, shift := q.scale[b*c:][:c], q.shift[b*c:][:c]
		for i, g := range gate {
			scale[i] = g * bn.scale[i]
			shift[i] = g*bn.shift[i] + f[c+i]
		}
	}
}

// backward takes d, the gradient of the block's output y, back through the
// activation act, after which it is that of the residual connection, and through
// SE to dz, that of the batch norm's output; all are rows of s, a group or a
// slice. The gradients of the fully connected layers are added to wg.
func (q *squeeze) backward(s span, wg *weightGrads, dz, d, y []float32, u *unit, act kernel.Act) {
	c := q.c
	dBeta := q.e.workerScratch(s, sumBuffer, s.n*c)
	kernel.SEBackward(d, s.rows(q.dGate, c), dBeta, d, y, u.output(s), s.n, c, act)
	for b := range s.n {
		dGate, db := q.dGate[(s.lo+b)*c:][:c], dBeta[b*c:][:c]
		dF, gate := q.dF[(s.lo+b)*2*c:][:2*c], q.gate[(s.lo+b)*c:][:c]
		for i := range c {
			dGate[i] = u.bn.scale[i]*dGate[i] + u.bn.shift[i]*db[i]
		}
		kernel.SigmoidBackward(dF[:c], dGate, gate)
		copy(dF[c:], db)
	}
	n := q.fc1.co
	dF, hidden, dHid := s.rows(q.dF, 2*c), s.rows(q.hidden, n), s.rows(q.dHid, n)
	q.fc2.weightGrad(s, 0, wg, hidden, dF)
	q.fc2.inputGrad(s, dHid, dF)
	q.e.act.Backward(dHid, hidden, s.rows(q.pre, n))
	q.fc1.weightGrad(s, 0, wg, s.rows(q.pool, c), dHid)
	q.fc1.inputGrad(s, s.rows(q.dPool, c), dHid)
	kernel.SEBackwardInput(dz, d, s.rows(q.gate, c), s.rows(q.dPool, c), s.n, c)
}
