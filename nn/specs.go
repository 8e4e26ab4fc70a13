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
	Gamma              // batch norm's scale
	Beta               // batch norm's shift
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
func (s ParamSpec) Len() int { return numElements(s.Shape) }

func numElements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// specList collects the parameters of layers in order.
type specList []ParamSpec

func (l *specList) add(name string, kind Kind, shape ...int) {
	*l = append(*l, ParamSpec{Name: name + "." + kind.String(), Shape: shape, Kind: kind})
}

func (l *specList) conv(name string, ci, co, k int) { l.add(name, Weight, co, ci, k, k) }

func (l *specList) batchNorm(name string, c int) {
	for _, kind := range []Kind{Gamma, Beta, Mean, Var} {
		l.add(name, kind, c)
	}
}

func (l *specList) dense(name string, in, out int) {
	l.add(name, Weight, out, in)
	l.add(name, Bias, out)
}

// scalarHead is a 1x1 convolution with batch norm and two fully connected layers.
func (l *specList) scalarHead(name string, filters, channels, hidden, outputs int) {
	l.conv(name+".conv", filters, channels, 1)
	l.batchNorm(name+".bn", channels)
	l.dense(name+".fc1", channels*64, hidden)
	l.dense(name+".fc2", hidden, outputs)
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
//	moves_left.* likewise, one output: plies before the final ReLU
//
// A sparse net, of A accumulators, V value and P policy units, has
//
//	input.{weight [NumSparse,A], bias [A]}: a row a feature
//	policy.fc1.{weight [P,2A], bias}   policy.moves|kinds.{weight [1858|NumMoveKinds,P], bias}
//	value.fc1.{weight [V,2A], bias}   value.fc2.{weight [3,V], bias}   moves_left.fc2.{weight [1,V], bias}
func Specs(a Arch) []ParamSpec {
	var l specList
	if a.Sparse() {
		l.add("input", Weight, encoding.NumSparse, a.Accumulators)
		l.add("input", Bias, a.Accumulators)
		l.dense("policy.fc1", 2*a.Accumulators, a.PolicyUnits)
		l.dense("policy.moves", a.PolicyUnits, encoding.NumPolicy)
		l.dense("policy.kinds", a.PolicyUnits, encoding.NumMoveKinds)
		l.dense("value.fc1", 2*a.Accumulators, a.ValueHidden)
		l.dense("value.fc2", a.ValueHidden, a.ValueOutputs())
		if a.MovesLeft {
			l.dense("moves_left.fc2", a.ValueHidden, 1)
		}
		return l
	}
	f := a.Filters
	l.conv("input.conv", encoding.NumPlanes, f, 3)
	l.batchNorm("input.bn", f)
	for i := range a.Blocks {
		block := fmt.Sprintf("tower.%d", i)
		for j := 1; j <= 2; j++ {
			l.conv(fmt.Sprintf("%s.conv%d", block, j), f, f, 3)
			l.batchNorm(fmt.Sprintf("%s.bn%d", block, j), f)
		}
		if units := a.SEUnits(); units > 0 {
			l.dense(block+".se.fc1", f, units)
			l.dense(block+".se.fc2", units, 2*f)
		}
	}
	if a.PolicyHead == PolicyClassical {
		l.conv("policy.conv1", f, ClassicalChannels, 1)
		l.batchNorm("policy.bn", ClassicalChannels)
		l.dense("policy.fc", ClassicalChannels*64, encoding.NumPolicy)
	} else {
		l.conv("policy.conv1", f, f, 3)
		l.batchNorm("policy.bn", f)
		l.conv("policy.conv2", f, PolicyPlanes, 3)
		l.add("policy.conv2", Bias, PolicyPlanes)
	}
	l.scalarHead("value", f, a.ValueChannels, a.ValueHidden, a.ValueOutputs())
	if a.MovesLeft {
		l.scalarHead("moves_left", f, a.MLChannels, a.MLHidden, 1)
	}
	return l
}
