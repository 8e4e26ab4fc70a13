package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/train"
)

// talk is a daemon under test, seen from the program that runs it.
type talk struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Scanner
	close func() // of the daemon's output: nobody reads any more
	ticks chan time.Time
	ended chan error
	log   strings.Builder
}

// startDaemon runs a daemon whose trainings are made by prepare.
func startDaemon(t *testing.T, ctx context.Context, o Options) *talk {
	t.Helper()
	in, inWriter := io.Pipe()
	outReader, out := io.Pipe()
	d := &talk{t: t, in: inWriter, out: bufio.NewScanner(outReader), close: func() { outReader.Close() },
		ticks: make(chan time.Time), ended: make(chan error, 1)}
	d.out.Buffer(nil, 1<<20)
	o.In, o.Out, o.Version, o.ticks = in, out, "1.2.3", d.ticks
	o.Log = slog.New(slog.NewTextHandler(&d.log, nil))
	go func() { d.ended <- Run(ctx, o) }()
	t.Cleanup(func() { inWriter.Close(); outReader.Close() })
	return d
}

func (d *talk) say(line string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		d.t.Fatal(err)
	}
}

// next returns the next message.
func (d *talk) next() (m run.Message) {
	d.t.Helper()
	if !d.out.Scan() {
		d.t.Fatalf("the daemon says nothing more: %v", d.out.Err())
	}
	if err := run.StrictJSON(d.out.Bytes(), &m); err != nil {
		d.t.Fatalf("%s: %v", d.out.Bytes(), err)
	}
	return m
}

// expect wants a message of a type whose payload has the text.
func (d *talk) expect(kind, text string) run.Message {
	d.t.Helper()
	m := d.next()
	if m.Type != kind || !strings.Contains(string(m.Payload), text) {
		d.t.Fatalf("%s %s, want %s with %q", m.Type, m.Payload, kind, text)
	}
	return m
}

// endless is a training that runs until it is stopped; begun gets its hooks.
func endless(begun chan<- Hooks) func(string) (*Training, error) {
	return func(string) (*Training, error) {
		return &Training{RunDir: "nowhere", Steps: 1000, Run: func(ctx context.Context, h Hooks) (string, error) {
			begun <- h
			<-ctx.Done()
			return "so many steps", run.ErrInterrupted
		}}, nil
	}
}

// testCommands are those of a run that waits for chunks.
func testCommands(asked chan<- string) train.Live {
	return train.Live{Commands: run.Commands{
		Status:     func() any { return train.Page{Job: "job", Stage: "waiting", Net: "job-main-s0-d0", Step: 7} },
		Checkpoint: func() { asked <- "checkpoint" },
		StartNow:   func() error { asked <- "now"; return nil }},
		Loader: func() loader.Stats {
			return loader.Stats{Seconds: 12.5, Stages: []loader.StageStats{{Name: "pool", Kind: "shuffling_chunk_pool",
				Outputs:  []loader.OutputStats{{Name: "pool", QueueStats: loader.QueueStats{Capacity: 4, Length: 3, Puts: 100, Gets: 97, Drops: 0}, Passed: []uint64{9, 20}}},
				Counters: []loader.Counter{{Name: "chunks_handed_on", Value: 100}, {Name: "chunks_in_pool", Value: 8, Gauge: true}}}}}
		},
		Schedule: func() train.SchedulePage {
			return train.SchedulePage{Waiting: true, Networks: 5, FinishedHere: 2, StepsPerNetwork: 250, NewChunks: 30, ChunksToWait: 50,
				ChunksPerSecond: 4, LastTrainingSeconds: 60, CycleSeconds: 7, LastCycleSeconds: 80}
		},
	}
}

// TestConversation goes through a training: start, status, commands, events, stop.
func TestConversation(t *testing.T) {
	begun, asked := make(chan Hooks), make(chan string, 10)
	d := startDaemon(t, t.Context(), Options{Prepare: endless(begun)})
	d.expect(hello, `{"version":"1.2.3","protocol":1,"takes":["start_training","start_training_immediately","status","checkpoint_now","stop"]}`)
	d.ticks <- time.Time{}
	d.expect(trainingStatus, `{"version":"1.2.3","state":"idle","step":0}`)
	d.say(`{"type":"start_training_immediately","payload":{}}`)
	d.expect(failure, `{"line":1,"for":"start_training_immediately","message":"no training is under way: send start_training first"}`)
	d.say(`{"type":"start_training","payload":{"config_filepath":"rl.textproto"}}`)
	d.expect(ack, `{"line":2,"for":"start_training","message":"the training begins"}`)
	d.expect(trainingStarted, `{"config_filepath":"rl.textproto","run_dir":"nowhere"}`)
	h := <-begun
	d.say(`{"type":"status"}`)
	d.expect(trainingStatus, `"stage":"starting"`)
	d.say(`{"type":"checkpoint_now","payload":null}`)
	d.expect(failure, "takes no commands yet")
	h.Commands(testCommands(asked))
	d.say(`{"type":"start_training","payload":{"config_filepath":"b"}}`)
	d.expect(failure, "a training with rl.textproto is under way")
	for kind, does := range map[string]string{"checkpoint_now": "checkpoint", "start_training_immediately": "now"} {
		d.say(`{"type":"` + kind + `"}`)
		d.expect(ack, kind)
		if got := <-asked; got != does {
			t.Errorf("%s: %s", kind, got)
		}
	}
	for _, e := range []monitor.Event{&monitor.Episode{}, &monitor.Net{Action: monitor.NetExported, NetID: "job-main-s9-d9"}} {
		if err := h.Sink.Handle(e); err != nil {
			t.Error(err)
		}
	}
	d.expect(eventMessage, `"action":"exported","net_id":"job-main-s9-d9"`) // and no episode before it
	d.say(`{"type":"stop","payload":{}}`)
	var kinds []string
	for len(kinds) < 3 {
		kinds = append(kinds, d.next().Type)
	}
	if got := strings.Join(kinds, " "); got != "ack training_finished training_status" {
		t.Errorf("after stop: %s", got)
	}
	d.in.Close()
	if err := <-d.ended; !errors.Is(err, run.ErrInterrupted) {
		t.Error(err)
	}
}

// TestStatus holds the fields of a status: lczero's, of its messages.py and
// training_metrics.proto, and ours.
func TestStatus(t *testing.T) {
	begun := make(chan Hooks)
	d := startDaemon(t, t.Context(), Options{Prepare: endless(begun), Config: "c"})
	d.expect(hello, "")
	d.expect(ack, `"line":0`)
	d.expect(trainingStarted, "")
	h := <-begun
	h.Commands(testCommands(nil))
	step := &monitor.Step{Step: 8, Samples: 64, Losses: monitor.Numbers{"policy_loss": 2.5}, Loss: 3, LR: 0.01, GradNorm: 0.5, Rates: monitor.Rates{StepsPerSecond: 2, RowsPerSecond: 16}}
	if err := h.Sink.Handle(step); err != nil {
		t.Fatal(err)
	}
	d.ticks <- time.Time{}
	var got map[string]any
	if err := json.Unmarshal(d.expect(trainingStatus, "").Payload, &got); err != nil {
		t.Fatal(err)
	}
	delete(got["training_schedule"].(map[string]any), "total_uptime_seconds")
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"config_filepath":"c","dataloader_1_second":{"stage_metrics":[{"name":"pool","queue_metrics":[{"drop_count":0,"get_count":9,"name":"pool","put_count":9,"queue_capacity":4,"queue_fullness":{"count":1,"latest":3,"max":3,"min":3,"sum":3}}]}]},` +
		`"dataloader_total":{"stage_metrics":[{"count_metrics":[{"count":100,"name":"chunks_handed_on"}],"gauge_metrics":[{"name":"chunks_in_pool","value":8}],"name":"pool","queue_metrics":[{"drop_count":0,"get_count":97,"name":"pool","put_count":100,"queue_capacity":4,"queue_fullness":{"count":1,"latest":3,"max":3,"min":3,"sum":3}}]}]},` +
		`"dataloader_update_secs":12.5,"eta_seconds":5,"grad_norm":0.5,"job":"job","loss":3,"losses":{"policy_loss":2.5},"lr":0.01,"net":"job-main-s0-d0","network_steps_left":250,"networks":5,"rows_per_second":16,"samples":64,"stage":"waiting","state":"training","step":7,"steps":1000,"steps_per_second":2,` +
		`"training_schedule":{"chunks_to_wait":50,"completed_epochs_since_start":2,"current_cycle_time_seconds":7,"current_stage":"WAITING FOR DATA","current_training_time_seconds":0,"new_chunks_since_training_start":30,"previous_cycle_time_seconds":80,"previous_training_time_seconds":60},"version":"1.2.3"}`
	if string(text) != want {
		t.Errorf("status\n%s\nwant\n%s", text, want)
	}
	d.in.Close()
	if m := d.next(); m.Type != trainingFinished || !strings.Contains(string(m.Payload), `"reason":"interrupted"`) || !strings.Contains(string(m.Payload), `"summary":"so many steps"`) {
		t.Errorf("%s %s", m.Type, m.Payload)
	}
}

// TestETA: of the net under way, of all steps, of the wait; none where nothing is
// known.
func TestETA(t *testing.T) {
	rate := monitor.Number(4)
	for name, c := range map[string]struct {
		own  ownStatus
		page *train.SchedulePage // nil = no schedule
		want float64             // -1 = not known
	}{
		"all steps":      {own: ownStatus{Step: 60, Steps: 100, StepsPerSecond: &rate}, want: 10},
		"no limit":       {own: ownStatus{Step: 60, StepsPerSecond: &rate}, want: -1},
		"no rate":        {own: ownStatus{Step: 60, Steps: 100}, want: -1},
		"net":            {own: ownStatus{StepsLeft: 20, Steps: 9999, StepsPerSecond: &rate}, page: &train.SchedulePage{}, want: 5},
		"chunks":         {page: &train.SchedulePage{Waiting: true, NewChunks: 10, ChunksToWait: 40, ChunksPerSecond: 3}, want: 10},
		"no chunks come": {page: &train.SchedulePage{Waiting: true, ChunksToWait: 40}, want: -1},
		"more than all":  {own: ownStatus{Step: 110, Steps: 100, StepsPerSecond: &rate}, want: 0},
	} {
		got := c.own.eta(c.page)
		if got == nil && c.want >= 0 || got != nil && *got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestBadLines: each bad line gets an error that says what is wrong, and the next
// one is heard.
func TestBadLines(t *testing.T) {
	d := startDaemon(t, t.Context(), Options{Prepare: func(string) (*Training, error) { return nil, errors.New("c.textproto:3:1: unknown field\n") }})
	d.expect(hello, "")
	for line, says := range map[string]string{
		`nonsense`: `not a line {\"type\", \"payload\"}`,
		`{"type":"start_training","payload":{}} {}`: "more than one JSON value",
		`{"payload":{}}`:                              "type is missing",
		`{"type":"dance","payload":{}}`:               `unknown type \"dance\"; known: [\"start_training\"`,
		`{"type":"start_training","payload":{}}`:      "config_filepath is missing",
		`{"type":"start_training"}`:                   "config_filepath is missing",
		`{"type":"start_training","payload":{"a":1}}`: `want a payload {\"config_filepath\": FILE}`,
		`{"type":"start_training","payload":[]}`:      "FILE}: it has the wrong type: array",
		`{"type":"stop","payload":{"now":true}}`:      "want an empty payload",
		`{"type":"stop","load":{}}`:                   "unknown field",
		`[1]`:                                         "not a line",
		strings.Repeat("x", maxLine+1):                "a line of more than 1048576 bytes",
		`{"type":"start_training","payload":{"config_filepath":"c.textproto"}}`: "c.textproto:3:1: unknown field",
	} {
		d.say("")   // empty lines do not count
		d.say(line) // the error is the only answer
		m := d.next()
		if m.Type != failure || !strings.Contains(string(m.Payload), says) {
			t.Errorf("%.60s: %s %s, want an error with %q", line, m.Type, m.Payload, says)
		}
	}
	d.say(`{"type":"status","payload":{}}`)
	d.expect(trainingStatus, `"state":"idle"`)
	d.in.Close()
	if err := <-d.ended; err != nil {
		t.Errorf("nothing was under way: %v", err)
	}
}

// TestEnd: a training ends by itself, fails, or is stopped by a signal or by an
// output that nobody reads; then Run returns what it returned.
func TestEnd(t *testing.T) {
	broken := errors.New("the disk is full")
	d := startDaemon(t, t.Context(), Options{Prepare: func(config string) (*Training, error) {
		return &Training{Run: func(context.Context, Hooks) (string, error) {
			if config == "bad" {
				return "", broken
			}
			return "all done", nil
		}}, nil
	}})
	d.expect(hello, "")
	for config, want := range map[string]string{"good": `{"reason":"done","summary":"all done"}`, "bad": `{"reason":"failed","message":"the disk is full"}`} {
		d.say(`{"type":"start_training","payload":{"config_filepath":"` + config + `"}}`)
		d.expect(ack, "")
		d.expect(trainingStarted, config)
		d.expect(trainingFinished, want)
		d.expect(trainingStatus, `"state":"idle"`)
	}
	d.in.Close()
	<-d.ended // with the error of whichever came last

	for name, stop := range map[string]func(*talk, context.CancelFunc){
		"signal":        func(_ *talk, cancel context.CancelFunc) { cancel() },
		"closed output": func(d *talk, _ context.CancelFunc) { d.close(); d.ticks <- time.Time{} },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		begun := make(chan Hooks, 1)
		d := startDaemon(t, ctx, Options{Prepare: endless(begun), Config: "c"})
		d.expect(hello, "")
		d.expect(ack, "")
		d.expect(trainingStarted, "")
		<-begun
		stop(d, cancel)
		go func() { // what is said at the end
			for d.out.Scan() {
			}
		}()
		if err := <-d.ended; !errors.Is(err, run.ErrInterrupted) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// TestStartNowEarly: who wants no wait before the run takes commands gets it then.
func TestStartNowEarly(t *testing.T) {
	begun, asked := make(chan Hooks), make(chan string, 1)
	d := startDaemon(t, t.Context(), Options{Prepare: endless(begun), Config: "c"})
	d.expect(hello, "")
	d.expect(ack, "")
	d.expect(trainingStarted, "")
	h := <-begun
	d.say(`{"type":"start_training_immediately","payload":{}}`)
	d.expect(ack, "without waiting")
	h.Commands(testCommands(asked))
	if got := <-asked; got != "now" {
		t.Error(got)
	}
	d.in.Close()
	d.expect(trainingFinished, "interrupted")
}

// TestPlain: nothing but lczero's status, in its fields; errors are logged.
func TestPlain(t *testing.T) {
	begun := make(chan Hooks)
	d := startDaemon(t, t.Context(), Options{Prepare: endless(begun), Plain: true})
	d.ticks <- time.Time{}
	if m := d.next(); m.Type != trainingStatus || string(m.Payload) != "{}" {
		t.Errorf("%s %s", m.Type, m.Payload)
	}
	d.say("nonsense")
	d.say(`{"type":"start_training","payload":{"config_filepath":"c"}}`)
	h := <-begun
	h.Commands(testCommands(nil))
	d.ticks <- time.Time{}
	m := d.next()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.Payload, &fields); err != nil || m.Type != trainingStatus {
		t.Fatal(m.Type, err)
	}
	for name := range fields {
		switch name {
		case "dataloader_update_secs", "dataloader_1_second", "dataloader_total", "training_schedule":
		default:
			t.Errorf("lczero's status has no %s", name)
		}
	}
	if len(fields) != 4 {
		t.Errorf("fields %v", fields)
	}
	d.in.Close()
	d.next()
	<-d.ended
	if !strings.Contains(d.log.String(), "not a line") {
		t.Errorf("the bad line is not in the log: %s", d.log.String())
	}
}

// TestGates: results that were there before are not told again; a new one is, once
// it is whole.
func TestGates(t *testing.T) {
	run := t.TempDir()
	result := func(net, text string) {
		dir := filepath.Join(run, "gatekeeper", net)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "result.json"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	var g gates
	g.open(run)
	if got := g.fresh(); got != nil {
		t.Errorf("without a gatekeeper: %s", got)
	}
	result("a", `{"candidate":"a"}`)
	g.open(run)
	result("b", `{"candidate":`)
	if got := g.fresh(); got != nil {
		t.Errorf("%s", got)
	}
	result("b", `{"candidate":"b"}`)
	if got := g.fresh(); len(got) != 1 || string(got[0]) != `{"candidate":"b"}` {
		t.Errorf("%s", got)
	}
	if got := g.fresh(); got != nil {
		t.Errorf("told twice: %s", got)
	}
}

// TestSlowReader: what nobody reads is dropped and counted, and holds up nothing.
func TestSlowReader(t *testing.T) {
	reader, out := io.Pipe()
	defer reader.Close()
	w := newWriter(out, func() {})
	const extra = 10
	for range outQueue + 1 + extra { // one may be on its way to the reader
		w.send([]byte("line\n"))
	}
	if n := w.dropped.Load(); n < extra || n > extra+1 {
		t.Errorf("%d dropped, want %d or one more", n, extra)
	}
	reader.Close() // else close would wait for the reader
	w.close()
}

// FuzzParse: no line makes it panic, and a line without a fault has a type that is
// known.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"start_training","payload":{"config_filepath":"c"}}`))
	f.Add([]byte(`{"type":"stop","payload":null}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		kind, config, err := parse(line)
		if err == nil && (kind == startTraining) != (config != "") {
			t.Errorf("%q: %s %q", line, kind, config)
		}
	})
}
