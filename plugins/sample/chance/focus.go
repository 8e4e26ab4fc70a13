package chance

import (
	"cmp"
	"fmt"
	"math"
)

// Focus weighs a position by how far the search moved from the raw network
// (diff focus of lczero-training):
//
//	min(((QWeight*qDiff + kld) / (QWeight + PolicyScale) * Alpha + Beta)^Gamma, Tau)
//
// All fields are >= 0, Beta and Tau above 0, QWeight and PolicyScale not both 0.
type Focus struct{ QWeight, PolicyScale, Alpha, Beta, Gamma, Tau float64 }

// Of returns the weight of a position: qDiff is |Q of the best move - Q of the
// raw network|, kld the divergence of the search's policy from the raw one in
// nats. What is not known (NaN) or below 0 counts as 0.
func (f Focus) Of(qDiff, kld float64) float64 {
	// A product is rounded before it is added to: no machine fuses the two.
	x := (float64(f.QWeight*known(qDiff)) + known(kld)) / (f.QWeight + f.PolicyScale)
	return min(Power(float64(x*f.Alpha)+f.Beta, f.Gamma), f.Tau)
}

func known(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return x
}

// Check says which number is out of range; named makes the name in the message of that
// in a configuration.
func (f Focus) Check(named func(setting string) string) error {
	err := cmp.Or(
		atLeast(0, named("q_weight"), f.QWeight), atLeast(0, named("pol_scale"), f.PolicyScale),
		atLeast(0, named("alpha"), f.Alpha), atLeast(1e-6, named("beta"), f.Beta),
		atLeast(0, named("gamma"), f.Gamma), atLeast(1e-6, named("tau"), f.Tau))
	if err == nil && f.QWeight+f.PolicyScale == 0 {
		err = fmt.Errorf("%s and %s are both 0: set one of them", named("q_weight"), named("pol_scale"))
	}
	return err
}

// atLeast says that a number is out of range.
func atLeast(least float64, name string, value float64) error {
	if !(value >= least) || math.IsInf(value, 0) {
		return fmt.Errorf("%s %v: want a finite number, at least %v", name, value, least)
	}
	return nil
}
