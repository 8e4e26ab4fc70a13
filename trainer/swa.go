package trainer

// swaAverage is the running average of the weights (Izmailov et al. 2018, with
// lczero-training's bounded memory). It averages the running batch-norm
// statistics too, which is only a guess at what the averaged weights would see:
// RefreshSWA measures them.
type swaAverage struct {
	cfg    SWAConfig
	params [][]float32 // in the order of the net's parameters; nil before the first average
	n      float64     // nets that the average holds, at most cfg.MaxAverages
}

// observe adds the net after step steps where the period asks for it:
// swa = swa*n/(n+1) + model/(n+1), then n = min(MaxAverages, n+1).
func (s *swaAverage) observe(step int64, model [][]float32) {
	if s.cfg.Period == 0 || step%s.cfg.Period != 0 {
		return
	}
	if s.params == nil {
		s.params = make([][]float32, len(model))
		for i, p := range model {
			s.params[i] = append([]float32(nil), p...)
		}
		s.n = 1
		return
	}
	keep, add := float32(s.n/(s.n+1)), float32(1/(s.n+1))
	for i, p := range model {
		avg := s.params[i]
		for j, x := range p {
			avg[j] = keep*avg[j] + add*x
		}
	}
	s.n = min(float64(s.cfg.MaxAverages), s.n+1)
}
