package monitor

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	reflect.TypeFor[*Measure]():    "measure",
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

// MaxLine is the longest line of metrics.jsonl that is read, in bytes.
const MaxLine = 1 << 20

// Errors of Decode and Replay.
var (
	ErrVersion     = errors.New("event of a newer schema version")
	ErrUnknownType = errors.New("unknown event type")
)

// CorruptError says where a metrics or event file cannot be read.
type CorruptError struct {
	Path   string // empty for a stream
	Offset int64  // bytes
	Line   int64  // from 1; 0 = no line is bad
	Reason string
}

// CutOut is what to do about a line that is bad.
const CutOut = "cut the line out to read the rest, or move the file away: a run goes on without it"

func (e *CorruptError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s; %s", cmp.Or(e.Path, "events"), e.Line, e.Reason, CutOut)
	}
	return fmt.Sprintf("%s: offset %d: %s", cmp.Or(e.Path, "events"), e.Offset, e.Reason)
}

// AppendJSON appends the event as one JSON line, newline included.
func AppendJSON(dst []byte, e Event) ([]byte, error) {
	line, err := json.Marshal(e)
	if err != nil {
		return dst, fmt.Errorf("encode event %s: %w", e.Head().Type, err)
	}
	dst = append(dst, line...)
	return append(dst, '\n'), nil
}

// Decode reads one line. It returns ErrVersion for a newer schema and
// ErrUnknownType for a type that this build does not know.
func Decode(line []byte) (Event, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	if h.V > SchemaVersion {
		return nil, fmt.Errorf("%w: %d, known are up to %d", ErrVersion, h.V, SchemaVersion)
	}
	e := newEvent(h.Type)
	if e == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownType, h.Type)
	}
	if err := json.Unmarshal(line, e); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", h.Type, err)
	}
	return e, nil
}

// ReplayInfo says what Replay met.
type ReplayInfo struct {
	Events  int64
	Unknown int64  // events of types that this build does not know, skipped
	Bytes   int64  // of whole lines
	Torn    int64  // bytes of an unfinished last line, skipped
	Seq     uint64 // of the last event
}

// Replay reads metrics.jsonl from r and calls fn with each event in order, until
// it returns an error. A torn last line is skipped and reported; any other line
// that is not an event is a *CorruptError.
func Replay(r io.Reader, fn func(Event) error) (ReplayInfo, error) {
	var info ReplayInfo
	in := bufio.NewReaderSize(r, MaxLine)
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			info.Torn = int64(len(line))
			return info, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return info, &CorruptError{Offset: info.Bytes, Line: info.Events + info.Unknown + 1, Reason: fmt.Sprintf("a line of more than %d bytes", MaxLine)}
		case err != nil:
			return info, fmt.Errorf("read events: %w", err)
		}
		e, err := Decode(line)
		switch {
		case errors.Is(err, ErrUnknownType):
			info.Unknown++
		case errors.Is(err, ErrVersion):
			return info, err
		case err != nil:
			return info, &CorruptError{Offset: info.Bytes, Line: info.Events + info.Unknown + 1, Reason: err.Error()}
		default:
			info.Events++
			info.Seq = e.Head().Seq
			if err := fn(e); err != nil {
				return info, err
			}
		}
		info.Bytes += int64(len(line))
	}
}
