package chance

import (
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

// Check says which number is out of range, by the name of its flag.
func (f Focus) Check() error {
	for _, v := range []struct {
		name         string
		value, least float64
	}{{"q-weight", f.QWeight, 0}, {"pol-scale", f.PolicyScale, 0}, {"alpha", f.Alpha, 0}, {"beta", f.Beta, 1e-6}, {"gamma", f.Gamma, 0}, {"tau", f.Tau, 1e-6}} {
		if !(v.value >= v.least) || math.IsInf(v.value, 0) {
			return fmt.Errorf("--%s %v: want a finite number, at least %v", v.name, v.value, v.least)
		}
	}
	if f.QWeight+f.PolicyScale == 0 {
		return fmt.Errorf("--q-weight and --pol-scale are both 0: set one of them")
	}
	return nil
}
