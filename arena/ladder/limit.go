package ladder

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit bounds a net's moves: visits, or else time.
type Limit struct {
	Visits int
	Time   time.Duration
}

// Limits of a climb.
const (
	maxVisits = 1_000_000
	maxTime   = time.Minute
)

// ParseLimit reads visits, as 100, or a time for each move, as 100ms.
func ParseLimit(text string) (Limit, error) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= maxVisits {
		return Limit{Visits: n}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= time.Millisecond && d <= maxTime {
		return Limit{Time: d}, nil
	}
	return Limit{}, fmt.Errorf("limit %q: want visits, 1 to %d, or a time for each move, 1ms to %v, as in 100 or 100ms", text, maxVisits, maxTime)
}

// String is as people write it: "1 visit", "100 visits", "100ms".
func (l Limit) String() string {
	switch {
	case l.Time > 0:
		return l.Time.String()
	case l.Visits == 1:
		return "1 visit"
	}
	return strconv.Itoa(l.Visits) + " visits"
}

// MarshalText implements encoding.TextMarshaler.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Limit) UnmarshalText(text []byte) (err error) {
	visits, _, _ := strings.Cut(string(text), " ")
	*l, err = ParseLimit(visits)
	return err
}
