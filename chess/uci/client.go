package uci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Waits of a ClientConfig that names none.
const (
	defaultStartTimeout = 10 * time.Second
	defaultReadyTimeout = time.Minute
	defaultGrace        = 5 * time.Second
)

// gamesDir is where Debian puts chess engines; the PATH of root lacks it.
const gamesDir = "/usr/games"

// ClientConfig says which engine to start, and how.
type ClientConfig struct {
	Path         string            // the program, as FindEngine takes it
	Args         []string          // its arguments
	Options      map[string]string // set once after the start, by name in any case; the value of a button is ""
	StartTimeout time.Duration     // until it has said uciok; 0 = 10 s
	ReadyTimeout time.Duration     // for each readyok, before which it may load a net or compile for a GPU; 0 = 1 minute
	Grace        time.Duration     // for its answer to stop and to quit, then it is killed; 0 = 5 s
	Log          io.Writer         // nil, or gets what is said: "> " to the engine, "< " by it, "! " its standard error
}

// Client is a UCI engine in a process of its own, which leads a process group:
// what the engine starts ends with it. On Linux it ends with our process, too.
//
// After an error that wraps ErrExited or ErrHung the process is gone and every
// call returns that error; Start another. Methods may be called by several
// goroutines, one call runs at a time.
type Client struct {
	Name string // what the engine calls itself; its program's name where it has said nothing

	config  ClientConfig
	options []Option
	proc    *process

	mu       sync.Mutex
	chess960 bool  // what the engine believes of UCI_Chess960
	asked    int   // isready sent
	answered int   // readyok received
	err      error // why the engine can no longer be used; nil if it can
}

// FindEngine returns the path of an engine's program: a name without a slash is
// looked for in the PATH and in /usr/games, a path is made absolute. It has to
// be there and executable.
func FindEngine(name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("an engine's program has no name: give a path, or a name in the PATH such as stockfish")
	}
	path, err := exec.LookPath(name)
	if err != nil && filepath.Base(name) == name {
		if inGames, gamesErr := exec.LookPath(filepath.Join(gamesDir, name)); gamesErr == nil {
			return inGames, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("find the engine %s (in the PATH and %s, if it is no path): %w", name, gamesDir, err)
	}
	return filepath.Abs(path)
}

// Start starts an engine, shakes hands, sets the options and waits until it is
// ready. On an error no process is left. An option that the engine does not have,
// or a value outside what it declares, is an error that wraps ErrOption.
func Start(ctx context.Context, config ClientConfig) (*Client, error) {
	path, err := FindEngine(config.Path)
	if err != nil {
		return nil, err
	}
	config.StartTimeout = cmp.Or(max(config.StartTimeout, 0), defaultStartTimeout)
	config.ReadyTimeout = cmp.Or(max(config.ReadyTimeout, 0), defaultReadyTimeout)
	config.Grace = cmp.Or(max(config.Grace, 0), defaultGrace)
	c := &Client{config: config, Name: filepath.Base(path)}
	if c.proc, err = startProcess(path, &config); err != nil {
		return nil, &ClientError{Engine: c.Name, Did: "could not be started", Err: err}
	}
	if err := c.begin(ctx); err != nil {
		c.proc.end()
		return nil, err
	}
	return c, nil
}

// begin shakes hands and sets the options.
func (c *Client) begin(ctx context.Context) error {
	if err := c.shakeHands(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.Options)) {
		if err := c.setOption(name, c.config.Options[name]); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

// shakeHands reads what the engine is up to uciok. Other lines are passed over:
// many engines print a greeting.
func (c *Client) shakeHands(ctx context.Context) error {
	did := fmt.Sprintf("sent no uciok within %s; is it a UCI engine?", c.config.StartTimeout)
	return c.ask(ctx, "uci", c.config.StartTimeout, did, func(text string) (done bool, err error) {
		switch word, rest, _ := strings.Cut(text, " "); word {
		case "id":
			if name, ok := strings.CutPrefix(rest, "name "); ok {
				c.Name = cut(strings.TrimSpace(name))
			}
		case "option":
			if o, ok := parseOption(rest); ok {
				c.options = append(c.options, o)
			}
			if len(c.options) > maxOptions {
				return false, c.failed(fmt.Sprintf("declares more than %d options", maxOptions), ErrOption)
			}
		}
		return text == "uciok", nil
	})
}

// ready waits until the engine has done all that it was told.
func (c *Client) ready(ctx context.Context) error {
	c.asked++
	did := fmt.Sprintf("sent no readyok within %s", c.config.ReadyTimeout)
	return c.ask(ctx, "isready", c.config.ReadyTimeout, did, func(text string) (done bool, err error) {
		if text == "readyok" {
			c.answered++
		}
		return c.answered == c.asked, nil
	})
}

// ask sends a command and reads the engine's lines until use is done. At the end of ctx it
// fails with ctx's cause; after limit the engine is killed, and did says what it did.
func (c *Client) ask(ctx context.Context, command string, limit time.Duration, did string, use func(text string) (done bool, err error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrHung)
	defer cancel()
	if err := c.send(command); err != nil {
		return err
	}
	for {
		select {
		case l, open := <-c.proc.lines:
			if !open {
				return c.gone()
			}
			if done, err := use(l.text); done || err != nil {
				return err
			}
		case <-ctx.Done():
			if cause := context.Cause(ctx); cause != ErrHung {
				return c.failed("was waited for", cause)
			}
			return c.hung(did)
		}
	}
}

// send writes one line. It fails where the engine is gone or does not read.
func (c *Client) send(text string) error {
	err := c.proc.send(text, c.config.Grace)
	switch {
	case err == nil:
		return nil
	case os.IsTimeout(err):
		return c.hung(fmt.Sprintf("read nothing for %s", c.config.Grace))
	}
	// Its input is closed, as it is when it ends.
	if !c.proc.settle(c.config.Grace) {
		return c.hung("closed its input but lived on")
	}
	return c.gone()
}

// NewGame tells the engine that another game begins and waits until it is ready.
func (c *Client) NewGame(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	if err := c.send("ucinewgame"); err != nil {
		return err
	}
	return c.ready(ctx)
}

// Close tells the engine to quit, and kills it and its process group where it
// has not ended after Grace; that is an error that wraps ErrHung. Nothing of it
// is left in any case. It waits for a call under way, which ends with its own
// context. A closed client may be closed again.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	dead := c.err != nil
	c.err = c.failed("cannot be used", ErrClosed)
	if dead || c.proc.quit(c.config.Grace) {
		return nil
	}
	return c.failed(fmt.Sprintf("did not end within %s of quit and was killed", c.config.Grace), ErrHung)
}

// gone notes that the process has ended.
func (c *Client) gone() error {
	c.proc.end()
	return c.lost(fmt.Sprintf("ended (%s)", c.proc.State), ErrExited)
}

// hung kills the engine.
func (c *Client) hung(did string) error {
	c.proc.end()
	return c.lost(did+" and was killed", ErrHung)
}

// lost is the error of every call from now on.
func (c *Client) lost(did string, err error) error {
	e := c.failed(did, err)
	e.Said = c.proc.lastWords()
	c.err = e
	return e
}

func (c *Client) failed(did string, err error) *ClientError {
	return &ClientError{Engine: c.Name, Did: did, Err: err}
}

// cut bounds what an engine says of itself, and replaces what a terminal obeys.
func cut(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxWords {
		s = strings.ToValidUTF8(s[:maxWords], "")
	}
	return s
}

// What may go wrong with an engine. Errors of a Client are of type *ClientError
// and wrap one of these, or the context's error, or what the system said.
var (
	ErrExited  = errors.New("the engine's process ended")
	ErrHung    = errors.New("the engine does not answer")
	ErrIllegal = errors.New("illegal move")
	ErrOption  = errors.New("wrong option")
	ErrClosed  = errors.New("the engine was closed")
)

// ClientError says what an engine did.
type ClientError struct {
	Engine string // its name, or its program's before it has said one
	Did    string // such as "sent no readyok within 10s"
	Said   string // its last words, where they may explain it; else ""
	Err    error
}

func (e *ClientError) Error() string {
	text := fmt.Sprintf("engine %s: %s: %v", e.Engine, e.Did, e.Err)
	if e.Said != "" {
		text += fmt.Sprintf("; it last said %q", e.Said)
	}
	return text
}

// Unwrap returns the cause.
func (e *ClientError) Unwrap() error { return e.Err }
