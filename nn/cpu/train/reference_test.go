package train

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	oracle "github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/device"
)

// reference is the net in float64 with plain loops, written from the formulas
// of docs/FORMATS.md alone; it shares no code with the layers. Activations are
// [board][channel][64], channels first.
type reference struct {
	arch   nn.Arch
	w      map[string][]float64
	shape  map[string][]int
	frozen bool // batch norm takes the running statistics
	aux    auxReference
	// trunk and out are the tower's output and all outputs of the first pass. Weights of the
	// head changed alone differ from those of then; where it is empty, any may.
	trunk   boards
	out     map[string][][]float64
	changed string
	// squares are the sums of squares of weights, those that have not changed since.
	squares map[string]float64
}

type boards [][][]float64

func newReference(net *nn.Net, frozen bool) *reference {
	r := &reference{arch: net.Arch, w: map[string][]float64{}, shape: map[string][]int{}, frozen: frozen, squares: map[string]float64{}}
	for _, p := range net.Params {
		d := make([]float64, len(p.Data))
		for i, x := range p.Data {
			d[i] = float64(x)
		}
		r.w[p.Name], r.shape[p.Name] = d, p.Shape
	}
	return r
}

func (r *reference) act(x float64) float64 {
	if r.arch.Activation == nn.Mish {
		return x * math.Tanh(math.Log1p(math.Exp(x)))
	}
	return max(x, 0)
}

func (r *reference) planes(b *encoding.TrainBatch) boards {
	x := make(boards, b.N)
	for i := range x {
		x[i] = make([][]float64, encoding.NumPlanes)
		s := b.Scalars[i]
		constant := map[int]float64{104: float64(s.OurOOO), 105: float64(s.OurOO), 106: float64(s.TheirOOO), 107: float64(s.TheirOO),
			108: float64(s.BlackToMove), 109: float64(s.Rule50) / 99, 111: 1}
		for p := range x[i] {
			x[i][p] = make([]float64, 64)
			for sq := range 64 {
				x[i][p][sq] = constant[p]
				if p < encoding.NumMasks && b.Masks[i][p]>>sq&1 == 1 {
					x[i][p][sq] = 1
				}
			}
		}
	}
	return x
}

// conv is a cross-correlation with zero padding; a bias is added where there is one.
func (r *reference) conv(x boards, name string) boards {
	w, shape, bias := r.w[name+".weight"], r.shape[name+".weight"], r.w[name+".bias"]
	co, ci, k := shape[0], shape[1], 1
	if len(shape) == 4 {
		k = shape[2]
	}
	y := make(boards, len(x))
	for b := range x {
		y[b] = make([][]float64, co)
		for o := range co {
			y[b][o] = make([]float64, 64)
			for c := range ci {
				for t := range k * k {
					addShifted(y[b][o], x[b][c], w[(o*ci+c)*k*k+t], t/k-k/2, t%k-k/2)
				}
			}
			for sq := range 64 {
				if bias != nil {
					y[b][o][sq] += bias[o]
				}
			}
		}
	}
	return y
}

// addShifted adds u times the plane x, seen dr ranks and df files away, to y.
func addShifted(y, x []float64, u float64, dr, df int) {
	for rank := max(0, -dr); rank < min(8, 8-dr); rank++ {
		for file := max(0, -df); file < min(8, 8-df); file++ {
			y[rank*8+file] += u * x[(rank+dr)*8+file+df]
		}
	}
}

func (r *reference) batchNorm(x boards, name string, act bool) boards {
	for c := range x[0] {
		mean, variance, n := 0.0, 0.0, float64(len(x)*64)
		for b := range x {
			for _, v := range x[b][c] {
				mean += v / n
			}
		}
		for b := range x {
			for _, v := range x[b][c] {
				variance += (v - mean) * (v - mean) / n
			}
		}
		if r.frozen {
			mean, variance = r.w[name+".mean"][c], r.w[name+".var"][c]
		}
		for b := range x {
			for sq, v := range x[b][c] {
				v = (v-mean)/math.Sqrt(variance+1e-5)*r.w[name+".gamma"][c] + r.w[name+".beta"][c]
				if act {
					v = r.act(v)
				}
				x[b][c][sq] = v
			}
		}
	}
	return x
}

// dense returns W x + b for one row.
func (r *reference) dense(x []float64, name string) []float64 {
	w, bias := r.w[name+".weight"], r.w[name+".bias"]
	y := make([]float64, len(bias))
	for o := range y {
		y[o] = bias[o]
		for i, v := range x {
			y[o] += w[o*len(x)+i] * v
		}
	}
	return y
}

// legalDense is dense for the outputs of legal moves only; the others stay 0.
func (r *reference) legalDense(x []float64, name string, legal []uint16) []float64 {
	w, bias := r.w[name+".weight"], r.w[name+".bias"]
	y := make([]float64, len(bias))
	for _, o := range legal {
		y[o] = bias[o]
		for i, v := range x {
			y[o] += w[int(o)*len(x)+i] * v
		}
	}
	return y
}

func (r *reference) actAll(x []float64) []float64 {
	for i, v := range x {
		x[i] = r.act(v)
	}
	return x
}

func (r *reference) block(x boards, t string) boards {
	h := r.batchNorm(r.conv(x, t+".conv1"), t+".bn1", true)
	y := r.batchNorm(r.conv(h, t+".conv2"), t+".bn2", false)
	n := len(y[0])
	for b := range y {
		var f []float64
		if r.w[t+".se.fc1.weight"] != nil {
			pool := make([]float64, n)
			for c := range pool {
				for _, v := range y[b][c] {
					pool[c] += v / 64
				}
			}
			f = r.dense(r.actAll(r.dense(pool, t+".se.fc1")), t+".se.fc2")
		}
		for c := range y[b] {
			for sq, v := range y[b][c] {
				if f != nil {
					v = v/(1+math.Exp(-f[c])) + f[n+c]
				}
				y[b][c][sq] = r.act(v + x[b][c][sq])
			}
		}
	}
	return y
}

// flat is a board's activations in the order channel*64 + square.
func flat(x [][]float64) []float64 {
	var f []float64
	for _, c := range x {
		f = append(f, c...)
	}
	return f
}

// outputs are the net's raw outputs, by the prefix of the head: policy logits by policy
// index, value outputs and the moves-left number before its ReLU.
func (r *reference) outputs(b *encoding.TrainBatch) map[string][][]float64 {
	trunk, out := r.trunk, maps.Clone(r.out)
	if r.changed == "" {
		trunk, out = r.body(b), map[string][][]float64{}
	}
	for _, h := range r.arch.Heads {
		if r.changed != "" && h.Prefix() != r.changed {
			continue
		}
		if h.Output == nn.Policy {
			out[h.Prefix()] = r.policy(trunk, b, h)
		} else {
			out[h.Prefix()] = r.scalarHead(trunk, h, ".fc2")
			if h.Errors > 0 {
				out[h.Prefix()+".error"] = r.scalarHead(trunk, h, ".error")
			}
			if h.Categories > 0 {
				out[h.Prefix()+".categories"] = r.scalarHead(trunk, h, ".categories")
			}
		}
	}
	if r.trunk == nil {
		r.trunk, r.out = trunk, out
	}
	return out
}

// body is the output of the blocks. Those of attention nets are internal/testing/reference's.
func (r *reference) body(b *encoding.TrainBatch) (x boards) {
	if r.arch.Attention() {
		for i := range b.N {
			x = append(x, r.attention().Body(&b.Masks[i], &b.Scalars[i]))
		}
		return x
	}
	x = r.batchNorm(r.conv(r.planes(b), "input.conv"), "input.bn", true)
	for i := range r.arch.Blocks[1:] {
		x = r.block(x, "tower."+string(rune('0'+i)))
	}
	return x
}

func (r *reference) attention() oracle.Attention {
	return oracle.Attention{Arch: r.arch, Get: func(name string) []float64 { return r.w[name] }}
}

// policy returns logits by policy index.
func (r *reference) policy(x boards, b *encoding.TrainBatch, h nn.Head) (policy [][]float64) {
	if h.Attends() {
		for _, board := range x {
			policy = append(policy, r.attention().Policy(board, h))
		}
		return policy
	}
	name := h.Prefix()
	p := r.batchNorm(r.conv(x, name+".conv1"), name+".bn", true)
	if r.w[name+".fc.bias"] != nil {
		for i, board := range p {
			moves := b.LegalOf(i)
			if h.Name == nn.Opponent {
				moves = allMoves[:]
			}
			policy = append(policy, r.legalDense(flat(board), name+".fc", moves))
		}
	} else {
		for _, board := range r.conv(p, name+".conv2") {
			logits := make([]float64, encoding.NumPolicy)
			for i, at := range encoding.ConvPolicyIndex() {
				logits[i] = board[at/64][at%64]
			}
			policy = append(policy, logits)
		}
	}
	return policy
}

// scalarHead returns the outputs of a head, those of a last layer.
func (r *reference) scalarHead(x boards, h nn.Head, last string) (out [][]float64) {
	name := h.Prefix()
	for _, board := range r.batchNorm(r.conv(x, name+".conv"), name+".bn", true) {
		x := flat(board)
		if h.Kind == nn.HeadPooled {
			x = make([]float64, len(board))
			for c := range board {
				for _, v := range board[c] {
					x[c] += v / 64
				}
			}
		}
		out = append(out, r.dense(r.actAll(r.dense(x, name+".fc1")), name+last))
	}
	return out
}

// auxReference is the auxiliary head's losses in float64. It keeps the errors of the
// short-term value and the optimism as they were at first: no gradient goes through them.
type auxReference struct {
	errors, optimism map[int]float64
	squares          map[string]float64 // likewise of value heads that forecast their errors
}

// square returns the square of the error of a head in row i as it was at first.
func (a *auxReference) square(head string, i int, now float64) float64 {
	if a.squares == nil {
		a.squares = map[string]float64{}
	}
	key := fmt.Sprint(head, i)
	if _, there := a.squares[key]; !there {
		a.squares[key] = now
	}
	return a.squares[key]
}

// weight is row i's in an optimistic policy loss, as it was at first; NaN where the target is not known.
func (a *auxReference) weight(z []float64, term *device.Term, b *encoding.TrainBatch, i int) float64 {
	if a.optimism == nil {
		a.optimism = map[int]float64{}
	}
	if _, there := a.optimism[i]; !there {
		q, deviation := float64(term.Learn(&b.Targets[i], nn.ValueScalar).Q), math.Sqrt(math.Log1p(math.Exp(z[nn.AuxError])))
		above := (q - math.Tanh(z[nn.AuxValue])) / (deviation + 1e-5)
		a.optimism[i] = 1 / (1 + math.Exp(-3*(above-term.Strength)))
	}
	return a.optimism[i]
}

// loss is that of outputs z in row i, whose squares are mirrored where the net's are; 0
// where the target is not known.
func (a *auxReference) loss(z []float64, term *device.Term, b *encoding.TrainBatch, i int, mirrored bool) (loss float64) {
	ahead, square := b.Ahead[i], func(sq int) int {
		if mirrored {
			return sq ^ 7
		}
		return sq
	}
	switch men := b.Men(i); {
	case term.Head == device.ShortTerm:
		q := float64(term.Learn(&b.Targets[i], nn.ValueScalar).Q)
		if math.IsNaN(q) {
			return 0
		}
		d := math.Pow(math.Tanh(z[nn.AuxValue])-q, 2)
		if a.errors == nil {
			a.errors = map[int]float64{}
		}
		if _, there := a.errors[i]; !there {
			a.errors[i] = d
		}
		return d + math.Pow(math.Log1p(math.Exp(z[nn.AuxError]))-a.errors[i], 2)
	case !ahead.Known: // as the rows of this test are: the reply is not known either
		return 0
	case term.Head == device.Survival:
		for sq := range 64 {
			if men>>sq&1 == 1 {
				x := z[nn.AuxSurvive+square(sq)]
				if ahead.Survive>>sq&1 == 1 {
					x = -x
				}
				loss += math.Log1p(math.Exp(x)) / float64(bits.OnesCount64(men))
			}
		}
	case term.Head == device.Material:
		if loss = math.Abs(z[nn.AuxMaterial] - float64(ahead.Material)/5); loss > .5 {
			return .5 * (loss - .25)
		}
		return loss * loss / 2
	case term.Head == device.Reply:
		from, to := z[nn.AuxFrom:][:64], z[nn.AuxTo:][:64]
		return logSumExp(from) - from[square(int(ahead.From))] + logSumExp(to) - to[square(int(ahead.To))]
	}
	return loss
}

// policyReference is the cross entropy of logits and target, both to the power of
// 1/temperature; 0 means 1.
func policyReference(logits []float64, target []float32, temperature float64) (loss float64) {
	temperature = cmp.Or(temperature, 1)
	var z []float64
	sum := 0.0
	for j, v := range logits {
		z, sum = append(z, v/temperature), sum+math.Pow(float64(target[j]), 1/temperature)
	}
	for j, p := range target {
		if p > 0 {
			loss += math.Pow(float64(p), 1/temperature) / sum * (logSumExp(z) - z[j])
		}
	}
	return loss
}

func logSumExp(z []float64) float64 {
	top := math.Inf(-1)
	for _, v := range z {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range z {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}

// objective is the configured loss of a batch: see device.Config.
func (r *reference) objective(b *encoding.TrainBatch, terms []device.Term, l2 float32) float64 {
	out := r.outputs(b)
	total := 0.0
	for name, w := range r.w {
		if !strings.HasSuffix(name, ".weight") {
			continue
		}
		if _, known := r.squares[name]; !known {
			for _, v := range w {
				r.squares[name] += v * v
			}
		}
		total += float64(l2) * r.squares[name] / 2
	}
	for _, term := range terms {
		for i := range b.N {
			y, aux := out[term.Prefix()][i], out[nn.Auxiliary]
			t := term.Learn(&b.Targets[i], r.arch.ValueForm())
			loss := 0.0
			switch {
			case term.Name == nn.Opponent:
				if reply := b.Ahead[i]; reply.From != reply.To {
					loss = logSumExp(y[:encoding.NumPolicy]) - y[encoding.PolicyIndex(chess.NewMove(reply.From^56, reply.To^56, reply.Promotion))]
				}
			case term.Head == device.Policy:
				var z []float64
				for _, p := range b.LegalOf(i) {
					z = append(z, y[p])
				}
				loss = policyReference(z, b.PolicyOf(i), term.Temperature)
				if term.Optimistic {
					loss *= r.aux.weight(aux[i], &term, b, i)
				}
			case term.Categorical:
				z := out[term.Prefix()+".categories"][i]
				q, at := float64(term.Learn(&b.Targets[i], nn.ValueScalar).Q), 0
				for edge := 1; edge < len(z) && q >= 2*float64(edge)/float64(len(z))-1; edge++ {
					at = edge
				}
				loss = logSumExp(z) - z[at]
			case term.Errors:
				v := math.Tanh(y[0])
				if len(y) == 3 {
					v = (math.Exp(y[0]) - math.Exp(y[2])) / math.Exp(logSumExp(y))
				}
				square := r.aux.square(term.Prefix(), i, math.Pow(v-float64(term.Learn(&b.Targets[i], nn.ValueScalar).Q), 2))
				loss = math.Pow(1/(1+math.Exp(-out[term.Prefix()+".error"][i][0]))-square, 2)
			case term.Head == device.Value && r.arch.ValueForm() == nn.ValueWDL:
				w, d, lose := t.WDL()
				for j, p := range []float32{w, d, lose} {
					loss += float64(p) * (logSumExp(y) - y[j])
				}
			case term.Head == device.Value:
				loss = math.Pow(math.Tanh(y[0])-float64(t.Q), 2)
			case term.Head == device.MovesLeft:
				diff := math.Abs(max(y[0], 0)-float64(t.M)) / 20
				loss = diff * diff / 2
				if diff > .5 {
					loss = .5 * (diff - .25)
				}
			default:
				loss = r.aux.loss(y, &term, b, i, false)
			}
			if !math.IsNaN(loss) {
				total += term.Weight * float64(b.Weight[i]) * loss / float64(b.N)
			}
		}
	}
	return total
}
