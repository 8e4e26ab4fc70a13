package rating

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
	_, curvature := s.derivatives()
	factor, err := cholesky(curvature)
	if err != nil {
		return err
	}
	inverse, weights := square(s.unknowns), s.weighted(variance)
	for i := range inverse {
		inverse[i][i] = 1
		inverse[i] = factor.solve(inverse[i])
	}
	for _, i := range s.players {
		a := s.slot[i]
		if a < 0 {
			continue
		}
		sum := 0.0
		for j := range inverse {
			cell := 0.0
			for k, v := range inverse[a] {
				cell += v * weights[k][j]
			}
			sum += cell * inverse[j][a]
		}
		out[i] = sum * eloUnit * eloUnit
	}
	return nil
}
