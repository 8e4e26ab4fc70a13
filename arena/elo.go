package arena

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Pentanomial counts the pairs of a match by player 1's points in them: 0, 1/2,
// 1, 3/2 and 2.
type Pentanomial [5]int

// Figure is a number that may be infinite or unknown (NaN), which JSON shows as
// null.
type Figure float64

// MarshalJSON implements json.Marshaler.
func (f Figure) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// Estimate says how much stronger player 1 is, from the pairs of a match.
type Estimate struct {
	Pairs int    `json:"pairs"`
	Score Figure `json:"score"`    // mean points of a game, in [0,1]; NaN without pairs, like Elo
	Elo   Figure `json:"elo"`      // difference, player 1 less player 2; infinite for a score of 0 or 1
	Low   Figure `json:"elo_low"`  // 95 % confidence interval
	High  Figure `json:"elo_high"` // of Elo
	LOS   Figure `json:"los"`      // likelihood of superiority: probability that player 1 is the stronger, in [0,1]
}

// Error is half of the interval of Elo.
func (e Estimate) Error() Figure { return (e.High - e.Low) / 2 }

// Of is the estimate for a match of which some pairs have one finished game: score and Elo
// are those of all games, c, the error stays that of the whole pairs.
func (e Estimate) Of(c Count) Estimate {
	n := c.Games()
	if n == 0 || n == 2*e.Pairs {
		return e
	}
	score := c.Points() / float64(n)
	all := Figure(elo(score))
	if shift := all - e.Elo; !math.IsNaN(float64(shift)) && !math.IsInf(float64(shift), 0) {
		e.Low, e.High = e.Low+shift, e.High+shift
	}
	e.Score, e.Elo = Figure(score), all
	return e
}

// EloText writes an Elo difference and its error as "+12.3 +- 4.5", with ? for
// what is infinite or not known.
func EloText(elo, err Figure) string {
	text := func(form string, f Figure) string {
		v := float64(f)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "?"
		}
		return fmt.Sprintf(form, v)
	}
	return text("%+.1f", elo) + " +- " + text("%.1f", err)
}

// normal95 is the two-sided 95 % quantile of the normal distribution.
const normal95 = 1.959963984540054

// EstimateElo returns the logistic Elo difference of the mean score of a pair,
// its interval by the normal distribution with the pairs' variance (the
// pentanomial method of Van den Bergh, as in fishtest and fastchess), and LOS.
//
// Pairs that all ended alike have no variance. The interval is then that of a
// share of n in n pairs (exact binomial, Clopper and Pearson: the other pairs
// may be as far away as they like), and LOS is 1 - 2^-(n+1) or its complement,
// the sign's posterior under a uniform prior; 1/2 if all pairs were even.
func EstimateElo(p Pentanomial) Estimate {
	n, sum := 0, 0.0
	for k, count := range p {
		n += count
		sum += float64(k*count) / 4
	}
	if n == 0 {
		nan := Figure(math.NaN())
		return Estimate{Score: nan, Elo: nan, Low: Figure(math.Inf(-1)), High: Figure(math.Inf(1)), LOS: 0.5}
	}
	mean, variance := sum/float64(n), 0.0
	for k, count := range p {
		d := float64(k)/4 - mean
		variance += float64(count) * d * d / float64(n)
	}
	deviation := math.Sqrt(variance / float64(n))
	low, high := mean-normal95*deviation, mean+normal95*deviation
	los := (1 + math.Erf((mean-0.5)/deviation/math.Sqrt2)) / 2
	if slices.Max(p[:]) == n { // no two pairs differ
		sure := math.Pow(0.025, 1/float64(n))
		low, high, los = sure*mean, 1-sure*(1-mean), 0.5
		if tail := math.Pow(2, -float64(n+1)); mean > 0.5 {
			los = 1 - tail
		} else if mean < 0.5 {
			los = tail
		}
	}
	return Estimate{n, Figure(mean), Figure(elo(mean)), Figure(elo(low)), Figure(elo(high)), Figure(los)}
}

// elo returns the logistic rating difference of a mean score; scores outside
// (0,1) give infinities.
func elo(score float64) float64 {
	score = min(max(score, 0), 1)
	return 400 * math.Log10(score/(1-score))
}

// Count is wins, draws and losses of player 1.
type Count struct {
	Wins   int `json:"wins"`
	Draws  int `json:"draws"`
	Losses int `json:"losses"`
}

// Games returns the number of games.
func (c Count) Games() int { return c.Wins + c.Draws + c.Losses }

// Points returns player 1's points: 1 for a win, 1/2 for a draw.
func (c Count) Points() float64 { return float64(c.Wins) + float64(c.Draws)/2 }

func (c *Count) add(result int) {
	switch result {
	case 1:
		c.Wins++
	case 0:
		c.Draws++
	default:
		c.Losses++
	}
}

// Summary is the result of a match in figures.
type Summary struct {
	Count                      // of all games
	White       Count          `json:"white"`       // of the games in which player 1 had white
	Black       Count          `json:"black"`       // and black
	Pentanomial Pentanomial    `json:"pentanomial"` // of the pairs of which both games are finished
	Estimate    Estimate       `json:"estimate"`    // of all games, with the error of these pairs
	Ends        map[string]int `json:"ends"`        // games by end reason
	MeanPlies   Figure         `json:"mean_plies"`  // of a game, its opening included; NaN without games
}

// Summarise counts the games of a match, in ascending order of their numbers.
func Summarise(games []Game) Summary {
	s := Summary{Ends: map[string]int{}}
	plies := 0
	for i := range games {
		g := &games[i]
		result := g.Result(0)
		s.add(result)
		[]*Count{&s.White, &s.Black}[g.White].add(result)
		s.Ends[string(g.End)]++
		plies += len(g.Moves)
		if g.Number%2 == 1 && i > 0 && games[i-1].Number == g.Number-1 {
			s.Pentanomial[2+result+games[i-1].Result(0)]++
		}
	}
	s.Estimate = EstimateElo(s.Pentanomial).Of(s.Count)
	s.MeanPlies = Figure(float64(plies) / float64(len(games)))
	return s
}
