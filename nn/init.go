package nn

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
)

// Initial values that are not 0 or 1.
const (
	// outputGain shrinks the weights of the last layers, so that a fresh net's
	// policy and value are near uniform whatever the tower's scale is.
	outputGain = 0.05
	// encoderGain shrinks the weights of what an encoder adds to its input, as DeepNet
	// (Wang et al. 2022) does for some five encoders: (8*encoders)^-1/4.
	encoderGain = 0.4
	// sparseDeviation is of a sparse net's table: the sums of some 30 rows then use most
	// of the range from 0 to 1 in which their activation has a gradient.
	sparseDeviation = 0.1
	// initialMovesLeft is the bias of the moves-left output, in plies: the final
	// ReLU would pass no gradient to a head that starts below 0.
	initialMovesLeft = 40
	// moveLogit is what smolgen adds at first to a square that a head's piece reaches: 20
	// times the attention of one that it does not reach.
	moveLogit = 3
	// moveGain is how much of that the position changes at first.
	moveGain = 0.1
)

// pieceMoves say which squares so many files and ranks away a rook, a bishop, a knight and
// a king reach on an empty board.
var pieceMoves = []func(files, ranks int) bool{
	func(files, ranks int) bool { return files == 0 != (ranks == 0) },
	func(files, ranks int) bool { return files == ranks && files > 0 },
	func(files, ranks int) bool { return files*ranks == 2 },
	func(files, ranks int) bool { return max(files, ranks) == 1 },
}

// Init returns a fresh net: weights are normal with variance 2/fan-in (He et al. 2015),
// 1/fan-in before a sigmoid and of queries and keys, 0.16/fan-in in an encoder's other
// layers, 2/(fan-in + fan-out) in smolgen's last one, a twentieth of the deviation in the
// last layer of each head; gamma and var are 1, everything else 0, but the moves-left
// output's bias 40 plies. A sparse net's table has deviation 0.1, and zeros for moves.
// Smolgen begins with how pieces move (beginWithMoves). Every parameter has its own PCG
// stream, seeded with (seed, FNV-1a of its name): the same name, shape and seed give the
// same numbers in every architecture. a must be valid.
func Init(a Arch, seed uint64) *Net {
	n := Zero(a)
	for i, s := range Specs(a) {
		p := n.Params[i]
		switch {
		case s.Kind == Weight:
			fillNormal(p.Data, s.Name, seed, deviation(s))
			if i == 0 && a.Sparse() {
				clear(p.Data[a.SparseFeatures().FirstMove()*a.Blocks[0].Width:])
			}
		case s.Kind == Gamma || s.Kind == Var:
			for i := range p.Data {
				p.Data[i] = 1
			}
		case s.Name == "moves_left.fc2.bias":
			p.Data[0] = initialMovesLeft
		}
	}
	for i, b := range a.Blocks {
		if b.Kind == BlockSmolgen {
			n.beginWithMoves(BlockName(i)+".smolgen.ln2", b)
		}
	}
	return n
}

// beginWithMoves has smolgen begin with how pieces move, which it would have to find out: its
// first units are the squares that each of pieceMoves reaches, and head h begins with unit h
// modulo their number. norm is the layer norm before.
func (n *Net) beginWithMoves(norm string, b Block) {
	weight, gamma, beta := n.Get("smolgen.weight"), n.Get(norm+".gamma"), n.Get(norm+".beta")
	pieces := min(len(pieceMoves), b.SmolgenUnits)
	for u, reaches := range pieceMoves[:pieces] {
		for i := range encoding.NumSquares * encoding.NumSquares {
			from, to := i/encoding.NumSquares, i%encoding.NumSquares
			files, ranks := from%8-to%8, from/8-to/8
			weight[i*b.SmolgenUnits+u] = 0
			if reaches(max(files, -files), max(ranks, -ranks)) {
				weight[i*b.SmolgenUnits+u] = moveLogit
			}
		}
		for h := range b.Heads {
			gamma[h*b.SmolgenUnits+u] = moveGain
		}
	}
	for h := range b.Heads {
		beta[h*b.SmolgenUnits+h%pieces] = 1
	}
}

// Zero returns a net whose numbers are all 0. a must be valid.
func Zero(a Arch) *Net {
	n := &Net{Arch: a}
	for _, s := range Specs(a) {
		n.Params = append(n.Params, Param{Name: s.Name, Shape: s.Shape, Data: make([]float32, s.Len())})
	}
	return n
}

// deviation returns the standard deviation of a weight's initial values.
func deviation(s ParamSpec) float64 {
	fanIn := float64(s.Len() / s.Shape[0])
	switch mainParam(s.Name) {
	case "input.weight":
		return sparseDeviation
	case "policy.moves.weight", "policy.kinds.weight", "policy.conv2.weight", "policy.fc.weight", "policy.q.weight", "value.fc2.weight", "value.error.weight", "value.categories.weight", "moves_left.fc2.weight":
		return outputGain * math.Sqrt(2/fanIn)
	case "smolgen.weight": // Glorot and Bengio 2010
		return math.Sqrt(2 / float64(s.Shape[0]+s.Shape[1]))
	}
	switch part := s.Name[:len(s.Name)-len(".weight")]; {
	case strings.HasSuffix(part, ".se.fc2"):
		return math.Sqrt(1 / fanIn)
	case strings.HasSuffix(part, ".q"), strings.HasSuffix(part, ".k"):
		return math.Sqrt(1 / fanIn)
	case strings.HasSuffix(part, ".v"), strings.HasSuffix(part, ".out"), strings.HasSuffix(part, ".ffn1"), strings.HasSuffix(part, ".ffn2"):
		return encoderGain * math.Sqrt(1/fanIn)
	}
	return math.Sqrt(2 / fanIn)
}

func fillNormal(dst []float32, name string, seed uint64, deviation float64) {
	h := fnv.New64a()
	h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	for i := range dst {
		dst[i] = float32(rng.NormFloat64() * deviation)
	}
}
