package monitor

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Number is a float64 that JSON can hold even where it is not finite: those are
// the strings "NaN", "+Inf" and "-Inf".
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) (err error) {
	var f float64
	switch s := string(b); s {
	case `"NaN"`, `"+Inf"`, `"-Inf"`:
		f, err = strconv.ParseFloat(s[1:len(s)-1], 64)
	default:
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return fmt.Errorf("number: %w", err)
	}
	*n = Number(f)
	return nil
}

// Numbers are named numbers, such as losses by metric name.
type Numbers map[string]Number

// Names returns the names in alphabetical order.
func (n Numbers) Names() []string { return slices.Sorted(maps.Keys(n)) }

// Count is n things in words for a person: "1 net", "2 nets", "0 matches". one is
// the word for a single thing.
func Count[N int | int32 | int64 | uint64](n N, one string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(one, "ch"):
		one += "es"
	default:
		one += "s"
	}
	return fmt.Sprint(n) + " " + one
}
