package train

import (
	"math"
	"slices"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// sparseLayers are the layers of a sparse net. A pass has three parts with barriers between
// them: what the net reads of each row; all that a row needs of the rest of the net, slice
// by slice; and the gradients of the tables, whose rows or columns are shared out among the
// workers. Each task of the last part adds up in the order of the rows of the micro-batch,
// so that results do not depend on the number of workers.
type sparseLayers struct {
	e            *engine
	width, units int // accumulators, policy units

	table, bias          *param
	moves, movesBias     *param
	kinds, kindsBias     *param
	policyIn, valueIn    *conv // from the accumulators to the units
	valueOut, movesOut   *conv // movesOut is nil without the head
	auxIn, auxOut        *conv // nil without the head
	wg                   *weightGrads
	policy, value, plies head // terms is nil where the head is not trained
	aux                  head // likewise
	tasks                []func()

	rows       []encoding.Sparse
	readers    []readers
	listed     int       // rows that each of them lists
	prob       []float32 // beside the batch's Legal: the net's policy
	dLogit     []float32 // likewise
	pre, x, dx []float32 // [capacity][2*width]: accumulators before and after the activation
	p, dp      []float32 // [capacity][units]
	v, dv, dv2 []float32 // [capacity][value units]
	z, dz      []float32 // [capacity][3]
	m, dm      []float32 // [capacity]
	u, du      []float32 // [capacity][auxiliary units]
	a, da      []float32 // [capacity][nn.NumAuxiliary]
	entropy    []float64
}

// sparseSlice returns the boards of a slice: each slice sums the gradients of the dense
// layers apart, so that there are 16 slices at most.
func sparseSlice(capacity int) int { return max(32, (capacity+15)/16) }

func newSparseLayers(e *engine, byHead map[string][]*term) *sparseLayers {
	named := func(name string) *param { return &e.params[e.param(name)] }
	l := &sparseLayers{
		e: e, table: named("input.weight"), bias: named("input.bias"),
		moves: named("policy.moves.weight"), movesBias: named("policy.moves.bias"),
		kinds: named("policy.kinds.weight"), kindsBias: named("policy.kinds.bias"),
		policyIn: newConv(e, "policy.fc1", 0, true), valueIn: newConv(e, "value.fc1", 0, true), valueOut: newConv(e, "value.fc2", 0, true),
		policy: head{e: e, terms: byHead[nn.Policy]}, value: head{e: e, terms: byHead[nn.Value], loss: wdlRowLoss, form: nn.ValueWDL},
		plies: head{e: e, terms: byHead[nn.MovesLeft], loss: movesLeftRowLoss}, aux: head{e: e, terms: byHead[nn.Auxiliary]},
		rows: make([]encoding.Sparse, e.capacity), entropy: make([]float64, e.capacity),
	}
	dense := []*conv{l.policyIn, l.valueIn, l.valueOut}
	if e.param("moves_left.fc2.weight") >= 0 {
		l.movesOut = newConv(e, "moves_left.fc2", 0, true)
		dense = append(dense, l.movesOut)
	}
	if e.param("auxiliary.fc1.weight") >= 0 {
		l.auxIn, l.auxOut = newConv(e, "auxiliary.fc1", 0, true), newConv(e, "auxiliary.fc2", 0, true)
		dense = append(dense, l.auxIn, l.auxOut)
		l.aux.files = func(row int) int {
			if l.rows[row].Mirrored() {
				return 7
			}
			return 0
		}
		l.policy.auxiliary = func(row int) []float32 { return l.a[row*nn.NumAuxiliary:] }
	}
	for i := range l.rows {
		l.rows[i].Features = e.features
	}
	l.wg = newWeightGrads(e, dense...)
	l.width, l.units = l.table.spec.Shape[1], l.policyIn.co
	floats := func(width int) []float32 { return make([]float32, e.capacity*width) }
	l.pre, l.x, l.dx = floats(2*l.width), floats(2*l.width), floats(2*l.width)
	l.p, l.dp = floats(l.units), floats(l.units)
	l.v, l.dv, l.dv2 = floats(l.valueIn.co), floats(l.valueIn.co), floats(l.valueIn.co)
	l.z, l.dz, l.m, l.dm = floats(3), floats(3), floats(1), floats(1)
	if l.aux.terms != nil {
		l.u, l.du, l.a, l.da = floats(l.auxIn.co), floats(l.auxIn.co), floats(nn.NumAuxiliary), floats(nn.NumAuxiliary)
	}
	l.listed = 1 << 15 // whose accumulators have numbers of 16 bits
	l.readers = make([]readers, (e.capacity-1)/l.listed+1)
	for c := 0; c < l.units; c += kernel.RowBlock { // the longest tasks first
		l.tasks = append(l.tasks,
			func() { l.moveGrad(l.moves, l.movesBias, func(in *encoding.Sparse) []uint16 { return in.Rows }, c) },
			func() { l.moveGrad(l.kinds, l.kindsBias, func(in *encoding.Sparse) []uint16 { return in.Kinds }, c) })
	}
	for r := 0; r < l.table.spec.Shape[0]; r += tableTask {
		l.tasks = append(l.tasks, func() { l.tableGrad(r, min(r+tableTask, l.table.spec.Shape[0])) })
	}
	l.tasks = append(l.tasks, l.biasGrad)
	return l
}

// pass takes the micro-batch forward and, where gradients are wanted, back.
func (l *sparseLayers) pass() {
	e := l.e
	if n := len(e.batch.Legal); len(l.prob) < n {
		l.prob, l.dLogit = make([]float32, n), make([]float32, n)
	}
	e.run(phase{end: l.read})
	if !e.train {
		e.run(phase{end: l.forward})
		return
	}
	e.open(l.wg)
	e.run(phase{begin: l.wg.reset, end: func(s span) {
		if s.slice == 0 { // beside the other slices
			l.listReaders()
		}
		l.forward(s)
		l.backward(s)
	}})
	l.wg.reduce()
	due := e.due
	e.pool.run(len(l.tasks)+len(due), func(i, _ int) {
		if i < len(l.tasks) {
			l.tasks[i]()
		} else {
			due[i-len(l.tasks)].sum()
		}
	})
	e.due = e.due[:0]
}

// read finds out what the net reads of a slice's rows.
func (l *sparseLayers) read(s span) {
	b := l.e.batch
	for i := s.lo; i < s.lo+s.n; i++ {
		l.rows[i].Set(&b.Masks[i], &b.Scalars[i], b.LegalOf(i))
	}
}

// forward takes a slice to its losses and to their gradients of the outputs.
func (l *sparseLayers) forward(s span) {
	for i := s.lo; i < s.lo+s.n; i++ {
		in := &l.rows[i]
		for side, features := range [2][]uint16{in.Ours, in.Theirs} {
			pre := l.pre[(2*i+side)*l.width:][:l.width]
			copy(pre, l.bias.data)
			kernel.AddRows(pre, l.table.data, l.width, features, nil)
		}
	}
	x := s.rows(l.x, 2*l.width)
	kernel.SquaredClippedReLU(x, s.rows(l.pre, 2*l.width))
	unitsOf := func(c *conv, y []float32) []float32 {
		y = s.rows(y, c.co)
		c.forward(s, y, x)
		kernel.ReLUForward(y, y)
		return y
	}
	if l.aux.terms != nil { // before the policy, whose losses may ask for it
		l.lose(s, &l.aux, l.auxOut, l.a, l.da, unitsOf(l.auxIn, l.u))
	}
	if l.policy.terms != nil {
		unitsOf(l.policyIn, l.p)
		l.losePolicy(s)
	}
	if l.value.terms == nil && l.plies.terms == nil {
		return
	}
	v := unitsOf(l.valueIn, l.v)
	l.lose(s, &l.value, l.valueOut, l.z, l.dz, v)
	l.lose(s, &l.plies, l.movesOut, l.m, l.dm, v)
}

// losePolicy takes the logits of a slice's legal moves, their losses and gradients.
func (l *sparseLayers) losePolicy(s span) {
	for _, t := range l.policy.terms {
		t.sums[s.slice] = 0
	}
	b, t := l.e.batch, l.policy.terms[0]
	for i := s.lo; i < s.lo+s.n; i++ {
		from, to := b.LegalStart[i], b.LegalStart[i+1]
		prob, target := l.prob[from:to], b.PolicyOf(i)
		in, units := &l.rows[i], l.p[i*l.units:][:l.units]
		clear(prob)
		kernel.AddEntries(prob, l.movesBias.data, in.Rows)
		kernel.AddEntries(prob, l.kindsBias.data, in.Kinds)
		kernel.RowDots(prob, units, kernel.Stored{F32: l.moves.data}, l.units, in.Rows)
		kernel.RowDots(prob, units, kernel.Stored{F32: l.kinds.data}, l.units, in.Kinds)
		d := l.dLogit[from:to]
		clear(d)
		l.policy.furtherPolicyTerms(s, i, prob, func(grad []float32) { kernel.Add(d, d, grad) })
		r := kernel.MovesCrossEntropy(prob, target)
		l.policy.measured(t, s, i, r)
		l.entropy[i] = r.Entropy
		if !r.Known {
			l.entropy[i] = math.NaN()
			continue
		}
		total := float32(0)
		for _, w := range target {
			total += w
		}
		scale := l.policy.gradScale(t, i)
		for j := range d {
			d[j] += scale * (prob[j]*total - target[j])
		}
	}
}

// lose takes the losses of a slice's outputs z, of a head over its units, and their
// gradients dz.
func (l *sparseLayers) lose(s span, h *head, out *conv, z, dz, units []float32) {
	if h.terms == nil {
		return
	}
	z, dz = s.rows(z, out.co), s.rows(dz, out.co)
	out.forward(s, z, units)
	clear(dz)
	for _, t := range h.terms {
		t.sums[s.slice] = 0
		for i := range s.n {
			h.lose(t, s, s.lo+i, dz[i*out.co:][:out.co], z[i*out.co:][:out.co])
		}
	}
}

// backward takes a slice from the outputs' gradients to those of the accumulators, and
// adds up the slice's part of the dense layers' weight gradients.
func (l *sparseLayers) backward(s span) {
	x, dx := s.rows(l.x, 2*l.width), s.rows(l.dx, 2*l.width)
	clear(dx)
	back := func(in *conv, y, dy []float32) {
		kernel.ReLUBackward(dy, dy, y)
		in.weightGrad(s, 0, l.wg, x, dy)
		d := l.e.workerScratch(s, actBuffer, len(dx))
		in.inputGrad(s, d, dy)
		kernel.Add(dx, dx, d)
	}
	if b := l.e.batch; l.policy.terms != nil {
		dp := s.rows(l.dp, l.units)
		clear(dp)
		for i := range s.n {
			from, to := b.LegalStart[s.lo+i], b.LegalStart[s.lo+i+1]
			d, units := l.dLogit[from:to], dp[i*l.units:][:l.units]
			in := &l.rows[s.lo+i]
			kernel.AddRows(units, l.moves.data, l.units, in.Rows, d)
			for kinds := range in.KindLists() {
				kernel.AddRows(units, l.kinds.data, l.units, kinds, d)
			}
		}
		back(l.policyIn, s.rows(l.p, l.units), dp)
	}
	if l.aux.terms != nil {
		u, du, da := s.rows(l.u, l.auxIn.co), s.rows(l.du, l.auxIn.co), s.rows(l.da, nn.NumAuxiliary)
		l.auxOut.weightGrad(s, 0, l.wg, u, da)
		l.auxOut.inputGrad(s, du, da)
		back(l.auxIn, u, du)
	}
	v, dv, dv2 := s.rows(l.v, l.valueIn.co), s.rows(l.dv, l.valueIn.co), s.rows(l.dv2, l.valueIn.co)
	clear(dv)
	for _, h := range []struct {
		*head
		out *conv
		dz  []float32
	}{{&l.value, l.valueOut, l.dz}, {&l.plies, l.movesOut, l.dm}} {
		if h.terms != nil {
			dz := s.rows(h.dz, h.out.co)
			h.out.weightGrad(s, 0, l.wg, v, dz)
			h.out.inputGrad(s, dv2, dz)
			kernel.Add(dv, dv, dv2)
		}
	}
	if l.value.terms != nil || l.plies.terms != nil {
		back(l.valueIn, v, dv)
	}
	kernel.SquaredClippedReLUBackward(dx, dx, s.rows(l.pre, 2*l.width))
}

// tableTask is how many rows of the table have their gradients set by one task.
const tableTask = 512

// tableGrad sets the gradients of the table's rows from lo up to hi: each is the sum of
// those of the accumulators that read it.
func (l *sparseLayers) tableGrad(lo, hi int) {
	grad := l.table.grad[lo*l.width : hi*l.width]
	clear(grad)
	for k := range l.readers {
		dx := l.dx[k*l.listed*2*l.width:]
		for r := range hi - lo {
			kernel.AddRows(grad[r*l.width:][:l.width], dx, l.width, l.readers[k].of(lo+r), nil)
		}
	}
}

// biasGrad sets the gradient of the accumulators' bias, which all of them read.
func (l *sparseLayers) biasGrad() {
	clear(l.bias.grad)
	for i := range 2 * l.e.boards {
		kernel.Add(l.bias.grad, l.bias.grad, l.dx[i*l.width:][:l.width])
	}
}

// readers lists for each row of the table the accumulators that read it, in their order:
// 2i is that of row i's side to move, 2i+1 its opponent's.
type readers struct {
	first []int32 // by row of the table: where its readers begin; and behind the last one
	all   []uint16
}

func (d *readers) of(row int) []uint16 { return d.all[d.first[row]:d.first[row+1]] }

// listReaders lists the readers of the micro-batch.
func (l *sparseLayers) listReaders() {
	rows := l.rows[:l.e.boards]
	for k := range l.readers {
		n := min(len(rows), l.listed)
		l.readers[k].list(rows[:n], l.table.spec.Shape[0])
		rows = rows[n:]
	}
}

// list takes what some rows of a micro-batch read of a table of so many rows.
func (d *readers) list(rows []encoding.Sparse, table int) {
	d.first = slices.Grow(d.first[:0], table+1)[:table+1]
	clear(d.first)
	total := 0
	for i := range rows {
		for _, features := range [2][]uint16{rows[i].Ours, rows[i].Theirs} {
			for _, f := range features {
				d.first[f]++
			}
			total += len(features)
		}
	}
	end := int32(0)
	for f, n := range d.first {
		end += n
		d.first[f] = end
	}
	d.all = slices.Grow(d.all[:0], total)[:total]
	for i := len(rows) - 1; i >= 0; i-- { // from the last one on: first goes down to where they begin
		for side := 1; side >= 0; side-- {
			for _, f := range [2][]uint16{rows[i].Ours, rows[i].Theirs}[side] {
				d.first[f]--
				d.all[d.first[f]] = uint16(2*i + side)
			}
		}
	}
}

// moveGrad sets the gradient of a block of columns of the moves' or the kinds' rows, which
// rows gives list after list, from column c on, and with the first block that of their
// biases.
func (l *sparseLayers) moveGrad(weight, bias *param, rows func(*encoding.Sparse) []uint16, c int) {
	b := l.e.batch
	grad := weight.grad[c:]
	for r := range weight.spec.Shape[0] {
		clear(grad[r*l.units:][:kernel.RowBlock])
	}
	if c == 0 {
		clear(bias.grad)
	}
	if l.policy.terms == nil {
		return
	}
	for i := range l.e.boards {
		d := l.dLogit[b.LegalStart[i]:b.LegalStart[i+1]]
		for list := range slices.Chunk(rows(&l.rows[i]), max(len(d), 1)) {
			kernel.AddToRows(grad, l.units, list, d, l.p[i*l.units+c:][:kernel.RowBlock])
			if c == 0 {
				for j, r := range list {
					bias.grad[r] += d[j]
				}
			}
		}
	}
}
