package trainer

import (
	"fmt"
	"strconv"
	"strings"
)

// Shares of a schedule are renewed every shareSteps steps, and not at each: a GPU captures
// its passes with the shares in them, and captures them anew for others. They stay
// leastShare off 0 and 1: with a part that is not asked for, rows that know the other part
// alone would count at some steps only (device.Term.Learn), but what is known of rows on a
// GPU is found once. In float32 the blend is still all but the other part.
const (
	shareSteps = 16
	leastShare = 1e-7
)

// At returns the share of Other at the step with index step (0 = the first).
func (m *Mix) At(step int64) float64 {
	if m.Schedule == nil {
		return m.QRatio
	}
	return min(max(m.Schedule.At(step-step%shareSteps), leastShare), 1-leastShare)
}

// ParseShares reads points such as "1@0,0.6@8000": from 1 at step 0 in a line to 0.6 at
// step 8000, and 0.6 from there on. An empty text is no schedule.
func ParseShares(text string) (Schedule, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var r LRRule
	last := int64(0)
	for i, part := range strings.Split(text, ",") {
		left, right, ok := strings.Cut(strings.TrimSpace(part), "@")
		share, err := strconv.ParseFloat(left, 64)
		step, err2 := strconv.ParseInt(right, 10, 64)
		switch {
		case !ok || err != nil || err2 != nil:
			return nil, fmt.Errorf("schedule %q: point %d, %q, must be SHARE@STEP such as 0.6@8000", text, i+1, part)
		case !(share >= 0 && share <= 1):
			return nil, fmt.Errorf("schedule %q: point %d is %v, allowed is 0 to 1", text, i+1, share)
		case i == 0 && step != 0:
			return nil, fmt.Errorf("schedule %q: the first point is at step %d, must be at 0", text, step)
		case i > 0 && step <= last:
			return nil, fmt.Errorf("schedule %q: point %d is at step %d, not after point %d at %d", text, i+1, step, i, last)
		case i > 0:
			r.DurationSteps, r.Transition = append(r.DurationSteps, step-last), append(r.Transition, Linear)
		}
		r.LR, last = append(r.LR, share), step
	}
	return Schedule{r}, nil
}
