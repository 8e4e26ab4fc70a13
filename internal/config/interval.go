package config

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// interval is the values that a number may have. Both ends are allowed unless open.
type interval struct {
	text              string // as the schema writes it
	low, high         float64
	lowOpen, highOpen bool
}

// parseInterval reads an interval: "[1,65536]", "(0,1]", "[-1,0)".
func parseInterval(text string) (interval, error) {
	inner := strings.TrimLeft(strings.TrimRight(text, "])"), "[(")
	left, right, ok := strings.Cut(inner, ",")
	low, lowErr := strconv.ParseFloat(left, 64)
	high, highErr := strconv.ParseFloat(right, 64)
	if !ok || lowErr != nil || highErr != nil || len(inner)+2 != len(text) || low > high {
		return interval{}, fmt.Errorf("range %q is not an interval such as [1,65536] or (0,1]", text)
	}
	return interval{text, low, high, text[0] == '(', strings.HasSuffix(text, ")")}, nil
}

func (b interval) holds(x float64) bool {
	return (x > b.low || x == b.low && !b.lowOpen) && (x < b.high || x == b.high && !b.highOpen)
}

// remedy says in words which numbers are allowed.
func (b interval) remedy() string {
	above, below := "from ", " up to "
	if b.lowOpen {
		above = "above "
	}
	if b.highOpen {
		below = " and below "
	}
	return "allowed is " + above + strconv.FormatFloat(b.low, 'f', -1, 64) + below + strconv.FormatFloat(b.high, 'f', -1, 64)
}

// intervalOf returns the range of a field. Every number of the schema has one; a
// text that is no interval is a fault of the schema and panics.
func intervalOf(fd protoreflect.FieldDescriptor) (b interval, ok bool) {
	text := proto.GetExtension(fd.Options(), E_Range).(string)
	if text == "" {
		return b, false
	}
	b, err := parseInterval(text)
	if err != nil {
		panic(fmt.Sprintf("config: %s: %v", fd.FullName(), err))
	}
	return b, true
}
