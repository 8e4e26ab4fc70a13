package rating

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// eloUnit is one unit of the natural logarithm of the odds, in Elo.
const eloUnit = 400 / math.Ln10

const (
	maxIterations = 1000
	maxStep       = 2.0   // of one iteration, in log odds: beyond it the curvature says little
	tolerance     = 1e-11 // of the last step, in log odds
	flat          = 1e-14 // a gradient of less, a game, is rounding: anchors that contradict each other leave hardly a slope
	ridge         = 1e-9  // on the diagonal of the curvature: far from the answer it vanishes
)

// system is one group's likelihood.
type system struct {
	players  []int // of the group
	slot     []int // by player: its unknown, -1 = an anchor or of another group
	unknowns int
	anchored bool
	pairings []pairing
	rating   []float64 // by player, log odds
}

// system returns a group's likelihood at the given ratings, in Elo.
func (g *graph) system(groups []int, group int, elo []float64) *system {
	s := &system{slot: make([]int, len(groups)), rating: make([]float64, len(groups))}
	for i, of := range groups {
		s.slot[i] = -1
		if of != group {
			continue
		}
		s.players = append(s.players, i)
		if g.tally[i].Anchor {
			s.anchored, s.rating[i] = true, g.anchor[i]/eloUnit
			continue
		}
		s.rating[i] = elo[i] / eloUnit
		s.slot[i] = s.unknowns
		s.unknowns++
	}
	for _, p := range g.pairings {
		if groups[p.a] == group {
			s.pairings = append(s.pairings, p)
		}
	}
	return s
}

// climb raises the likelihood to its top and puts the ratings there into elo.
func (s *system) climb(elo []float64) error {
	if s.unknowns > 0 {
		if err := s.newton(); err != nil {
			return err
		}
	}
	for _, i := range s.players {
		elo[i] = s.rating[i] * eloUnit
	}
	return nil
}

// errSingular is a bug: every system here is positive definite.
var errSingular = errors.New("the curvature of the likelihood is singular")

// newton raises the likelihood by Newton's steps, halved where they overshoot. The
// likelihood is concave, so there is one top.
func (s *system) newton() error {
	value := s.value()
	var factor mat.Cholesky
	step := mat.NewVecDense(s.unknowns, nil)
	for range maxIterations {
		gradient, curvature := s.derivatives()
		if !factor.Factorize(curvature) {
			return errSingular
		}
		_ = factor.SolveVecTo(step, gradient) // says that rounding is large: a step that overshoots is halved
		largest, slope := mat.Norm(step, math.Inf(1)), mat.Norm(gradient, math.Inf(1))
		scale := 1.0
		if largest > maxStep {
			scale = maxStep / largest
		}
		s.move(step, scale)
		next := s.value()
		for next < value-1e-12*(1+math.Abs(value)) && scale > 1e-9 {
			s.move(step, -scale/2)
			scale /= 2
			next = s.value()
		}
		value = next
		if largest*scale < tolerance || slope < flat*s.games() {
			return nil
		}
	}
	return fmt.Errorf("no answer after %d iterations", maxIterations)
}

// games counts the group's, at least 1.
func (s *system) games() float64 {
	sum := 1.0
	for i := range s.pairings {
		sum += s.pairings[i].all()
	}
	return sum
}

// move adds so many times a step to the ratings.
func (s *system) move(step *mat.VecDense, scale float64) {
	for _, i := range s.players {
		if k := s.slot[i]; k >= 0 {
			s.rating[i] += scale * step.AtVec(k)
		}
	}
}

// distance returns how far a is above b.
func (s *system) distance(p *pairing) float64 { return s.rating[p.a] - s.rating[p.b] }

// value returns the logarithm of the likelihood.
func (s *system) value() float64 {
	sum := 0.0
	for i := range s.pairings {
		p := &s.pairings[i]
		d := s.distance(p)
		sum += p.won()*logLogistic(d) + (p.all()-p.won())*logLogistic(-d)
	}
	return sum
}

// logistic returns the expected score of a player so far above another, in log
// odds.
func logistic(d float64) float64 { return 1 / (1 + math.Exp(-d)) }

// logLogistic returns ln(1/(1+exp(-d))) without overflow.
func logLogistic(d float64) float64 {
	if d < 0 {
		return d - math.Log1p(math.Exp(d))
	}
	return -math.Log1p(math.Exp(-d))
}

// derivatives returns the gradient of the likelihood and its negative second
// derivatives. Where no anchor fixes the zero, the mean is held: a constant is
// added that the differences do not see.
func (s *system) derivatives() (gradient *mat.VecDense, curvature *mat.SymDense) {
	gradient = mat.NewVecDense(s.unknowns, nil)
	curvature = s.weighted(func(_ *pairing, x, y float64) float64 { return x * y })
	for i := range s.pairings {
		p := &s.pairings[i]
		surplus := p.won() - p.all()*logistic(s.distance(p))
		if k := s.slot[p.a]; k >= 0 {
			gradient.SetVec(k, gradient.AtVec(k)+surplus)
		}
		if k := s.slot[p.b]; k >= 0 {
			gradient.SetVec(k, gradient.AtVec(k)-surplus)
		}
	}
	for i := range s.unknowns {
		add(curvature, i, i, ridge)
		for k := range i + 1 {
			if !s.anchored {
				add(curvature, i, k, 1/float64(s.unknowns))
			}
		}
	}
	return gradient, curvature
}

// weighted returns the matrix that adds a weight a game for the difference of two
// players, of which x is a's expected score and y b's.
func (s *system) weighted(weight func(p *pairing, x, y float64) float64) *mat.SymDense {
	m := mat.NewSymDense(s.unknowns, nil)
	for i := range s.pairings {
		p := &s.pairings[i]
		d := s.distance(p)
		w := p.all() * weight(p, logistic(d), logistic(-d))
		a, b := s.slot[p.a], s.slot[p.b]
		if a >= 0 {
			add(m, a, a, w)
		}
		if b >= 0 {
			add(m, b, b, w)
		}
		if a >= 0 && b >= 0 {
			add(m, a, b, -w)
		}
	}
	return m
}

// add adds to two cells of a symmetric matrix, or to one of its diagonal.
func add(m *mat.SymDense, i, k int, v float64) { m.SetSym(i, k, m.At(i, k)+v) }

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
