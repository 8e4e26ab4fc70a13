package monitor

import "time"

// SchemaVersion is the version of the events that this package writes. Readers
// accept it and older ones; new fields do not raise it, changed meanings do.
const SchemaVersion = 1

// Type names an event in its JSON form.
type Type string

// The event types.
const (
	TypeRun         Type = "run"
	TypeStage       Type = "stage"
	TypeEpisode     Type = "episode"
	TypeStep        Type = "step"
	TypeValidation  Type = "validation"
	TypeLoaderStage Type = "loader_stage"
	TypeSelfPlay    Type = "selfplay"
	TypeLiveMove    Type = "live_move"
	TypeNet         Type = "net"
	TypeGate        Type = "gate"
	TypeAlarm       Type = "alarm"
	TypePlugin      Type = "plugin"
	TypeLogLine     Type = "log"
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

// Transient says whether an event is only shown and never stored in
// metrics.jsonl.
func Transient(e Event) bool {
	t := e.EventType()
	return t == TypeLiveMove || t == TypeLogLine
}

// newEvent returns an empty event of a type, nil if there is no such type.
func newEvent(t Type) Event {
	switch t {
	case TypeRun:
		return &Run{}
	case TypeStage:
		return &Stage{}
	case TypeEpisode:
		return &Episode{}
	case TypeStep:
		return &Step{}
	case TypeValidation:
		return &Validation{}
	case TypeLoaderStage:
		return &LoaderStage{}
	case TypeSelfPlay:
		return &SelfPlay{}
	case TypeLiveMove:
		return &LiveMove{}
	case TypeNet:
		return &Net{}
	case TypeGate:
		return &Gate{}
	case TypeAlarm:
		return &Alarm{}
	case TypePlugin:
		return &Plugin{}
	case TypeLogLine:
		return &LogLine{}
	}
	return nil
}

// EventType implements Event.
func (*Run) EventType() Type         { return TypeRun }
func (*Stage) EventType() Type       { return TypeStage }
func (*Episode) EventType() Type     { return TypeEpisode }
func (*Step) EventType() Type        { return TypeStep }
func (*Validation) EventType() Type  { return TypeValidation }
func (*LoaderStage) EventType() Type { return TypeLoaderStage }
func (*SelfPlay) EventType() Type    { return TypeSelfPlay }
func (*LiveMove) EventType() Type    { return TypeLiveMove }
func (*Net) EventType() Type         { return TypeNet }
func (*Gate) EventType() Type        { return TypeGate }
func (*Alarm) EventType() Type       { return TypeAlarm }
func (*Plugin) EventType() Type      { return TypePlugin }
func (*LogLine) EventType() Type     { return TypeLogLine }
