package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/cycle"
)

// Order is what a reader who may asks of a process of the run.
type Order struct {
	Role    string   `json:"role"` // of the process
	Command string   `json:"command"`
	Swap    run.Swap `json:"swap"` // of swap-plugin
}

// commands are those that a page may give.
var commands = []string{"stop", "checkpoint-now", "start-training-now", "swap-plugin"}

// orderBytes is the longest order.
const orderBytes = 1 << 16

// Give gives an order and returns the process's answer.
func (s *Source) Give(ctx context.Context, o Order) (string, error) {
	if !slices.Contains(commands, o.Command) {
		return "", &QuestionError{fmt.Sprintf("command %q: want one of %q", o.Command, commands)}
	}
	m := run.Message{Type: o.Command}
	if o.Command == "swap-plugin" {
		m = o.Swap.Message()
	}
	answer, err := cycle.Tell(ctx, s.opt.Dir.Root, o.Role, m)
	if err != nil {
		return "", &QuestionError{err.Error()} // the process is gone, or refuses it
	}
	var text string
	err = json.Unmarshal(answer.Payload, &text)
	return text, err
}

// order takes an order from the page. A form of another site cannot send JSON, and its
// scripts are refused by guarded.
func (s *Source) order(r *http.Request) (any, error) {
	if r.Header.Get("Content-Type") != "application/json" {
		return nil, &QuestionError{"an order is JSON"}
	}
	in := json.NewDecoder(http.MaxBytesReader(nil, r.Body, orderBytes))
	in.DisallowUnknownFields()
	var o Order
	if err := in.Decode(&o); err != nil {
		return nil, &QuestionError{"an order that cannot be read: " + err.Error()}
	}
	text, err := s.Give(r.Context(), o)
	return map[string]string{"answer": text}, err
}
