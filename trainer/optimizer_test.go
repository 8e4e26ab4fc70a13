package trainer

import "testing"

func TestLossScaler(t *testing.T) {
	fixed := newLossScaler(false)
	fixed.update(false)
	near(t, "fp32 scale", fixed.scale, 1, 0)
	s := newLossScaler(true)
	s.update(false)
	near(t, "halved", s.scale, initialLossScale/2, 0)
	for range lossScaleGrowSteps {
		s.update(true)
	}
	near(t, "grown back", s.scale, initialLossScale, 0)
	for range 100 {
		s.update(false)
	}
	near(t, "floor", s.scale, 1, 0)
}

// TestSWA: swa = swa*n/(n+w) + w/(n+w)*model with w = 1, memory bounded by 2.
func TestSWA(t *testing.T) {
	s := swaAverage{cfg: SWAConfig{Period: 2, MaxAverages: 2}}
	average := float32(0)
	want := map[int64]float64{
		2: 2, // the first net
		4: 3, // (2+4)/2
		6: 4, // (2*3+6)/3
		8: 4*2.0/3 + 8/3.0,
	}
	for step := int64(1); step <= 8; step++ {
		if s.due(step) {
			keep, add := s.shares()
			average = keep*average + add*float32(step)
			s.entered()
		}
		if w, ok := want[step]; ok {
			near(t, "average", float64(average), w, 1e-6)
		}
	}
	off := swaAverage{}
	if off.due(1) {
		t.Error("period 0 averages")
	}
}
