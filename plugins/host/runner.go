package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/chessbrain/chessbrain/internal/spawn"
)

const (
	// pipeGrace is how long what a dead process wrote may take to be read. Its
	// pipes end with it, unless it left a child behind that holds them.
	pipeGrace = 500 * time.Millisecond

	memoryEvery = 20 * time.Millisecond // how often the memory of a process is looked at

	busyTries = 100 // of an execution while some fork still holds the copy open for writing
	busyPause = 10 * time.Millisecond
)

// child runs one process for go-plugin: its Runner. The process leads a group of
// its own, which is killed with it.
type child struct {
	spawn.Process
	path    string // of the private copy
	env     []string
	sockets string // directory that its socket must be in
	logs    *logs
	stdout  *os.File     // the reading end
	memory  int64        // bytes that it may hold; 0 = any number
	held    atomic.Int64 // that it was killed for

	exited chan struct{} // closed when the process is gone and its log was read
}

var _ runner.Runner = (*child)(nil)

// Start executes the program.
func (c *child) Start(context.Context) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, outR.Close(), outW.Close())
	}
	c.stdout = outR
	started := make(chan error, 1)
	go c.live(outW, errW, errR, started)
	err = <-started
	outW.Close()
	errW.Close()
	if err != nil {
		outR.Close()
		errR.Close()
	}
	return err
}

// live executes the program, waits for its end and reads what it logs.
func (c *child) live(outW, errW, errR *os.File, started chan<- error) {
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		c.logs.read(errR)
	}()
	if err := c.Live(func() (*exec.Cmd, error) { return c.execute(outW, errW) }, func() {
		if c.memory > 0 {
			go c.watchMemory()
		}
		started <- nil
	}); err != nil {
		started <- err
		return
	}
	soon := time.Now().Add(pipeGrace)
	errR.SetReadDeadline(soon)
	c.stdout.SetReadDeadline(soon)
	<-logged
	errR.Close()
	close(c.exited)
}

// watchMemory kills the process when it holds too much. A look that fails is one at a
// process that is gone, or of a system that does not tell.
func (c *child) watchMemory() {
	for ticks := time.Tick(memoryEvery); ; {
		select {
		case <-c.exited:
			return
		case <-ticks:
		}
		if held, _ := spawn.Resident(c.Number()); held > c.memory {
			c.held.Store(held)
			c.KillGroup()
			return
		}
	}
}

// execute starts the process. A copy that was just written can be busy: a fork
// elsewhere in this process may hold it open until its own exec.
func (c *child) execute(stdout, stderr *os.File) (*exec.Cmd, error) {
	for try := 0; ; try++ {
		cmd := exec.Command(c.path)
		cmd.Env, cmd.Stdout, cmd.Stderr = c.env, stdout, stderr
		spawn.Lead(cmd)
		err := cmd.Start()
		if err == nil || try == busyTries || !errors.Is(err, syscall.ETXTBSY) {
			return cmd, err
		}
		time.Sleep(busyPause)
	}
}

// hasExited says whether the process is gone.
func (c *child) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// settle gives the process a while to be gone.
func (c *child) settle(grace time.Duration) {
	select {
	case <-c.exited:
	case <-time.After(grace):
	}
}

// The rest is what go-plugin asks of a Runner.

// Wait waits for the end. go-plugin calls it when it reads Stdout no more: at its end, or
// behind a line of more than 64 KB, and then the process must not wait for a reader.
func (c *child) Wait(context.Context) error {
	io.Copy(io.Discard, c.stdout) // live sets the time at which this ends
	<-c.exited
	return c.stdout.Close()
}

// Kill kills the process.
func (c *child) Kill(context.Context) error {
	c.KillGroup()
	return nil
}

// Stdout is where the handshake comes from.
func (c *child) Stdout() io.ReadCloser { return c.stdout }

// Stderr is empty: logs reads the real one.
func (c *child) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name returns the program's path.
func (c *child) Name() string { return c.path }

// ID returns the process id.
func (c *child) ID() string { return strconv.Itoa(c.Number()) }

// Diagnose has nothing to add: the caller says what came instead of a handshake.
func (c *child) Diagnose(context.Context) string { return "" }

// PluginToHost refuses addresses other than a Unix socket in the private directory
// (on Windows, other than this machine's): a plugin must not send the host elsewhere.
func (c *child) PluginToHost(network, address string) (string, string, error) {
	if !private(network, address, c.sockets) {
		return "", "", fmt.Errorf("its handshake names %s %q, want a Unix socket in the directory $PLUGIN_UNIX_SOCKET_DIR (%s)", network, address, c.sockets)
	}
	return network, address, nil
}

// HostToPlugin returns its arguments.
func (c *child) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
