package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/train"
)

const (
	// statusEvery is the time between two training_status messages: lczero's.
	statusEvery = 1100 * time.Millisecond
	// gateTicks is how many of those lie between two looks for matches.
	gateTicks = 9
	// eventQueue is how many events may wait to be written.
	eventQueue = 256
)

// Training is one training that is ready to begin.
type Training struct {
	RunDir string
	Steps  int64 // optimizer steps asked for; 0 = no such limit
	// Run trains until all is done or ctx ends, and returns a summary in words.
	Run func(ctx context.Context, h Hooks) (summary string, err error)
}

// Hooks tie a training to the daemon.
type Hooks struct {
	Sink     monitor.Sink     // gets the run's events
	Commands func(train.Live) // is called once the run takes commands
}

// Options start a daemon.
type Options struct {
	In      io.Reader // its end stops the daemon
	Out     io.Writer // nothing but messages is written there
	Version string    // of the program
	Config  string    // configuration to start with at once; "" = start_training says
	Plain   bool      // write training_status with lczero's fields only
	Log     *slog.Logger

	// Prepare reads and checks a configuration. Its error goes to who sent it.
	Prepare func(config string) (*Training, error)

	ticks <-chan time.Time // of the status, for tests; nil = every statusEvery
	now   func() time.Time // for tests; nil = time.Now
}

// server is a running daemon. One goroutine uses it.
type server struct {
	opt     Options
	began   time.Time
	out     *writer
	events  chan monitor.Event
	job     *job  // under way; nil = none
	last    error // of the training that ended last
	started int   // trainings begun
	gates   gates
	ticked  int
}

// Run serves until the input ends or ctx does. A training under way is stopped
// then and saves its state. It returns what the last training returned, nil
// where there was none. The goroutine that reads In ends with In alone.
func Run(ctx context.Context, opt Options) error {
	if opt.now == nil {
		opt.now = time.Now
	}
	ticks := cmp.Or(opt.ticks, time.Tick(statusEvery))
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	s := &server{opt: opt, began: opt.now(), out: newWriter(opt.Out, hangUp), events: make(chan monitor.Event, eventQueue)}
	defer s.out.close()
	s.send(hello, helloPayload{Version: opt.Version, Protocol: protocolVersion, Takes: incoming})
	if opt.Config != "" {
		s.start(ctx, line{kind: startTraining, config: opt.Config})
	}
	lines := make(chan line)
	go read(ctx, opt.In, lines, hangUp)
	ending := ctx.Done()
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			s.handle(ctx, l)
		case <-ticks:
			s.tick()
		case e := <-s.events:
			s.send(eventMessage, e)
		case <-s.job.finished():
			s.finish()
		case <-ending:
			ending = nil
		}
		if ctx.Err() != nil && s.job == nil {
			return s.last
		}
	}
}

// send queues a message. A plain daemon logs what it does not send.
func (s *server) send(kind string, payload any) {
	if s.opt.Plain && kind != trainingStatus {
		if a, ok := payload.(answerPayload); ok && kind == failure {
			s.opt.Log.Warn(a.Message, "line", a.Line, "type", a.For)
		}
		return
	}
	raw, err := json.Marshal(payload)
	if err != nil { // of an event that holds what JSON cannot: say so in its place
		kind, raw = failure, []byte(`{"line":0,"message":"a message of type `+kind+` cannot be encoded"}`)
	}
	text, err := json.Marshal(run.Message{Type: kind, Payload: raw})
	if err == nil {
		s.out.send(append(text, '\n'))
	}
}

func (s *server) answer(kind string, l line, text string) {
	s.send(kind, answerPayload{Line: l.number, For: l.kind, Message: text})
}

// handle does what a line asks for and answers it.
func (s *server) handle(ctx context.Context, l line) {
	switch {
	case l.err != nil:
		s.answer(failure, l, l.err.Error())
	case l.kind == askStatus:
		s.send(trainingStatus, s.status())
	case l.kind == startTraining:
		s.start(ctx, l)
	case s.job == nil:
		s.answer(failure, l, "no training is under way: send start_training first")
	default:
		text, err := s.job.do(l.kind)
		if err != nil {
			s.answer(failure, l, err.Error())
			return
		}
		s.answer(ack, l, text)
	}
}

// start begins a training.
func (s *server) start(ctx context.Context, l line) {
	if s.job != nil {
		s.answer(failure, l, "a training with "+s.job.config+" is under way: send stop and wait for training_finished first")
		return
	}
	if ctx.Err() != nil && s.started > 0 {
		s.answer(failure, l, "the daemon is ending")
		return
	}
	training, err := s.opt.Prepare(l.config)
	if err != nil {
		s.answer(failure, l, strings.TrimSpace(err.Error()))
		if s.opt.Config != "" && s.started == 0 {
			s.last = err // nobody may have sent it
		}
		return
	}
	s.started++
	s.answer(ack, l, "the training begins")
	s.send(trainingStarted, startedPayload{ConfigFilepath: l.config, RunDir: training.RunDir})
	s.gates.open(training.RunDir)
	s.job = begin(ctx, l.config, training, s.events)
}

// finish tells how a training ended.
func (s *server) finish() {
	j := s.job
	for len(s.events) > 0 {
		s.send(eventMessage, <-s.events)
	}
	end := finishedPayload{Reason: "done", Summary: strings.TrimSpace(j.summary)}
	switch {
	case errors.Is(j.err, run.ErrInterrupted):
		end.Reason, end.Message = "interrupted", j.err.Error()
	case j.err != nil:
		end.Reason, end.Message = "failed", j.err.Error()
		s.opt.Log.Error("the training failed", "error", j.err)
	}
	s.job, s.last = nil, j.err
	s.send(trainingFinished, end)
	s.send(trainingStatus, s.status())
}

// tick sends the status, and what the gatekeeper has decided meanwhile.
func (s *server) tick() {
	s.send(trainingStatus, s.status())
	if s.ticked++; s.job == nil || s.ticked%gateTicks != 0 {
		return
	}
	for _, result := range s.gates.fresh() {
		s.send(gateMessage, result)
	}
}

// gates watches the matches of a run's gatekeeper, which is another process:
// each leaves RUN/gatekeeper/<net>/result.json when it has decided.
type gates struct {
	dir  run.Dir
	seen map[string]bool // nets whose result is known
}

// open begins with what is decided already, which is not told again.
func (g *gates) open(root string) {
	*g = gates{dir: run.Dir{Root: root}, seen: map[string]bool{}}
	g.fresh()
}

// fresh returns the results that are new, by the nets' names. One that is not
// there yet, or not JSON, is looked for again.
func (g *gates) fresh() (results []json.RawMessage) {
	nets, err := os.ReadDir(g.dir.Gates())
	if err != nil {
		return nil // there is no gatekeeper, or not yet
	}
	for _, net := range nets {
		if g.seen[net.Name()] {
			continue
		}
		data, err := fsx.ReadFile(fsx.OS, g.dir.GateResult(net.Name()))
		if err != nil || !json.Valid(data) {
			continue
		}
		g.seen[net.Name()] = true
		results = append(results, data)
	}
	return results
}
