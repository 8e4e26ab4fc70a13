package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

const (
	stopGrace   = 2 * time.Second        // for a process to end when it is asked to
	settleGrace = 250 * time.Millisecond // for one that broke its connection to be seen dead
)

// process is one running plugin. It is started once and ended once; the next
// start makes a new one, with a new go-plugin client: a used one would report a
// start and stay dead.
type process struct {
	program Program // with the hash of what runs
	def     *stage.Definition
	conn    *api.Conn

	dir    string // private
	child  *child // nil before install
	client *goplugin.Client
	conns  conns
	once   sync.Once // of end
	endErr error
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
		proc.killAfter(err)
		return nil, proc.startError(ctx, err, h.o.StartTimeout)
	}
	return proc, nil
}

// connect executes the copy, shakes hands and asks for the description.
func (h *Host) connect(ctx context.Context, proc *process) error {
	c := proc.child
	proc.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: api.Handshake, Plugins: api.Set(nil),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		StartTimeout:     2 * h.o.StartTimeout, // ctx ends before
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: proc.dir},
		GRPCDialOptions:  append(api.DialOptions(), grpc.WithChainStreamInterceptor(proc.conns.intercept)),
		SyncStdout:       c.logs, SyncStderr: c.logs, Logger: hclog.NewNullLogger(),
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, sockets string) (runner.Runner, error) {
			env, err := h.environment(proc)
			c.env, c.sockets = append(env, cmd.Env...), sockets
			return c, err
		},
	})
	// go-plugin's calls take no context: at its end the process is killed, which
	// ends them.
	defer context.AfterFunc(ctx, c.KillGroup)()
	rpc, err := proc.client.Client()
	if err != nil {
		return err
	}
	raw, err := rpc.Dispense(api.PluginName)
	if err != nil {
		return err
	}
	proc.conn = raw.(*api.Conn)
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
	defer context.AfterFunc(ctx, p.child.KillGroup)()
	e := &Error{Kind: p.def.Kind, Name: p.def.Name, Did: "refused its settings"}
	_, refused := p.def.Values(settings)
	err := refused
	if refused == nil {
		err = p.conn.Open(ctx, p.def, settings)
	}
	switch {
	case err == nil:
		return nil
	case refused != nil || status.Code(err) == codes.InvalidArgument:
		e.Err = mark(ErrSettings, errors.Join(err, p.stop()))
	default:
		p.killAfter(err)
		e.Did, e.Err = p.failure(ctx, "was being opened", "was not open within "+limit.String(), err)
	}
	return e
}

// stop asks the process to end, and kills it where it does not.
func (p *process) stop() error { return p.end(true) }

// kill ends the process at once. Its directory is in nobody's way if it stays
// until the host closes.
func (p *process) kill() { p.end(false) }

// killAfter is kill after a call that ended with err. A connection that broke ends a
// little before its process.
func (p *process) killAfter(err error) {
	if status.Code(err) == codes.Unavailable || errors.Is(err, api.ErrEnded) {
		p.child.settle(settleGrace)
	}
	p.kill()
}

// end ends the process, waits for all that served it, and removes its directory.
func (p *process) end(polite bool) error {
	p.once.Do(func() {
		if p.child.Number() != 0 {
			if polite {
				p.child.SignalGroup(syscall.SIGTERM)
				p.child.settle(stopGrace)
			}
			p.child.KillGroup()
			<-p.child.exited
		}
		p.conns.close()
		p.client.Kill() // the process is gone: this waits for go-plugin's goroutines
		p.endErr = p.remove()
	})
	return p.endErr
}

// conns knows the connections that go-plugin made: it forgets, and never closes,
// that of a plugin which breaks off in the middle of the start.
type conns struct {
	mu     sync.Mutex
	all    []*grpc.ClientConn
	closed bool
}

// intercept is called for each stream, and go-plugin opens one at once on each
// connection.
func (c *conns) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	c.mu.Lock()
	closed := c.closed
	if !closed && !slices.Contains(c.all, cc) {
		c.all = append(c.all, cc)
	}
	c.mu.Unlock()
	if closed {
		cc.Close()
		return nil, status.Error(codes.Unavailable, "the plugin was stopped")
	}
	return streamer(ctx, desc, cc, method, opts...)
}

// close closes all connections, and from then on each new one.
func (c *conns) close() {
	c.mu.Lock()
	all := c.all
	c.all, c.closed = nil, true
	c.mu.Unlock()
	for _, cc := range all {
		cc.Close() // twice is no harm
	}
}
