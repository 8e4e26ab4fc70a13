package uci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/spawn"
)

const (
	maxLine    = 64 << 10 // bytes of an engine's line; the rest is cut
	maxWords   = 200      // bytes of an engine's words in messages
	lineBuffer = 1024     // lines that wait for us; then the engine waits

	// pipeGrace is how long what a dead process wrote may take to be read. Its
	// pipes end with it, unless it left a child behind that holds them.
	pipeGrace = 2 * time.Second
)

// line is one line of an engine.
type line struct {
	text string
	at   time.Time // when it was read
}

// process is an engine's program under way. Its standard input and output are
// pipes; two goroutines read what it prints and one waits for its end.
type process struct {
	spawn.Process
	cmd     *exec.Cmd
	stdin   *os.File
	lines   chan line          // closed after its end, when all is read
	exited  chan struct{}      // closed after lines
	unread  context.Context    // ends when nobody reads lines any more
	abandon context.CancelFunc // of unread: lines are dropped from then on

	mu     sync.Mutex
	log    io.Writer // or nil
	last   string    // last line of its standard error, else of its output
	lastIs byte      // '!' or '<', or 0
}

// startProcess executes a program.
func startProcess(path string, config *ClientConfig) (*process, error) {
	p := &process{
		cmd:   exec.Command(path, config.Args...),
		lines: make(chan line, lineBuffer), exited: make(chan struct{}),
		log: config.Log,
	}
	p.unread, p.abandon = context.WithCancel(context.Background())
	spawn.Lead(p.cmd)
	var theirs, ours [3]*os.File
	var err error
	for i := range theirs {
		if theirs[i], ours[i], err = os.Pipe(); err != nil {
			break
		}
		if i > 0 {
			theirs[i], ours[i] = ours[i], theirs[i]
		}
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
		p.stdin = ours[0]
		started := make(chan error)
		go p.live(ours[1], ours[2], started)
		err = <-started
	}
	for i := range theirs {
		theirs[i].Close() // nil is refused, no more
		if err != nil {
			ours[i].Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// live executes the program, waits for its end and reads what it prints.
func (p *process) live(stdout, stderr *os.File, started chan<- error) {
	var readers sync.WaitGroup
	readers.Go(func() { p.readOutput(stdout) })
	readers.Go(func() { readTrimmed(stderr, func(text string) { p.note('!', text) }) })
	if err := p.Live(func() (*exec.Cmd, error) { return p.cmd, p.cmd.Start() }, func() { started <- nil }); err != nil {
		started <- err
		return
	}
	soon := time.Now().Add(pipeGrace)
	stdout.SetReadDeadline(soon)
	stderr.SetReadDeadline(soon)
	readers.Wait()
	stdout.Close()
	stderr.Close()
	p.stdin.Close()
	close(p.lines)
	close(p.exited)
}

// readOutput hands on the lines of standard output.
func (p *process) readOutput(r io.Reader) {
	readTrimmed(r, func(text string) {
		l := line{text, time.Now()}
		p.note('<', text)
		select {
		case p.lines <- l:
		case <-p.unread.Done():
		}
	})
}

// readTrimmed calls use with each line that is not empty, without the spaces around it
// and what goes beyond maxLine, until r ends or fails.
func readTrimmed(r io.Reader, use func(string)) {
	readLines(r, maxLine, func(text string, _ bool) bool {
		if text = strings.TrimSpace(text); text != "" {
			use(text)
		}
		return true
	})
}

// note logs a line and remembers it as the last.
func (p *process) note(mark byte, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mark != '>' && (mark == '!' || p.lastIs != '!') {
		p.last, p.lastIs = text, mark
	}
	if p.log != nil {
		fmt.Fprintf(p.log, "%c %s\n", mark, text)
	}
}

// lastWords returns what the process said last, errors before other lines.
func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cut(p.last)
}

// send writes a line. It gives up, with a timeout, after limit.
func (p *process) send(text string, limit time.Duration) error {
	p.note('>', text)
	err := p.stdin.SetWriteDeadline(time.Now().Add(limit))
	var timer *time.Timer
	if errors.Is(err, os.ErrNoDeadline) { // Windows' pipes have none: the end of the process ends the write
		timer = time.AfterFunc(limit, p.KillGroup)
	} else if err != nil {
		return err
	}
	_, err = p.stdin.WriteString(text + "\n")
	if timer != nil && !timer.Stop() {
		err = os.ErrDeadlineExceeded
	}
	return err
}

// quit asks the process to end and waits for it, with a kill after grace; then
// ended is false.
func (p *process) quit(grace time.Duration) (ended bool) {
	p.abandon()           // it may wait for us to read
	p.send("quit", grace) // an error says that it is gone, or does not read
	p.stdin.Close()       // engines that miss quit may know the end of their input
	if p.settle(grace) {
		return true
	}
	p.end()
	return false
}

// settle gives a process that has no input any more a while to be gone, and says
// whether it is.
func (p *process) settle(grace time.Duration) bool {
	p.abandon()
	select {
	case <-p.exited:
		return true
	case <-time.After(grace):
		return false
	}
}

// end kills the process and waits until it is gone.
func (p *process) end() {
	p.abandon()
	p.KillGroup()
	<-p.exited
}
