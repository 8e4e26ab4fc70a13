package plugintest

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/fsx/memfs"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Subject is a stage under test and the way in which it is reached.
type Subject struct {
	Definition *stage.Definition // what it says of itself
	Settings   map[string]string // of the instances under test; nil = the defaults

	// New makes an instance of its own with the given settings, or says what is
	// wrong with them.
	New func(ctx context.Context, settings map[string]string) (Stage, error)

	// Describe asks the other side for its description; nil where there is no
	// other side.
	Describe func(ctx context.Context) (*stage.Definition, error)
}

// Stage is one instance. Exactly one of the first three is set.
type Stage struct {
	Rescorer stage.Rescorer
	Sampler  stage.Sampler
	Exporter stage.Exporter

	FS    fsx.FS       // where the exporter writes; nil = the real file system
	Close func() error // lets go of the instance; nil = nothing to do
}

// Bare reaches a stage by plain calls.
func Bare(d *stage.Definition, settings map[string]string) Subject {
	return Subject{Definition: d, Settings: settings, New: func(_ context.Context, settings map[string]string) (Stage, error) {
		var s Stage
		var err error
		switch d.Kind {
		case stage.KindRescorer:
			s.Rescorer, err = d.MakeRescorer(settings)
		case stage.KindSampler:
			s.Sampler, err = d.MakeSampler(settings)
		case stage.KindExporter:
			s.Exporter, err = d.MakeExporter(settings)
		default:
			err = fmt.Errorf("stage %s: unknown kind %q", d.Name, d.Kind)
		}
		return s, err
	}}
}

// InProcess reaches a stage through the protocol, over a connection inside the
// process. An exporter's files go to a file system in memory, whose power can be
// cut.
func InProcess(d *stage.Definition, settings map[string]string) Subject {
	return Subject{
		Definition: d, Settings: settings,
		New: func(ctx context.Context, settings map[string]string) (Stage, error) {
			return openWire(ctx, d, settings)
		},
		Describe: func(ctx context.Context) (*stage.Definition, error) {
			w, err := newWire(d)
			if err != nil {
				return nil, err
			}
			defer w.close()
			return w.conn.Describe(ctx)
		},
	}
}

// wire is a gRPC server of a stage and a connection to it.
type wire struct {
	server *grpc.Server
	served chan error
	cc     *grpc.ClientConn
	conn   *api.Conn
}

// newWire serves d over memory.
func newWire(d *stage.Definition) (*wire, error) {
	listener := bufconn.Listen(1 << 20)
	w := &wire{server: grpc.NewServer(api.ServerOptions()...), served: make(chan error, 1)}
	api.Register(w.server, d)
	go func() { w.served <- w.server.Serve(listener) }()
	options := append(api.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	cc, err := grpc.NewClient("passthrough:///plugin", options...)
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	w.cc, w.conn = cc, api.NewConn(cc)
	return w, nil
}

// close ends both sides and waits for them.
func (w *wire) close() error { return errors.Join(w.cc.Close(), w.stop()) }

// stop ends the server.
func (w *wire) stop() error {
	w.server.Stop()
	if err := <-w.served; !errors.Is(err, grpc.ErrServerStopped) { // it may not have begun yet
		return err
	}
	return nil
}

// openWire makes an instance behind a connection of its own.
func openWire(ctx context.Context, d *stage.Definition, settings map[string]string) (s Stage, err error) {
	w, err := newWire(d)
	if err != nil {
		return s, err
	}
	// The streams of an instance outlive the call that made it.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s.Close = func() error {
		end()
		return w.close()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	described, err := w.conn.Describe(ctx)
	if err != nil {
		return s, err
	}
	if err := w.conn.Open(ctx, described, settings); err != nil {
		return s, err
	}
	switch d.Kind {
	case stage.KindRescorer:
		s.Rescorer = api.NewRescorer(w.conn, described)
	case stage.KindSampler:
		s.Sampler = api.NewSampler(life, w.conn, described)
	case stage.KindExporter:
		m := memfs.New()
		s.FS, s.Exporter = m, api.NewExporter(w.conn, described, m)
	default:
		err = fmt.Errorf("stage %s: unknown kind %q", d.Name, d.Kind)
	}
	return s, err
}

// Hosted reaches a stage through a host, as a run does: a built-in one or a
// program. d is what host.Definition says of it.
func Hosted(h *host.Host, d *stage.Definition, settings map[string]string) Subject {
	return Subject{
		Definition: d, Settings: settings,
		New: func(ctx context.Context, settings map[string]string) (s Stage, err error) {
			choice := stage.Choice{Name: d.Name, Settings: settings}
			var made any
			switch d.Kind {
			case stage.KindRescorer:
				s.Rescorer, err = h.Rescorer(ctx, choice)
				made = s.Rescorer
			case stage.KindSampler:
				s.Sampler, err = h.Sampler(ctx, choice)
				made = s.Sampler
			case stage.KindExporter:
				s.Exporter, err = h.Exporter(ctx, choice)
				made = s.Exporter
			default:
				err = fmt.Errorf("stage %s: unknown kind %q", d.Name, d.Kind)
			}
			s.Close = func() error { return h.Release(made) }
			return s, err
		},
		Describe: func(ctx context.Context) (*stage.Definition, error) {
			described, _, err := h.Definition(ctx, d.Kind, d.Name)
			return described, err
		},
	}
}
