package monitor

import (
	"reflect"
	"time"
)

// SchemaVersion is the version of the events that this package writes. Readers
// accept it and older ones; new fields do not raise it, changed meanings do.
const SchemaVersion = 1

// Type names an event in its JSON form.
type Type string

// The event types.
const (
	TypeRun        Type = "run"
	TypeStage      Type = "stage"
	TypeEpisode    Type = "episode"
	TypeStep       Type = "step"
	TypeValidation Type = "validation"
	TypeSelfPlay   Type = "selfplay"
	TypeNet        Type = "net"
	TypeGate       Type = "gate"
	TypeAlarm      Type = "alarm"
	TypePlugin     Type = "plugin"
)

// Event is one of the event structs of this package, by pointer. An event must
// not be changed once it is published: readers share it.
type Event interface {
	// Head returns the fields that every event has.
	Head() *Header
	// EventType returns the type that the struct is written as.
	EventType() Type
}

// Header is what every event begins with. The Bus fills in what is zero.
type Header struct {
	V    int       `json:"v"`    // SchemaVersion of the writer
	Type Type      `json:"type"` // which struct it is
	Seq  uint64    `json:"seq"`  // 1, 2, ...; goes on after a resume
	Time time.Time `json:"time"` // when it happened, UTC
	Job  string    `json:"job"`  // job id of the run
}

// Head implements Event.
func (h *Header) Head() *Header { return h }

// known are the events, one of each type.
var known = []Event{&Run{}, &Stage{}, &Episode{}, &Step{}, &Validation{}, &SelfPlay{}, &Net{}, &Gate{}, &Alarm{}, &Plugin{}}

// newEvent returns an empty event of a type, nil if there is no such type.
func newEvent(t Type) Event {
	for _, e := range known {
		if e.EventType() == t {
			return reflect.New(reflect.TypeOf(e).Elem()).Interface().(Event)
		}
	}
	return nil
}

// EventType implements Event.
func (*Run) EventType() Type        { return TypeRun }
func (*Stage) EventType() Type      { return TypeStage }
func (*Episode) EventType() Type    { return TypeEpisode }
func (*Step) EventType() Type       { return TypeStep }
func (*Validation) EventType() Type { return TypeValidation }
func (*SelfPlay) EventType() Type   { return TypeSelfPlay }
func (*Net) EventType() Type        { return TypeNet }
func (*Gate) EventType() Type       { return TypeGate }
func (*Alarm) EventType() Type      { return TypeAlarm }
func (*Plugin) EventType() Type     { return TypePlugin }
