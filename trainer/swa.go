package trainer

// swaAverage is the running average of the weights (Izmailov et al. 2018, with
// lczero-training's bounded memory): swa = swa*n/(n+1) + model/(n+1), then n =
// min(MaxAverages, n+1). It averages the running batch-norm statistics too, which
// is only a guess at what the averaged weights would see: RefreshSWA measures them.
type swaAverage struct {
	cfg    SWAConfig
	params [][]float32 // in the order of the net's parameters; nil before the first average
	n      float64     // nets that the average holds, at most cfg.MaxAverages
}

// due says whether the net after step steps enters the average.
func (s *swaAverage) due(step int64) bool { return s.cfg.Period != 0 && step%s.cfg.Period == 0 }

// shares are the factors of the average and of the net that enters it; keep is 0
// for the first.
func (s *swaAverage) shares() (keep, add float32) {
	if s.n == 0 {
		return 0, 1
	}
	return float32(s.n / (s.n + 1)), float32(1 / (s.n + 1))
}

// entered counts a net that entered.
func (s *swaAverage) entered() { s.n = min(float64(s.cfg.MaxAverages), s.n+1) }

// reserve makes room for an average where there is none.
func (s *swaAverage) reserve(like [][]float32) {
	if s.params != nil {
		return
	}
	for _, p := range like {
		s.params = append(s.params, make([]float32, len(p)))
	}
}
