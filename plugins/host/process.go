package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// stopGrace is how long a process may take to end when it is asked to.
const stopGrace = 2 * time.Second

// process is one running plugin. It is started once and ended once; the next
// start makes a new one.
type process struct {
	program Program // with the hash of what runs
	def     *stage.Definition
	conn    *api.Conn

	dir     string           // private
	child   *child           // nil before install
	cc      *grpc.ClientConn // nil before the handshake
	readers sync.WaitGroup   // of what it prints
	once    sync.Once        // of end
	endErr  error
}

// start runs a program until it has said what it is. At the end of ctx or of
// StartTimeout it is killed. Errors are of type *Error.
func (h *Host) start(ctx context.Context, p Program) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, h.o.StartTimeout)
	defer cancel()
	proc := &process{program: p}
	if err := h.install(proc); err != nil {
		return nil, &Error{Name: p.Name, Did: "was not started", Err: errors.Join(err, proc.remove())}
	}
	if err := h.connect(ctx, proc); err != nil {
		if lost(err) {
			proc.child.settle()
		}
		proc.kill()
		return nil, proc.startError(ctx, err, h.o.StartTimeout)
	}
	return proc, nil
}

// connect executes the copy, shakes hands and asks for the description. At the end of
// ctx the process is killed, which ends the wait for its handshake.
func (h *Host) connect(ctx context.Context, proc *process) error {
	c := proc.child
	defer context.AfterFunc(ctx, c.kill)()
	env, err := h.environment(proc)
	if err != nil {
		return err
	}
	sockets := filepath.Join(proc.dir, socketDir)
	if err := os.Mkdir(sockets, 0o700); err != nil {
		return err
	}
	c.env = append(env, api.Handshake.MagicCookieKey+"="+api.Handshake.MagicCookieValue, "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000",
		fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", api.ProtocolVersion), "PLUGIN_UNIX_SOCKET_DIR="+sockets)
	if err := c.start(); err != nil {
		return err
	}
	out := bufio.NewReaderSize(c.stdout, maxLogLine)
	address, err := handshake(out, sockets)
	if err != nil {
		return err
	}
	proc.readers.Go(func() { io.Copy(io.Discard, out) }) // ends with the process
	proc.cc, err = grpc.NewClient("unix:"+address, append(api.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 2 * h.o.StartTimeout}))...) // ctx ends before
	if err != nil {
		return err
	}
	proc.conn = api.NewConn(proc.cc)
	proc.readers.Go(func() { proc.conn.Printed(c.logs.print) }) // ends with the connection
	if proc.def, err = proc.conn.Describe(ctx); err != nil {
		return err
	}
	if proc.def.Name != proc.program.Name {
		return fmt.Errorf("%s calls itself %s %q: a program is found by its file's name, so give both the same name",
			proc.program.Path, proc.def.Kind, proc.def.Name)
	}
	return nil
}

// open makes the one instance of the process, within limit. On error the process
// is ended; the error is of type *Error.
func (p *process) open(ctx context.Context, settings map[string]string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(ctx, p.child.kill)()
	e := &Error{Kind: p.def.Kind, Name: p.def.Name, Did: "refused its settings"}
	if _, err := p.def.Values(settings); err != nil {
		e.Err = mark(ErrSettings, errors.Join(err, p.stop()))
		return e
	}
	err := p.conn.Open(ctx, p.def, settings)
	if err == nil {
		return nil
	}
	if status.Code(err) == codes.InvalidArgument {
		e.Err = mark(ErrSettings, errors.Join(err, p.stop()))
		return e
	}
	if lost(err) {
		p.child.settle()
	}
	p.kill()
	e.Did, e.Err = p.failure(ctx, "was being opened", "was not open within "+limit.String(), err)
	return e
}

// stop asks the process to end, and kills it where it does not.
func (p *process) stop() error { return p.end(true) }

// kill ends the process at once. Its directory is in nobody's way if it stays
// until the host closes.
func (p *process) kill() { p.end(false) }

// end ends the process, waits for all that served it, and removes its directory.
func (p *process) end(polite bool) error {
	p.once.Do(func() {
		if p.child.number() != 0 {
			if polite {
				p.ask()
			}
			p.child.kill()
			<-p.child.exited
		}
		if p.cc != nil {
			p.cc.Close()
		}
		p.readers.Wait()
		p.child.stdout.Close() // nil where it was not started
		p.endErr = p.remove()
	})
	return p.endErr
}

// ask asks the process to end and waits a little.
func (p *process) ask() {
	p.child.signal(syscall.SIGTERM)
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.child.exited:
	case <-timer.C:
	}
}

// socketDir is where a process makes its socket, below its private directory.
const socketDir = "sockets"

// errNoHandshake is the end of a process before it said anything.
var errNoHandshake = fmt.Errorf("%w before its handshake", api.ErrEnded)

// badHandshake says what a process did in place of a handshake, as in Error.Did.
type badHandshake string

func (b badHandshake) Error() string { return string(b) }

// handshake reads the line of go-plugin's protocol in which a process says where it
// listens: 1|version|unix|path|grpc. Other addresses than a Unix socket in the directory
// sockets are refused: a plugin must not send the host elsewhere.
func handshake(out *bufio.Reader, sockets string) (path string, err error) {
	text, err := out.ReadSlice('\n')
	line := strings.TrimSpace(string(text))
	if line == "" {
		return "", errNoHandshake
	}
	parts := strings.Split(line, "|")
	core, notNumber := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 5 || notNumber != nil {
		return "", badHandshake(fmt.Sprintf("printed %.200q instead of a handshake", line))
	}
	version, network, path := parts[1], parts[2], parts[3]
	switch {
	case core != 1:
		return "", fmt.Errorf("incompatible core API version with plugin. Plugin version: %d, Core version: 1\n\n"+
			"To fix this, the plugin usually only needs to be recompiled.\nPlease report this to the plugin author.", core)
	case version != strconv.Itoa(api.ProtocolVersion):
		return "", badHandshake(fmt.Sprintf("speaks version %.20s of the plugin protocol, this chessbrain speaks version %d: build it against this version of chessbrain",
			version, api.ProtocolVersion))
	case network != "unix" || filepath.Dir(filepath.Clean(path)) != sockets:
		return "", fmt.Errorf("its handshake names %s %q, want a Unix socket in the directory $PLUGIN_UNIX_SOCKET_DIR (%s)", network, path, sockets)
	case parts[4] != "grpc":
		return "", fmt.Errorf("its handshake names the protocol %q, want grpc", parts[4])
	}
	return path, nil
}
