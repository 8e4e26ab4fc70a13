package faulty

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Serve is the plugin's main. It does not return.
func Serve(p Plan) {
	if p.Starts != "" {
		note(p.Starts)
	}
	dir := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
	socket := filepath.Join(dir, "faulty.sock")
	if handshake, ok := badHandshake(p.Mode, dir); ok && p.strikes(1<<30, nil) {
		if p.Mode == CrashAtStart {
			fmt.Fprintln(os.Stderr, "crashing before the handshake, as told")
			os.Exit(3)
		}
		fmt.Print(handshake)
		time.Sleep(time.Hour) // until it is killed; the runtime would call select{} a deadlock
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := &server{plan: p}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20), grpc.UnknownServiceHandler(unknown))
	pluginpb.RegisterStageServer(g, s)
	pluginpb.RegisterRescorerServer(g, s)
	pluginpb.RegisterSamplerServer(g, s)
	pluginpb.RegisterExporterServer(g, s)
	h := health.NewServer()
	h.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(g, h)
	fmt.Printf("1|%d|unix|%s|grpc\n", api.ProtocolVersion, socket)
	fmt.Fprintln(os.Stderr, g.Serve(&dripListener{Listener: listener, drip: &s.drip}))
	os.Exit(1)
}

// note adds a line with the process id to a file.
func note(path string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, os.Getpid())
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// badHandshake returns what the modes of the handshake print.
func badHandshake(m Mode, dir string) (text string, ok bool) {
	line := func(transport string) string {
		return fmt.Sprintf("1|%d|unix|%s|%s\n", api.ProtocolVersion, filepath.Join(dir, "none"), transport)
	}
	lines := map[Mode]string{
		CrashAtStart:     "",
		SilentStart:      "",
		GarbageHandshake: "hello, I am a plugin\n",
		WrongVersion:     "1|99|unix|" + filepath.Join(dir, "none") + "|grpc\n",
		WrongCore:        "9|1|unix|" + filepath.Join(dir, "none") + "|grpc\n",
		WrongTransport:   line("netrpc"),
		DeadSocket:       line("grpc"),
	}
	text, ok = lines[m]
	return text, ok
}

// unknown answers go-plugin's own services, of which only the end is served.
func unknown(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if method == "/plugin.GRPCController/Shutdown" {
		os.Exit(0)
	}
	return status.Errorf(codes.Unimplemented, "%s is not served", method)
}

// server serves the stage of a plan.
type server struct {
	pluginpb.UnimplementedStageServer
	pluginpb.UnimplementedRescorerServer
	pluginpb.UnimplementedSamplerServer
	pluginpb.UnimplementedExporterServer

	plan  Plan
	calls atomic.Int64
	drip  atomic.Bool // answer one byte at a time from now on
	rows  []row       // of a sampler's index
}

// Describe says what the plan says.
func (s *server) Describe(ctx context.Context, _ *pluginpb.DescribeRequest) (*pluginpb.Description, error) {
	d := &pluginpb.Description{
		Kind: string(s.plan.Kind), Name: Name, Version: "1.0.0", Doc: "misbehaves as it is told",
		Capabilities: []string{string(stage.Deterministic)}, Concurrency: 1,
	}
	switch {
	case s.plan.Mode == HangDescribe && s.plan.strikes(1<<30, nil):
		<-ctx.Done()
		return nil, ctx.Err()
	case s.plan.Mode == BadDescription && s.plan.strikes(1<<30, nil):
		d.Kind = "wizard"
	}
	return d, nil
}

// Open makes the stage, which needs nothing.
func (s *server) Open(context.Context, *pluginpb.OpenRequest) (*pluginpb.OpenReply, error) {
	if s.plan.Mode == RefuseOpen && s.plan.strikes(1<<30, nil) {
		return nil, status.Error(codes.InvalidArgument, "no settings are good enough")
	}
	return &pluginpb.OpenReply{}, nil
}

// call counts a call and misbehaves in the ways that all kinds have in common.
// strikes says whether the kind has to misbehave in one of its own.
func (s *server) call(ctx context.Context, games []*pluginpb.Game) (strikes bool, err error) {
	if !s.plan.strikes(int(s.calls.Add(1)), games) {
		return false, nil
	}
	switch s.plan.Mode {
	case Exit:
		os.Exit(7)
	case Panic:
		go panic("panicking in the middle of a call, as told")
		select {}
	case Status:
		return false, status.Error(codes.Internal, "no luck today")
	case Hang:
		<-ctx.Done()
		return false, ctx.Err()
	case Drip:
		s.drip.Store(true)
		return false, nil // the answer is right, but it never ends
	}
	return true, nil
}

// hugeBytes is the size of the message of mode Huge, beyond every limit.
const hugeBytes = 40 << 20

// dripListener hands out connections that write one byte at a time once they are
// told to.
type dripListener struct {
	net.Listener
	drip *atomic.Bool
}

func (l *dripListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &dripConn{c, l.drip}, err
}

type dripConn struct {
	net.Conn
	drip *atomic.Bool
}

// dripPause is what lies between two bytes. The slowness itself is what is
// tested.
const dripPause = 100 * time.Millisecond

func (c *dripConn) Write(b []byte) (int, error) {
	if !c.drip.Load() {
		return c.Conn.Write(b)
	}
	for i := range b {
		time.Sleep(dripPause)
		if n, err := c.Conn.Write(b[i : i+1]); err != nil {
			return i + n, err
		}
	}
	return len(b), nil
}
