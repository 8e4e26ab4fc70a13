package arena

import (
	"fmt"
	"math"
)

// SPRT is a sequential test of two hypotheses on the Elo difference of player 1
// to player 2: H0, it is Elo0, against H1, it is Elo1. A match that stops as
// soon as the test decides accepts H1 wrongly with probability Alpha and H0
// wrongly with Beta, about.
type SPRT struct {
	Elo0  float64 `json:"elo0"` // logistic Elo, Elo0 < Elo1
	Elo1  float64 `json:"elo1"`
	Alpha float64 `json:"alpha"` // in (0, 1/2), as Beta
	Beta  float64 `json:"beta"`
}

// The decisions of a sequential test.
const (
	AcceptH0 = "H0"
	AcceptH1 = "H1"
)

// SPRTResult is where a sequential test stands.
type SPRTResult struct {
	LLR      float64 `json:"llr"`      // log likelihood ratio of H1 to H0
	Lower    float64 `json:"lower"`    // H0 is accepted at or below it
	Upper    float64 `json:"upper"`    // H1 is accepted at or above it
	Pairs    int     `json:"pairs"`    // that it has looked at
	Decision string  `json:"decision"` // AcceptH0, AcceptH1, or "" while it goes on
}

// SPRTReport is a sequential test and where it stands.
type SPRTReport struct {
	SPRT
	SPRTResult
}

// String returns the line of the report.
func (s *SPRTReport) String() string {
	verdict := map[string]string{
		AcceptH0: fmt.Sprintf("H0 accepted, %g Elo", s.Elo0),
		AcceptH1: fmt.Sprintf("H1 accepted, %g Elo", s.Elo1),
		"":       "not decided",
	}[s.Decision]
	return fmt.Sprintf("%g against %g Elo (alpha %g, beta %g): LLR %.2f of %.2f to %.2f after %d pairs, %s",
		s.Elo0, s.Elo1, s.Alpha, s.Beta, s.LLR, s.Lower, s.Upper, s.Pairs, verdict)
}

// emptyCount takes the place of a count of 0 (the regularisation of fishtest),
// so that every score has a likelihood.
const emptyCount = 1e-3

// Validate says what is out of range.
func (t SPRT) Validate() error {
	if !(t.Elo0 < t.Elo1) || t.Elo0 < -1000 || t.Elo1 > 1000 {
		return fmt.Errorf("sprt: elo0 %v, elo1 %v: want elo0 below elo1, both from -1000 to 1000", t.Elo0, t.Elo1)
	}
	if !(t.Alpha > 0 && t.Alpha < 0.5 && t.Beta > 0 && t.Beta < 0.5) {
		return fmt.Errorf("sprt: alpha %v, beta %v: want probabilities above 0 and below 0.5", t.Alpha, t.Beta)
	}
	return nil
}

// Test returns where the test stands after these pairs, by the generalised
// likelihood ratio of Van den Bergh ("A practical introduction to the GSPRT"):
// of all distributions of a pair's points whose mean is the score that Elo0
// expects, and of those with Elo1's, the likeliest are compared. It is
// fishtest's and fastchess's test with logistic Elo.
//
// Of games that are played several at once the short ones finish first; only
// the pairs before the first one that is not finished are a fair sample
// (Progress.Pairs, Judge).
func (t SPRT) Test(p Pentanomial) SPRTResult {
	r := SPRTResult{Lower: math.Log(t.Beta / (1 - t.Alpha)), Upper: math.Log((1 - t.Beta) / t.Alpha)}
	var share [len(p)]float64
	sum := 0.0
	for k, count := range p {
		r.Pairs += count
		share[k] = max(float64(count), emptyCount)
		sum += share[k]
	}
	if r.Pairs == 0 {
		return r
	}
	for k := range share {
		share[k] /= sum
	}
	h0, h1 := likeliest(share, ExpectedScore(t.Elo0)), likeliest(share, ExpectedScore(t.Elo1))
	for k := range share {
		r.LLR += sum * share[k] * math.Log(h1[k]/h0[k])
	}
	switch {
	case r.LLR >= r.Upper:
		r.Decision = AcceptH1
	case r.LLR <= r.Lower:
		r.Decision = AcceptH0
	}
	return r
}

// Judge walks through the games of a match, in ascending order of their
// numbers, pair by pair up to the first pair that is not finished, and returns
// where the test stood when it first decided, or where it stands.
func (t SPRT) Judge(games []Game) SPRTResult {
	r := t.Test(Pentanomial{})
	var p Pentanomial
	for i := 0; i+1 < len(games) && games[i].Number == i && games[i+1].Number == i+1 && r.Decision == ""; i += 2 {
		p[2+games[i].Result(0)+games[i+1].Result(0)]++
		r = t.Test(p)
	}
	return r
}

// ExpectedScore is the mean score of a game in [0,1] at a difference in logistic
// Elo.
func ExpectedScore(elo float64) float64 { return 1 / (1 + math.Pow(10, -elo/400)) }

// likeliest returns the distribution with the given mean, in (0,1), under which
// the observed shares of the scores 0, 1/4, 1/2, 3/4 and 1 (each above 0) are
// the likeliest. It is share/(1 + x(score-mean)) with the x at which the mean
// comes out (Lagrange); the condition falls with x, so that bisection finds it.
func likeliest(share [5]float64, mean float64) [5]float64 {
	low, high := -1/(1-mean), 1/mean // where a probability would be infinite
	x := 0.0
	for range 100 {
		x = (low + high) / 2
		excess := 0.0
		for k, p := range share {
			d := float64(k)/4 - mean
			excess += p * d / (1 + x*d)
		}
		if excess > 0 {
			low = x
		} else {
			high = x
		}
	}
	var out [5]float64
	for k, p := range share {
		out[k] = p / (1 + x*(float64(k)/4-mean))
	}
	return out
}
