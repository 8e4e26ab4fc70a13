package trainer

import (
	"fmt"
	"math"
	"slices"
)

// Transition says how the learning rate walks from one value to the next.
type Transition uint8

// The transitions, named as in lczero-training's schedule.
const (
	Constant Transition = iota // stays at the segment's value
	Linear
	Cosine // half a cosine wave: slow, fast, slow
)

// LRRule is one rule of the learning-rate schedule (lczero-training 2025): from
// StartingStep on, segment i lasts DurationSteps[i] steps and walks from LR[i]
// to LR[i+1] as Transition[i] says. A segment of zero steps is skipped.
type LRRule struct {
	StartingStep  int64
	DurationSteps []int64
	LR            []float64    // one per segment, or one more: the value held at the end
	Transition    []Transition // one per segment; an absent one is Constant
	Loop          bool         // start over after the last segment; it then walks back to LR[0]
}

// ConstantLR is a schedule of one value.
func ConstantLR(lr float64) []LRRule { return []LRRule{{LR: []float64{lr}}} }

// Schedule is a list of rules; the one with the largest StartingStep that is
// not after the step is active.
type Schedule []LRRule

// Validate reports the first rule that cannot be followed.
func (s Schedule) Validate() error {
	if len(s) == 0 {
		return configError("schedule", "has no rules")
	}
	first, seen := s[0].StartingStep, map[int64]bool{}
	for i, r := range s {
		field := fmt.Sprintf("schedule[%d]", i)
		if seen[r.StartingStep] {
			return configError(field, "starting_step %d is there twice", r.StartingStep)
		}
		seen[r.StartingStep] = true
		first = min(first, r.StartingStep)
		if err := r.validate(field); err != nil {
			return err
		}
	}
	if first != 0 {
		return configError("schedule", "no rule holds at step 0: the first starts at %d", first)
	}
	return nil
}

func (r *LRRule) validate(field string) error {
	n, total := len(r.DurationSteps), int64(0)
	if len(r.LR) == 0 || (len(r.LR) != n && len(r.LR) != n+1) {
		return configError(field, "%d learning rates for %d segments: want as many, or one more", len(r.LR), n)
	}
	if len(r.Transition) > n {
		return configError(field, "%d transitions for %d segments", len(r.Transition), n)
	}
	for i, d := range r.DurationSteps {
		if d < 0 {
			return configError(field, "duration_steps[%d] = %d is negative", i, d)
		}
		if total += d; total < 0 {
			return configError(field, "the durations overflow")
		}
	}
	for i, lr := range r.LR {
		if !(lr >= 0) || math.IsInf(lr, 0) {
			return configError(field, "lr[%d] = %v is not a finite number >= 0", i, lr)
		}
	}
	for i, t := range r.Transition {
		if t > Cosine {
			return configError(field, "transition[%d] = %d is unknown", i, t)
		}
	}
	if r.StartingStep < 0 {
		return configError(field, "starting_step %d is negative", r.StartingStep)
	}
	if r.Loop && total == 0 {
		return configError(field, "a loop of no steps")
	}
	return nil
}

// At returns the learning rate of the step with index step (0 = the first). The
// schedule must be valid.
func (s Schedule) At(step int64) float64 {
	active := 0
	for i := range s {
		if s[i].StartingStep <= step && (s[active].StartingStep > step || s[i].StartingStep > s[active].StartingStep) {
			active = i
		}
	}
	return s[active].at(step - s[active].StartingStep)
}

// Largest returns the largest learning rate of all rules.
func (s Schedule) Largest() (most float64) {
	for _, r := range s {
		most = max(most, slices.Max(r.LR))
	}
	return most
}

func (r *LRRule) at(step int64) float64 {
	var total int64
	for _, d := range r.DurationSteps {
		total += d
	}
	if r.Loop {
		step %= total
	}
	for i, d := range r.DurationSteps {
		if step < d {
			return r.segment(i, float64(step)/float64(d))
		}
		step -= d
	}
	if len(r.LR) > len(r.DurationSteps) {
		return r.LR[len(r.DurationSteps)]
	}
	return r.segment(len(r.DurationSteps)-1, 1)
}

// segment returns the rate at share t in [0,1] of segment i.
func (r *LRRule) segment(i int, t float64) float64 {
	from, to := r.LR[i], r.LR[i]
	switch {
	case i+1 < len(r.LR):
		to = r.LR[i+1]
	case r.Loop:
		to = r.LR[0]
	}
	transition := Constant
	if i < len(r.Transition) {
		transition = r.Transition[i]
	}
	switch transition {
	case Linear:
		return from + (to-from)*t
	case Cosine:
		return from + (to-from)*(1-math.Cos(math.Pi*t))/2
	}
	return from
}

// Warmup multiplies the scheduled rate at the start of a run. At most one of
// the two forms is set.
type Warmup struct {
	Steps  int64 // linear: step s has (s+1)/Steps of the rate while s < Steps
	KataGo bool  // KataGo's staircase by samples since the start: 1/20 below 250k ... 1 from 2M
}

// kataGoWarmup is KataGo v1.17's table: below so many samples, divide by that.
var kataGoWarmup = []struct {
	samples int64
	divisor float64
}{
	{250_000, 20}, {500_000, 14}, {750_000, 10}, {1_000_000, 7},
	{1_250_000, 5}, {1_500_000, 3}, {1_750_000, 2}, {2_000_000, 1.4},
}

// Factor returns the multiplier of the step with index step, before which
// samples rows have been trained on.
func (w Warmup) Factor(step, samples int64) float64 {
	if w.KataGo {
		for _, stair := range kataGoWarmup {
			if samples < stair.samples {
				return 1 / stair.divisor
			}
		}
		return 1
	}
	if step < w.Steps {
		return float64(step+1) / float64(w.Steps)
	}
	return 1
}
