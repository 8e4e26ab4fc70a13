package device

import "testing"

// TestLookaheadResumes: the factors of a step are the same bits after any other step,
// and at the first call.
func TestLookaheadResumes(t *testing.T) {
	for _, decay := range []float64{0, .004, 1} {
		whole := Lookahead{Beta1: .95, Decay: decay}
		for step := int64(1); step <= 2000; step++ {
			cm, cg := whole.Shares(step)
			if step%97 != 1 {
				continue
			}
			fresh := Lookahead{Beta1: .95, Decay: decay}
			if a, b := fresh.Shares(step); a != cm || b != cg {
				t.Fatalf("decay %v, step %d: %v %v, at once %v %v", decay, step, cm, cg, a, b)
			}
			fresh.Shares(step / 2)
			if a, b := fresh.Shares(step); a != cm || b != cg {
				t.Fatalf("decay %v, step %d: %v %v, after an earlier step %v %v", decay, step, cm, cg, a, b)
			}
		}
	}
}
