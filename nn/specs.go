package nn

import (
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
)

// Kind says what a parameter does; it decides initialisation and weight decay.
type Kind uint8

// The kinds of parameters.
const (
	Weight Kind = iota // of a convolution or a fully connected layer
	Bias               // of the same
	Gamma              // scale of a normalisation or a gate
	Beta               // its shift
	Mean               // batch norm's running mean, not trained
	Var                // batch norm's running variance, not trained
)

// String returns the last part of the parameter's name.
func (k Kind) String() string {
	return [...]string{"weight", "bias", "gamma", "beta", "mean", "var"}[k]
}

// Trained says whether the optimizer changes parameters of this kind.
func (k Kind) Trained() bool { return k != Mean && k != Var }

// ParamSpec describes one parameter of a net.
type ParamSpec struct {
	Name  string
	Shape []int
	Kind  Kind
}

// Len returns the number of elements.
func (s ParamSpec) Len() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// layers collects the parameters of layers in order, and their nominal operations.
type layers struct {
	specs []ParamSpec
	flops int64
}

func (l *layers) add(name string, kind Kind, shape ...int) {
	l.specs = append(l.specs, ParamSpec{Name: name + "." + kind.String(), Shape: shape, Kind: kind})
}

// conv is a convolution without bias over the board.
func (l *layers) conv(name string, ci, co, k int) {
	l.add(name, Weight, co, ci, k, k)
	l.flops += 2 * encoding.NumSquares * int64(ci*co*k*k)
}

// unit is a convolution and batch norm.
func (l *layers) unit(conv, bn string, ci, co, k int) {
	l.conv(conv, ci, co, k)
	for _, kind := range []Kind{Gamma, Beta, Mean, Var} {
		l.add(bn, kind, co)
	}
}

func (l *layers) dense(name string, in, out int) {
	l.add(name, Weight, out, in)
	l.add(name, Bias, out)
	l.flops += 2 * int64(in) * int64(out)
}

// squares is a fully connected layer on each square.
func (l *layers) squares(name string, in, out int) {
	flops := l.flops
	l.dense(name, in, out)
	l.flops = flops + encoding.NumSquares*(l.flops-flops)
}

// norm is a layer norm over channels.
func (l *layers) norm(name string, channels int) {
	l.add(name, Gamma, channels)
	l.add(name, Beta, channels)
}

// table is a matrix of which a position needs some rows.
func (l *layers) table(name string, rows, width, used int) {
	l.add(name, Weight, rows, width)
	l.flops += 2 * int64(used) * int64(width)
}

// Specs returns the parameters of a valid architecture: input, tower, policy,
// value, moves left. The order is that of Net.Params and of the file.
//
//	input.conv.weight [F,112,3,3]   input.bn.{gamma,beta,mean,var} [F]
//	tower.<i>.conv1|conv2.weight [F,F,3,3]   tower.<i>.bn1|bn2.*
//	tower.<i>.se.fc1.{weight [S,F], bias}   tower.<i>.se.fc2.{weight [2F,S], bias}
//	policy.conv1.weight [F,F,3,3]   policy.bn.*   policy.conv2.{weight [80,F,3,3], bias}
//	   classical: policy.conv1.weight [32,F,1,1]   policy.bn.*   policy.fc.{weight [1858,2048], bias}
//	value.conv.weight [C,F,1,1]   value.bn.*   value.fc1.{weight [H,64C], bias}   value.fc2.{weight [3 or 1,H], bias}
//	   pooled: value.fc1.weight [H,C]   with errors: value.error.{weight [1,H], bias}
//	   with n categories: value.categories.{weight [n,H], bias}
//	moves_left.* likewise, one output: plies before the final ReLU
//	policy.<name>.*   value.<name>.*: further heads, likewise
//
// An attention net, of width E, has
//
//	input.fc.{weight [E,112+64], bias [E]}   input.gate.{gamma, beta} [E,64] where gated
//	   dense: input.men.{weight [64Q,768], bias}: of all men (square*12 + plane) to Q numbers a square
//	   input.fc.weight [E,112+Q]   input.ln1.{gamma, beta} [E]   input.ffn1|ffn2.*   input.ln2.*
//	tower.<i>.q|k|v.{weight [D,E], bias}   tower.<i>.out.{weight [E,D], bias}   tower.<i>.ln1|ln2.{gamma, beta} [E]
//	tower.<i>.ffn1.{weight [H,E], bias}   tower.<i>.ffn2.{weight [E,H], bias}
//	   smolgen: tower.<i>.smolgen.compress.weight [C,E]   tower.<i>.smolgen.fc1.{weight [S,64C], bias}: square*C + channel
//	   tower.<i>.smolgen.ln1.*   tower.<i>.smolgen.fc2.{weight [heads*U,S], bias}   tower.<i>.smolgen.ln2.*
//	   smolgen.weight [4096,U]: of all encoders, from*64 + to
//	policy.embedding.{weight [C,E], bias}   policy.q|k.{weight [K,C], bias}   policy.promotion.weight [4,K]: queen, rook, bishop, all
//
// A sparse net, of A accumulators, V value and P policy units, has
//
//	input.{weight [NumFeatures,A], bias [A]}: a row a feature
//	policy.fc1.{weight [P,2A], bias}   policy.moves|kinds.{weight [1858|NumMoveKinds,P], bias}
//	value.fc1.{weight [V,2A], bias}   value.fc2.{weight [3,V], bias}   moves_left.fc2.{weight [1,V], bias}
func Specs(a Arch) []ParamSpec { return a.layers().specs }

// layers lists the layers of a valid architecture.
func (a Arch) layers() (l layers) {
	in := 0
	for i, b := range a.Blocks {
		k := blockKinds[b.Kind]
		k.layers(&l, BlockName(i), b, in)
		in = k.width(b, in)
	}
	for _, h := range a.Heads {
		headKinds[h.Kind].layers(&l, a, h)
	}
	return l
}

// BlockName begins the names of block i's parameters.
func BlockName(i int) string {
	if i == 0 {
		return "input"
	}
	return fmt.Sprintf("tower.%d", i-1)
}
