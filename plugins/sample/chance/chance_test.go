package chance

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestHanseProbability(t *testing.T) {
	for _, c := range []struct {
		threshold, gamma, weight, want float64
	}{
		{0, 1, 50, .5}, {0, 1, 100, 1}, {0, 1, 25, .25}, {0, 1, 0, 0}, {0, 1, math.NaN(), 0},
		{0, 2, 50, .25}, {0, .5, 25, .5}, {0, 0, 1, 1}, {0, 0, 0, 0},
		{200, 1, 50, .25}, {40, 1, 50, 1}, {40, 1, 10, .25},
	} {
		h := Hanse{Threshold: c.threshold, Gamma: c.gamma}
		h.Add(100)
		h.Add(30)
		if got := h.Probability(c.weight); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("threshold %v, gamma %v, weight %v: %v, want %v", c.threshold, c.gamma, c.weight, got, c.want)
		}
	}
	for _, bad := range []Hanse{{Threshold: -1}, {Gamma: -1}, {Gamma: math.NaN()}, {Threshold: math.Inf(1)}} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), "hanse_sampling_") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// chiSquare returns the statistic of counts against equal expectations.
func chiSquare(counts []int) (x float64) {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	want := float64(sum) / float64(len(counts))
	for _, n := range counts {
		x += (float64(n) - want) * (float64(n) - want) / want
	}
	return x
}

// chiLimit is the value that chi-square with k degrees of freedom stays below
// with probability 1 - 1e-6 (Wilson and Hilferty 1931; 4.753 = the normal
// quantile).
func chiLimit(k int) float64 {
	d := 2 / (9 * float64(k))
	return float64(k) * math.Pow(1-d+4.753*math.Sqrt(d), 3)
}

// Positions of games of different lengths come equally often: a game by hanse
// sampling, one of its positions at random. p = 1e-6 (see chiLimit).
func TestHanseUniformPositions(t *testing.T) {
	lengths := []int{3, 40, 17, 80, 1, 9}
	rng := rand.New(rand.NewPCG(12, 0))
	h := Hanse{Gamma: 1}
	total := 0
	for _, n := range lengths {
		h.Add(float64(n))
		total += n
	}
	counts := make([][]int, len(lengths))
	for i, n := range lengths {
		counts[i] = make([]int, n)
	}
	for range 200_000 {
		i := rng.IntN(len(lengths))
		if h.Accept(rng, float64(lengths[i])) {
			counts[i][rng.IntN(lengths[i])]++
		}
	}
	var flat []int
	for _, c := range counts {
		flat = append(flat, c...)
	}
	if x := chiSquare(flat); x > chiLimit(total-1) {
		t.Errorf("chi-square %.1f, at most %.1f: %v", x, chiLimit(total-1), counts)
	}
}

// By hand: (6*.25 + .75) / 7.5 = .3; .3*2 + .05 = .65; its root; capped at tau.
// What is not known counts as 0.
func TestFocus(t *testing.T) {
	f := Focus{QWeight: 6, PolicyScale: 1.5, Alpha: 2, Beta: .05, Gamma: .5, Tau: 1}
	nan := math.NaN()
	for _, c := range []struct{ qDiff, kld, want float64 }{
		{.25, .75, .8062257748298549}, {.25, 50, 1}, {0, 0, .22360679774997896}, {nan, nan, .22360679774997896}, {-1, -1e-7, .22360679774997896},
		{nan, .75, math.Sqrt(.25)}, {0, math.MaxFloat32, 1},
	} {
		if got := f.Of(c.qDiff, c.kld); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("of %v and %v: %v, want %v", c.qDiff, c.kld, got, c.want)
		}
	}
	f.Gamma, f.Tau = 3, 9
	if got, want := f.Of(.25, .75), .65*.65*.65; math.Abs(got-want) > 1e-12 {
		t.Errorf("cubed: %v, want %v", got, want)
	}
}

// Power is math.Pow to 1e-12 of its size for results that a weight can have, and
// exact at its ends.
func TestPower(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 200_000 {
		x := math.Exp((rng.Float64() - .5) * 80)
		a := math.Exp((rng.Float64() - .5) * 10)
		got, want := Power(x, a), math.Pow(x, a)
		if want > 1e-300 && want < 1e300 && math.Abs(got-want) > 1e-12*want {
			t.Fatalf("%v^%v = %v, want %v", x, a, got, want)
		}
	}
	inf := math.Inf(1)
	for _, c := range []struct{ x, a, want float64 }{
		{0, 0, 1}, {0, 2, 0}, {0, .3, 0}, {1, 77.7, 1}, {5, 0, 1}, {5, 1, 5}, {9, .5, 3}, {inf, .7, inf}, {inf, 0, 1}, {1e30, 99, inf}, {1e-30, 99, 0},
	} {
		if got := Power(c.x, c.a); got != c.want {
			t.Errorf("%v^%v = %v, want %v", c.x, c.a, got, c.want)
		}
	}
	for _, c := range []struct{ x, a, want float64 }{{2, 10, 1024}, {10, 3, 1000}, {.5, 2, .25}, {2, .25, 1.189207115002721}, {math.SmallestNonzeroFloat64, .1, 4.6706622762338734e-33}} {
		if got := Power(c.x, c.a); math.Abs(got-c.want) > 1e-13*c.want {
			t.Errorf("%v^%v = %v, want %v", c.x, c.a, got, c.want)
		}
	}
	if got := Power(-1, 2); got == got {
		t.Errorf("of a negative number: %v, want NaN", got)
	}
}

// Permute is a permutation for every n and key.
func TestPermute(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for n := uint64(1); n < 70; n++ {
		key := rng.Uint64()
		seen := make([]bool, n)
		for i := range n {
			k := Permute(i, n, key)
			if seen[k] {
				t.Fatalf("n %d, key %d: %d comes twice", n, key, k)
			}
			seen[k] = true
		}
	}
}

// Every index goes to every place equally often over the keys: p = 1e-6. Rows
// and columns have fixed sums: (n-1)^2 degrees of freedom.
func TestPermuteUniform(t *testing.T) {
	const n = 9
	var counts [n * n]int
	for pass := range uint64(20_000) {
		for i := range uint64(n) {
			counts[i*n+Permute(i, n, Mix(5, pass))]++
		}
	}
	if x := chiSquare(counts[:]); x > chiLimit((n-1)*(n-1)) {
		t.Errorf("chi-square %.1f, at most %.1f", x, chiLimit((n-1)*(n-1)))
	}
}

// Literal values: the orders of a checkpoint must come again in every later
// build. SplitMix64 seeded with 0 begins with 0xe220a8397b1dcdaf.
func TestOrdersAreFixed(t *testing.T) {
	if got := finish(golden); got != 0xe220a8397b1dcdaf {
		t.Errorf("first number of splitmix64: %#x", got)
	}
	if got := Mix(1, 2); got != 0xbe5d94ae62b0e9d9 {
		t.Errorf("Mix(1, 2) = %#x", got)
	}
	for i, want := range []uint64{3, 7, 8, 5, 2, 0, 6, 4, 1, 9} {
		if got := Permute(uint64(i), 10, 7); got != want {
			t.Errorf("Permute(%d, 10, 7) = %d, want %d", i, got, want)
		}
	}
}
