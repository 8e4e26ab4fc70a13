package daemon

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/train"
)

// protocolVersion is raised when the meaning of a message changes; new types and
// fields do not raise it.
const protocolVersion = 1

// Types of messages that come in.
const (
	startTraining = "start_training"
	startNow      = "start_training_immediately"
	askStatus     = "status"
	askCheckpoint = "checkpoint_now"
	askStop       = "stop"
)

var incoming = []string{startTraining, startNow, askStatus, askCheckpoint, askStop}

// Types of messages that go out.
const (
	hello            = "hello"
	ack              = "ack"
	failure          = "error"
	trainingStatus   = "training_status"
	trainingStarted  = "training_started"
	trainingFinished = "training_finished"
	eventMessage     = "event" // payload: a monitor.Event
	gateMessage      = "gate"  // payload: the gatekeeper's result.json
)

// helloPayload says who speaks.
type helloPayload struct {
	Version  string   `json:"version"`
	Protocol int      `json:"protocol"`
	Takes    []string `json:"takes"` // types that it understands
}

// answerPayload is that of ack and of error. An error that answers no line has
// line 0.
type answerPayload struct {
	Line    int    `json:"line"`          // of the input, 1 = the first
	For     string `json:"for,omitempty"` // type of that line
	Message string `json:"message"`
}

// startedPayload is that of training_started.
type startedPayload struct {
	ConfigFilepath string `json:"config_filepath"`
	RunDir         string `json:"run_dir"`
}

// finishedPayload is that of training_finished.
type finishedPayload struct {
	Reason  string `json:"reason"`            // done, interrupted (saved; the same configuration goes on), or failed
	Message string `json:"message,omitempty"` // of the error
	Summary string `json:"summary,omitempty"`
}

// scheduleData is lczero's TrainingScheduleData.
type scheduleData struct {
	CurrentStage string  `json:"current_stage"`        // "WAITING FOR DATA" or "TRAINING"
	Uptime       float64 `json:"total_uptime_seconds"` // of the daemon
	train.SchedulePage
}

// statusPayload is that of training_status: lczero's fields, which are absent
// where there is nothing to say, and ours.
type statusPayload struct {
	UpdateSecs       *float64       `json:"dataloader_update_secs,omitempty"` // that the totals cover
	OneSecond        *loaderMetrics `json:"dataloader_1_second,omitempty"`    // of the last complete second
	Total            *loaderMetrics `json:"dataloader_total,omitempty"`       // since the loader's start
	TrainingSchedule *scheduleData  `json:"training_schedule,omitempty"`

	*ownStatus
}

// ownStatus is what lczero's status does not have.
type ownStatus struct {
	Version        string          `json:"version"`
	State          string          `json:"state"` // idle, training or stopping
	ConfigFilepath string          `json:"config_filepath,omitempty"`
	Job            string          `json:"job,omitempty"`
	Net            string          `json:"net,omitempty"` // newest saved or exported
	Stage          string          `json:"stage,omitempty"`
	Step           int64           `json:"step"`            // optimizer steps done
	Steps          int64           `json:"steps,omitempty"` // asked for; absent = no such limit
	StepsLeft      int64           `json:"network_steps_left,omitempty"`
	Networks       int64           `json:"networks,omitempty"` // finished in the whole run
	Samples        int64           `json:"samples,omitempty"`  // rows trained on
	Losses         monitor.Numbers `json:"losses,omitempty"`   // of the newest step
	Loss           *monitor.Number `json:"loss,omitempty"`
	Validation     monitor.Numbers `json:"validation,omitempty"`
	LR             *monitor.Number `json:"lr,omitempty"`
	GradNorm       *monitor.Number `json:"grad_norm,omitempty"`
	StepsPerSecond *monitor.Number `json:"steps_per_second,omitempty"`
	RowsPerSecond  *monitor.Number `json:"rows_per_second,omitempty"`
	ETASeconds     *float64        `json:"eta_seconds,omitempty"` // to the end of the net under way, or else of all steps asked for
	Skipped        int64           `json:"skipped_steps,omitempty"`
	Dropped        int64           `json:"dropped_messages,omitempty"` // that nobody read in time
}

// parse reads a line and the payload that its type wants: that of start_training names
// a configuration.
func parse(line []byte) (kind, config string, err error) {
	var m run.Message
	if err := run.StrictJSON(line, &m); err != nil {
		return "", "", fmt.Errorf(`not a line {"type", "payload"}: %w`, err)
	}
	payload := bytes.TrimSpace(m.Payload)
	if len(payload) == 0 || bytes.Equal(payload, []byte("null")) {
		payload = []byte("{}")
	}
	switch m.Type {
	case startTraining:
		var start struct {
			ConfigFilepath string `json:"config_filepath"`
		}
		if err := run.StrictJSON(payload, &start); err != nil {
			return m.Type, "", fmt.Errorf(`want a payload {"config_filepath": FILE}: %w`, err)
		}
		if config = start.ConfigFilepath; config == "" {
			return m.Type, "", errors.New("config_filepath is missing: name the configuration file (textproto)")
		}
	case startNow, askStatus, askCheckpoint, askStop:
		if err := run.StrictJSON(payload, &struct{}{}); err != nil {
			return m.Type, "", fmt.Errorf("want an empty payload {}: %w", err)
		}
	case "":
		return "", "", fmt.Errorf("type is missing; known: %q", incoming)
	default:
		return m.Type, "", fmt.Errorf("unknown type %q; known: %q", m.Type, incoming)
	}
	return m.Type, config, nil
}
