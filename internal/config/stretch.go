package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxStretch is the most that a file is stretched, and 1 / maxStretch the least.
const maxStretch = 1000

// stretch returns f for a run of factor times its length: numbers of games, steps and rows
// that belong to the length, and schedules by such numbers, are multiplied. What is not 0
// does not become 0.
func (f *File) stretch(factor float64) (*File, error) {
	bad := func(reason, remedy string) error {
		return &Error{Where: "--stretch", Reason: reason, Remedy: remedy}
	}
	switch {
	case !(factor >= 1.0/maxStretch && factor <= maxStretch): // nor not a number
		return nil, bad(fmt.Sprintf("%g is not within %g to %d", factor, 1.0/maxStretch, maxStretch), "0.5 is half as long")
	case f == nil:
		return nil, bad("there is nothing to stretch: a run keeps its length", "name what it shall be made of with --recipe or --config")
	case f.Config.GetTraining().GetSteps() == 0 && !says(f.Config, "selfplay.episodes"):
		return nil, bad(f.Name+" says neither selfplay.episodes nor training.steps, the length of a run", "leave it away")
	}
	s := *f
	s.Name += fmt.Sprintf(" x %g", factor)
	s.Config = proto.CloneOf(f.Config)
	stretch(s.Config.ProtoReflect(), factor)
	return &s, nil
}

// stretch multiplies what m says of a run's length.
func stretch(m protoreflect.Message, factor float64) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		long := proto.GetExtension(fd.Options(), E_Length).(bool)
		switch {
		case fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				if e := v.List().Get(i); fd.Message() != nil {
					stretch(e.Message(), factor)
				} else if long {
					v.List().Set(i, stretched(fd, e, factor))
				}
			}
		case fd.Message() != nil:
			stretch(v.Message(), factor)
		case long:
			m.Set(fd, stretched(fd, v, factor))
		}
		return true
	})
}

// ages are the numbers of a schedule that say when.
var ages = regexp.MustCompile(`@\d+\b`)

// stretched is a value of a field of whole numbers or of a schedule.
func stretched(fd protoreflect.FieldDescriptor, v protoreflect.Value, factor float64) protoreflect.Value {
	if fd.Kind() == protoreflect.StringKind {
		return protoreflect.ValueOfString(ages.ReplaceAllStringFunc(v.String(), func(age string) string {
			n, err := strconv.ParseInt(age[1:], 10, 64)
			if err != nil {
				return age // the schedule's own parser says it better
			}
			return "@" + strconv.FormatInt(times(n, factor), 10)
		}))
	}
	return protoreflect.ValueOfInt64(times(v.Int(), factor))
}

// times is n * factor, rounded, and not 0 where n is not.
func times(n int64, factor float64) int64 {
	if n == 0 {
		return 0
	}
	return max(1, int64(math.Round(min(float64(n)*factor, 1<<62))))
}
