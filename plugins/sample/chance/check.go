package chance

import (
	"fmt"
	"math"
)

// Check says which number is out of range; named makes the name in the message of that
// in a configuration.
func (f Focus) Check(named func(setting string) string) error {
	for _, v := range []struct {
		name         string
		value, least float64
	}{{"q_weight", f.QWeight, 0}, {"pol_scale", f.PolicyScale, 0}, {"alpha", f.Alpha, 0}, {"beta", f.Beta, 1e-6}, {"gamma", f.Gamma, 0}, {"tau", f.Tau, 1e-6}} {
		if !(v.value >= v.least) || math.IsInf(v.value, 0) {
			return fmt.Errorf("%s %v: want a finite number, at least %v", named(v.name), v.value, v.least)
		}
	}
	if f.QWeight+f.PolicyScale == 0 {
		return fmt.Errorf("%s and %s are both 0: set one of them", named("q_weight"), named("pol_scale"))
	}
	return nil
}
