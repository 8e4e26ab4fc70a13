package monitor

import (
	"reflect"
	"time"
)

// SchemaVersion is the version of the events that this package writes. Readers
// accept it and older ones; new fields do not raise it, changed meanings do.
const SchemaVersion = 1

// Event is one of the event structs of this package, by pointer. An event must
// not be changed once it is published: readers share it.
type Event interface {
	// Head returns the fields that every event has.
	Head() *Header
}

// Header is what every event begins with. The Bus fills in what is zero.
type Header struct {
	V    int       `json:"v"`    // SchemaVersion of the writer
	Type string    `json:"type"` // which struct it is
	Seq  uint64    `json:"seq"`  // 1, 2, ...; goes on after a resume
	Time time.Time `json:"time"` // when it happened, UTC
	Job  string    `json:"job"`  // job id of the run
}

// Head implements Event.
func (h *Header) Head() *Header { return h }

// types names the event structs in their JSON form.
var types = map[reflect.Type]string{
	reflect.TypeFor[*Run]():        "run",
	reflect.TypeFor[*Stage]():      "stage",
	reflect.TypeFor[*Episode]():    "episode",
	reflect.TypeFor[*Step]():       "step",
	reflect.TypeFor[*Validation](): "validation",
	reflect.TypeFor[*SelfPlay]():   "selfplay",
	reflect.TypeFor[*Net]():        "net",
	reflect.TypeFor[*Gate]():       "gate",
	reflect.TypeFor[*Alarm]():      "alarm",
	reflect.TypeFor[*Plugin]():     "plugin",
}

// newEvent returns an empty event of a type, nil if there is no such type.
func newEvent(name string) Event {
	for t, of := range types {
		if of == name {
			return reflect.New(t.Elem()).Interface().(Event)
		}
	}
	return nil
}
