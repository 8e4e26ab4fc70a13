package watch

// Calibration holds what searches expected of positions against how their games ended, both
// as White's score in [0,1], in groups of neighbouring expectations. Positions of one game
// share its result: the newest games settle the order of things, not percents.
type Calibration []Bin

// Bin is a group of positions.
type Bin struct {
	Said      float64 `json:"said"`   // mean of the expectations
	Scored    float64 `json:"scored"` // mean of the results
	Positions int     `json:"positions"`
}

const calibrationBins = 10

// calibrate compares the searches of finished games with their results.
func calibrate(games []Finished) Calibration {
	scores := map[string]float64{"1-0": 1, "1/2-1/2": 0.5, "0-1": 0}
	var sums [calibrationBins]Bin
	for _, g := range games {
		score, ended := scores[g.Result]
		if !ended {
			continue
		}
		for _, v := range g.Values {
			if v == nil {
				continue
			}
			said := float64(v.Win + v.Draw/2)
			b := &sums[min(int(said*calibrationBins), calibrationBins-1)]
			b.Said, b.Scored, b.Positions = b.Said+said, b.Scored+score, b.Positions+1
		}
	}
	c := Calibration{}
	for _, b := range sums {
		if n := float64(b.Positions); n > 0 {
			c = append(c, Bin{b.Said / n, b.Scored / n, b.Positions})
		}
	}
	return c
}

// Points are the groups as a curve.
func (c Calibration) Points() (points [][2]float64) {
	for _, b := range c {
		points = append(points, [2]float64{b.Said, b.Scored})
	}
	return points
}
