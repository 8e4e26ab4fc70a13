package chance

import (
	"fmt"
	"math"
)

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
