package chance

import (
	"cmp"
	"fmt"
	"math"
)

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
