package run

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/internal/monitor"
)

// Message is one line of the control protocol, both ways: the daemon's form.
type Message struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Swap is the payload of swap-plugin: which stages take the place of those of
// one kind.
type Swap struct {
	Kind   string      `json:"kind"`              // rescorer, sampler, exporter
	Stages []SwapStage `json:"stages"`            // several for rescorers, in the order in which they work; none = no rescorer
	DryRun bool        `json:"dry_run,omitempty"` // start the new stages, end them again, and say how that went
}

// SwapStage names a stage and its settings.
type SwapStage struct {
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings,omitempty"`
}

// Message returns the line that asks for the swap.
func (s Swap) Message() Message { return message("swap-plugin", s) }

// Commands are what a running process answers on its control socket. One that
// does not train leaves Checkpoint and StartNow nil.
type Commands struct {
	Status     func() any                        // one page of state
	Games      func() any                        // a few games under way
	Stop       func()                            // finish the current step, save, end
	Checkpoint func()                            // write a checkpoint after the next step
	Swap       func(context.Context, Swap) error // returns when the new stages work, or could; after an error the old ones do
	StartNow   func() error                      // begin the next net without waiting for its chunks
}

// control serves the control socket of one process: a Unix socket with mode
// 0700 that takes JSON lines {"type", "payload"}. Types: status, games, subscribe,
// stop, checkpoint-now, start-training-now, swap-plugin (payload: Swap); the
// answer has type ok, status, games, event or error.
type control struct {
	path     string
	listener net.Listener
	commands Commands
	bus      *monitor.Bus // of the events to subscribe to; nil = none
	wait     sync.WaitGroup
	ctx      context.Context
	cancel   context.CancelFunc
}

// maxSocketPath is the longest path that the kernel takes for a Unix socket.
const maxSocketPath = 100

// listen opens the socket beside the role's lock, or in the system's temporary directory
// where that path is too long for a socket, and names it in the lock's owner file, where
// others find it.
func (p *Process) listen(commands Commands) (*control, error) {
	path := p.dir.Lock(p.role) + ".sock"
	if len(path) > maxSocketPath {
		private, err := os.MkdirTemp("", "chessbrain-")
		if err != nil {
			return nil, fmt.Errorf("make directory for control socket: %w", err)
		}
		path = filepath.Join(private, "s")
	}
	os.Remove(path) // a socket of a dead process; the role lock is ours
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open control socket %s: %w", path, err)
	}
	c := &control{path: path, listener: listener, commands: commands, bus: p.bus}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wait.Go(c.accept)
	err = os.Chmod(path, 0o700)
	if err == nil {
		path, err = filepath.Abs(path) // whoever asks may stand elsewhere
	}
	if err == nil {
		err = p.own.SetSocket(path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("control socket %s: %w", path, err), c.Close())
	}
	return c, nil
}

// Close ends the connections and removes the socket; of nil it does nothing.
func (c *control) Close() error {
	if c == nil {
		return nil
	}
	c.cancel()
	err := c.listener.Close()
	c.wait.Wait()
	if filepath.Base(c.path) == "s" {
		os.Remove(filepath.Dir(c.path))
	}
	return err
}

func (c *control) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return // closed
		}
		c.wait.Go(func() {
			defer context.AfterFunc(c.ctx, func() { conn.Close() })()
			defer conn.Close()
			c.serve(conn)
		})
	}
}

// serve answers the lines of one connection until it ends. A bad line costs
// that line only.
func (c *control) serve(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 4096), 1<<16)
	out := json.NewEncoder(conn)
	for lines.Scan() {
		var m Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			if out.Encode(message("error", "not a JSON object with a type: "+err.Error())) != nil {
				return
			}
			continue
		}
		if !c.handle(out, m) {
			return
		}
	}
}

// handle answers one message and says whether the connection goes on.
func (c *control) handle(out *json.Encoder, m Message) bool {
	if m.Type == "subscribe" && c.bus != nil {
		return c.stream(out)
	}
	err := out.Encode(c.reply(m))
	if m.Type == "stop" {
		c.commands.Stop() // after the answer: the process may end at once
	}
	return err == nil
}

// reply is the answer to a message that has one.
func (c *control) reply(m Message) Message {
	noSuch := message("error", "this process has no "+m.Type+": it only plays, or only trains, or still waits for its first rows")
	switch m.Type {
	case "status":
		return message("status", c.commands.Status())
	case "games":
		if c.commands.Games == nil {
			return noSuch
		}
		return message("games", c.commands.Games())
	case "stop":
		return message("ok", "finishing the current step, then saving")
	case "subscribe":
		return noSuch
	case "checkpoint-now":
		if c.commands.Checkpoint == nil {
			return noSuch
		}
		c.commands.Checkpoint()
		return message("ok", "a checkpoint follows the next step")
	case "start-training-now":
		if c.commands.StartNow == nil {
			return message("error", "only a trainer has start-training-now")
		}
		return okUnless(c.commands.StartNow(), "the next net begins without waiting for new chunks")
	case "swap-plugin":
		var s Swap
		if err := StrictJSON(m.Payload, &s); err != nil {
			return message("error", `swap-plugin wants a payload {"kind","stages":[{"name","settings"}],"dry_run"}: `+err.Error())
		}
		done := s.Kind + ": " + s.names()
		if s.DryRun {
			done = "tried, and nothing was exchanged: " + done
		}
		return okUnless(c.commands.Swap(c.ctx, s), done)
	}
	return message("error", fmt.Sprintf("unknown type %q; known: status, games, subscribe, stop, checkpoint-now, start-training-now, swap-plugin", m.Type))
}

// stream sends events until the connection or the process ends.
func (c *control) stream(out *json.Encoder) bool {
	events := c.bus.Subscribe(subscribed)
	defer events.Close()
	for {
		select {
		case <-c.ctx.Done():
			return false
		case e, ok := <-events.Events():
			if !ok || out.Encode(message("event", e)) != nil {
				return false
			}
		}
	}
}

// okUnless is the answer to a command that came to err.
func okUnless(err error, text string) Message {
	if err != nil {
		return message("error", err.Error())
	}
	return message("ok", text)
}

// message is a line with a payload.
func message(kind string, payload any) Message {
	raw, err := json.Marshal(payload)
	if err != nil {
		return Message{Type: "error", Payload: json.RawMessage(`"the answer cannot be encoded"`)}
	}
	return Message{Type: kind, Payload: raw}
}

// Send gives one command to the process that listens at path and calls fn with each
// answer: once, or until the process ends for subscribe. An answer of type error is
// returned as an error.
func Send(ctx context.Context, path string, command Message, fn func(Message) error) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("reach the control socket %s: %w", path, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := json.NewEncoder(conn).Encode(command); err != nil {
		return fmt.Errorf("send %s: %w", command.Type, err)
	}
	in := json.NewDecoder(conn)
	for answered := false; ; answered = true {
		var m Message
		if err := in.Decode(&m); err != nil {
			if answered || ctx.Err() != nil {
				return ctx.Err()
			}
			if _, broken := errors.AsType[*net.OpError](err); broken || errors.Is(err, io.EOF) {
				err = errors.New("the process ended before it answered")
			}
			return fmt.Errorf("read the answer to %s: %w", command.Type, err)
		}
		if m.Type == "error" {
			var text string
			_ = json.Unmarshal(m.Payload, &text) // an error's payload is its text
			return errors.New(text)
		}
		if err := fn(m); err != nil || command.Type != "subscribe" {
			return err
		}
	}
}

// names returns the names of the new stages.
func (w Swap) names() string {
	var names []string
	for _, s := range w.Stages {
		names = append(names, s.Name)
	}
	return cmp.Or(strings.Join(names, ","), "none")
}

// Shared is a value that one goroutine changes and others read, such as the page
// that a control socket answers with. The zero value holds a zero T. What the value
// points to is replaced, never changed.
type Shared[T any] struct {
	mu    sync.Mutex
	value T
}

// Set changes the value; change must not call Set or Get.
func (s *Shared[T]) Set(change func(*T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.value)
}

// Get returns a copy of the value.
func (s *Shared[T]) Get() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}
