package rating

import "gonum.org/v1/gonum/mat"

// The error of a rating. With C the curvature of the likelihood (games times
// x(1-x) a pairing, x the expected score) and V the same with the variance of a
// game's score in its place, the covariance of the ratings is C^-1 V C^-1. Were
// there no draws, V would be C. A draw share d makes the variance x(1-x) - d/4.
// Games are taken as independent; the two games of one opening, in which the
// colours are exchanged, vary together less than that, so the errors are rather
// too large than too small.

// variance returns that of a game's score where a is expected to score x and b y =
// 1-x. The pairing's own share of draws is drawn towards none by two games and held
// in what x allows, so the variance is never 0.
func variance(p *pairing, x, y float64) float64 {
	most := 2 * min(x, y) * p.all() // a draw gives each half a point
	return x*y - min(p.draws, most)/(p.all()+2)/4
}

// variances puts those of a group's ratings into out, in Elo squared: of the distance
// to an anchor, else to the mean. An anchor has none.
func (s *system) variances(out []float64) error {
	if s.unknowns == 0 {
		return nil
	}
	_, curvature := s.derivatives()
	var factor mat.Cholesky
	var inverse mat.SymDense
	if !factor.Factorize(curvature) {
		return errSingular
	}
	_ = factor.InverseTo(&inverse) // says that rounding is large
	var covariance mat.Dense
	covariance.Product(&inverse, s.weighted(variance), &inverse)
	for _, i := range s.players {
		if k := s.slot[i]; k >= 0 {
			out[i] = covariance.At(k, k) * eloUnit * eloUnit
		}
	}
	return nil
}
