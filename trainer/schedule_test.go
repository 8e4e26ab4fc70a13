package trainer

import (
	"errors"
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %g", what, got, want, tol)
	}
}

func TestScheduleAt(t *testing.T) {
	linear := Schedule{{DurationSteps: []int64{3}, LR: []float64{0, .9}, Transition: []Transition{Linear}}}
	cosine := Schedule{{DurationSteps: []int64{4}, LR: []float64{1, 0}, Transition: []Transition{Cosine}}}
	skip := Schedule{{DurationSteps: []int64{0, 2, 0}, LR: []float64{7, .5, 8, .25}, Transition: []Transition{Linear, Constant, Linear}}}
	loop := Schedule{{DurationSteps: []int64{2, 2}, LR: []float64{0, 1}, Transition: []Transition{Linear, Linear}, Loop: true}}
	rules := Schedule{
		{StartingStep: 100, DurationSteps: []int64{10}, LR: []float64{.1, .2}, Transition: []Transition{Linear}},
		{LR: []float64{.5}},
		{StartingStep: 10, LR: []float64{.3}},
	}
	for _, c := range []struct {
		name  string
		s     Schedule
		first int64
		want  []float64
	}{
		{"linear 0 to .9 over 3", linear, 0, []float64{0, .3, .6, .9, .9}},
		{"cosine is half way in the middle", cosine, 0, []float64{1, (1 + math.Sqrt2/2) / 2, .5, (1 - math.Sqrt2/2) / 2, 0, 0}},
		{"zero durations are skipped", skip, 0, []float64{.5, .5, .25, .25}},
		{"loop", loop, 0, []float64{0, .5, 1, .5, 0, .5, 1}},
		{"largest starting step wins", rules, 9, []float64{.5, .3}},
		{"steps count from the rule's start", rules, 99, []float64{.3, .1, .11}},
		{"constant", ConstantLR(.02), 0, []float64{.02, .02}},
		{"no value after the last segment", Schedule{{DurationSteps: []int64{2}, LR: []float64{.4}}}, 0, []float64{.4, .4, .4}},
	} {
		if err := c.s.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, want := range c.want {
			near(t, c.name, c.s.At(c.first+int64(i)), want, 1e-12)
		}
	}
}

func TestScheduleValidate(t *testing.T) {
	for name, s := range map[string]Schedule{
		"no rules":             {},
		"nothing at step 0":    {{StartingStep: 5, LR: []float64{1}}},
		"two of one step":      {{LR: []float64{1}}, {LR: []float64{2}}},
		"rates missing":        {{DurationSteps: []int64{1, 2, 3}, LR: []float64{1}}},
		"negative duration":    {{DurationSteps: []int64{-1}, LR: []float64{1}}},
		"NaN":                  {{LR: []float64{math.NaN()}}},
		"infinite":             {{LR: []float64{math.Inf(1)}}},
		"empty loop":           {{LR: []float64{1}, Loop: true}},
		"too many transitions": {{LR: []float64{1}, Transition: []Transition{Linear}}},
		"overflow":             {{DurationSteps: []int64{math.MaxInt64, 1}, LR: []float64{1, 1}}},
	} {
		if err := s.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: error %v, want ErrConfig", name, err)
		}
	}
}

func TestWarmup(t *testing.T) {
	w := Warmup{Steps: 4}
	for step, want := range []float64{.25, .5, .75, 1, 1} {
		near(t, "linear warm-up", w.Factor(int64(step), 0), want, 1e-12)
	}
	k := Warmup{KataGo: true}
	for samples, want := range map[int64]float64{0: 1. / 20, 249_999: 1. / 20, 250_000: 1. / 14, 999_999: 1. / 7, 1_750_000: 1 / 1.4, 2_000_000: 1} {
		near(t, "KataGo warm-up", k.Factor(0, samples), want, 1e-12)
	}
	near(t, "no warm-up", Warmup{}.Factor(0, 0), 1, 0)
}
