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

// covariance puts the covariances of a group's ratings into cov, in Elo squared.
// Against an anchor they are those of the distance to it, else those of the
// distance to the mean.
func (s *system) covariance(cov [][]float64) error {
	_, curvature := s.derivatives()
	factor, err := cholesky(curvature)
	if err != nil {
		return err
	}
	inverse := square(s.unknowns)
	for i := range inverse {
		unit := make([]float64, s.unknowns)
		unit[i] = 1
		copy(inverse[i], factor.solve(unit))
	}
	all := times(times(inverse, s.weighted(variance)), inverse)
	for _, i := range s.players {
		for _, k := range s.players {
			if a, b := s.slot[i], s.slot[k]; a >= 0 && b >= 0 {
				cov[i][k] = all[a][b] * eloUnit * eloUnit
			}
		}
	}
	return nil
}
