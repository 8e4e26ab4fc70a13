package arena

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits bound what a player may spend. A player with none of them is not
// bounded by the match; a net has the visits of its Settings besides.
type Limits struct {
	Nodes           int           // of a move; engines only
	Depth           int           // plies of a move; engines only
	MoveTime        time.Duration // of a move; 0 = no such limit
	Base, Increment time.Duration // clock for the game, and what each move adds to it; Base 0 = no clock

	// Margin is what a move may take beyond MoveTime or the clock without loss:
	// for the way from process to process and for other work on the machine.
	Margin time.Duration
}

// DefaultMargin is a Margin for machines that do nothing else.
const DefaultMargin = 100 * time.Millisecond

// Timed reports whether time is limited. A match with a timed player has one
// game in each worker, so that no game's thinking is on another's clock.
func (l Limits) Timed() bool { return l.MoveTime > 0 || l.Base > 0 }

// validate says what is out of range.
func (l Limits) validate() error {
	const longest = 24 * time.Hour
	for _, d := range []time.Duration{l.MoveTime, l.Base, l.Increment, l.Margin} {
		if d < 0 || d > longest {
			return fmt.Errorf("limits %s: want times from 0 to %v", l, longest)
		}
	}
	switch {
	case l.Nodes < 0 || l.Depth < 0 || l.Depth > 1000:
		return fmt.Errorf("limits: %d nodes, depth %d: want 0 or more, and a depth of at most 1000", l.Nodes, l.Depth)
	case l.MoveTime > 0 && l.Base > 0:
		return errors.New("limits: a time for each move and a clock exclude each other")
	case l.Increment > 0 && l.Base == 0:
		return errors.New("limits: an increment needs a clock")
	}
	return nil
}

// String returns the limits as "nodes=100 movetime=50ms tc=10+0.1".
func (l Limits) String() string {
	var parts []string
	if l.Nodes > 0 {
		parts = append(parts, fmt.Sprintf("nodes=%d", l.Nodes))
	}
	if l.Depth > 0 {
		parts = append(parts, fmt.Sprintf("depth=%d", l.Depth))
	}
	if l.MoveTime > 0 {
		parts = append(parts, "movetime="+l.MoveTime.String())
	}
	if l.Base > 0 {
		parts = append(parts, "tc="+FormatClock(l.Base, l.Increment))
	}
	return strings.Join(parts, " ")
}

// ParseClock reads "BASE+INCREMENT" or "BASE" in seconds, as in "10+0.1", or
// with minutes, as in "1:30+1".
func ParseClock(text string) (base, increment time.Duration, err error) {
	baseText, incrementText, has := strings.Cut(text, "+")
	if base, err = parseSeconds(baseText); err == nil && has {
		increment, err = parseSeconds(incrementText)
	}
	if err != nil || base <= 0 {
		return 0, 0, fmt.Errorf("clock %q: want seconds, and seconds that each move adds, as in 10+0.1 or 1:30+1", text)
	}
	return base, increment, nil
}

// parseSeconds reads "S" or "M:S" with a fraction, at most a day.
func parseSeconds(text string) (time.Duration, error) {
	minutes := 0.0
	if m, s, has := strings.Cut(text, ":"); has {
		n, err := strconv.ParseUint(m, 10, 16)
		if err != nil {
			return 0, err
		}
		minutes, text = float64(n), s
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	if s += 60 * minutes; !(s >= 0 && s <= 86400) {
		return 0, errors.New("out of range")
	}
	return time.Duration(s*1e6+0.5) * time.Microsecond, nil
}

// FormatClock returns what ParseClock reads.
func FormatClock(base, increment time.Duration) string {
	return strconv.FormatFloat(base.Seconds(), 'f', -1, 64) + "+" + strconv.FormatFloat(increment.Seconds(), 'f', -1, 64)
}
