package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/run"
)

// told is a standard error that takes one message.
type told struct {
	bytes.Buffer
	first chan struct{}
}

func (w *told) Write(b []byte) (int, error) {
	defer close(w.first) // twice is a panic
	return w.Buffer.Write(b)
}

// TestCtlWaits: a wait for an answer is explained once, and ends with the answer, with the
// process, or at Ctrl-C.
func TestCtlWaits(t *testing.T) {
	within := answersWithin
	t.Cleanup(func() { answersWithin = within })
	answers := func(_ *run.Process, answer chan<- any, _ func()) { answer <- 1 }
	for _, c := range []struct {
		name     string
		within   time.Duration
		act      func(p *run.Process, answer chan<- any, interrupt func())
		out, err string
	}{
		{"answers at once", time.Hour, answers, "{\"type\":\"status\",\"payload\":1}\n", "<nil>"},
		{"answers late", 1, answers, "{\"type\":\"status\",\"payload\":1}\n", "<nil>"},
		{"ends meanwhile", 1, func(p *run.Process, _ chan<- any, _ func()) { p.Close(nil) }, "", "read the answer to status: the process ended before it answered"},
		{"never answers", 1, func(_ *run.Process, _ chan<- any, interrupt func()) { interrupt() }, "", "context canceled"},
	} {
		root, answer, asked, acted := t.TempDir(), make(chan any), make(chan struct{}), make(chan struct{})
		status := func() any {
			close(asked)
			return <-answer
		}
		p, err := run.Open(t.Context(), run.Dir{Root: root}, run.Rater, run.Options{Commands: &run.Commands{Status: status}})
		if err != nil {
			t.Fatal(err)
		}
		answersWithin = c.within
		ctx, interrupt := context.WithCancel(t.Context())
		var out bytes.Buffer
		says, want := &told{first: make(chan struct{})}, ""
		if c.within == 1 {
			want = fmt.Sprintf("chessbrain: process %d has not answered for 1ns: it is suspended, or in a long step; Ctrl-C ends the wait\n", os.Getpid())
		}
		go func() {
			<-asked
			if want != "" {
				<-says.first
			}
			c.act(p, answer, interrupt)
			close(acted)
		}()
		command := newRoot()
		command.SetArgs([]string{"ctl", root, "status", "--role", string(run.Rater)})
		command.SetOut(&out)
		command.SetErr(says)
		err = command.ExecuteContext(ctx)
		if fmt.Sprint(err) != c.err || out.String() != c.out || says.String() != want {
			t.Errorf("%s: %v, printed %q, said %q", c.name, err, out.String(), says.String())
		}
		close(answer)
		<-acted
		if err := p.Close(nil); err != nil {
			t.Error(err)
		}
		interrupt()
	}
}
