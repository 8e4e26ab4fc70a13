package plugintest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// TestBuiltinsInProcess holds the built-in stages to the suite over gRPC inside this
// process: the output is that of plain calls.
func TestBuiltinsInProcess(t *testing.T) {
	settings := map[string]map[string]string{
		"deblunder": {"threshold": "0.05", "width": "0.1"}, "policy-temperature": {"temperature": "0.7", "offset": "-0.01"},
		"syzygy":     {"paths": golden.Path(t, "syzygy")},
		"diff-focus": {"q_weight": "4", "gamma": "1.5", "tau": "3"}, "hanse": {"by": "weights", "gamma": "0.8", "threshold": "60"},
		"position-selector": {"positions": "every", "every": "3", "offset": "1"},
		"prioritized":       {"alpha": "0.7", "beta": "0.5", "beta_rows": "5000"},
		"lc0":               {"encoding": "float16", "fold": "yes"}, "npz": {"games": "30", "rows": "200"}, "pgn": {"games": "20"},
	}
	for _, all := range [][]*stage.Definition{rescore.Definitions(), sample.Definitions(), export.Definitions()} {
		for _, d := range all {
			t.Run(d.Name, func(t *testing.T) { bothWays(t, d, settings[d.Name]) })
		}
	}
}

// bothWays runs the suite on a stage by plain calls and in process.
func bothWays(t *testing.T, d *stage.Definition, settings map[string]string) {
	t.Helper()
	seed := freshSeed(t)
	results, bare := check(t.Context(), Bare(d, settings), seed)
	report(t, results)
	results, wire := check(t.Context(), InProcess(d, settings), seed)
	report(t, results)
	if what := differ(bare, wire); what != "" || len(bare) == 0 {
		t.Errorf("the two ways differ in %q (%d outputs)", what, len(bare))
	}
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
		s.Rescorer = &wireRescorer{w.conn, described}
	case stage.KindSampler:
		s.Sampler = api.NewSampler(life, w.conn, described)
	case stage.KindExporter:
		m := memfs.New()
		s.FS, s.Exporter, s.CutPower = m, wireExporter{w.conn, described, m}, func() { m.Restart(memfs.DropAll) }
	default:
		err = fmt.Errorf("stage %s: unknown kind %q", d.Name, d.Kind)
	}
	return s, err
}

// wireExporter is a plugin's exporter without supervision.
type wireExporter struct {
	conn *api.Conn
	d    *stage.Definition
	fsys fsx.FS
}

func (e wireExporter) Name() string { return e.d.Name }

func (e wireExporter) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	return e.conn.Export(ctx, e.d, e.fsys, c, dst)
}

// wireRescorer is a plugin's rescorer without supervision.
type wireRescorer struct {
	conn *api.Conn
	d    *stage.Definition
}

func (r *wireRescorer) Name() string { return r.d.Name }

func (r *wireRescorer) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	return stage.RescoreOne(ctx, r, g)
}

// RescoreBatch sends each game in a message of its own, without waiting for answers in
// between.
func (r *wireRescorer) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := r.conn.OpenRescore(ctx, r.d)
	if err != nil {
		return nil, err
	}
	sent := make(chan error, 1)
	go func() {
		for i := range games {
			if err := s.Send(games[i : i+1]); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	var out []*record.Game
	for range games {
		var result api.Rescored
		if result, err = s.Recv(); err == nil {
			err = result.Errs[0]
		}
		if err != nil {
			break
		}
		out = append(out, result.Games[0])
	}
	s.Close()
	if sendErr := <-sent; sendErr != nil && err == nil {
		err = sendErr
	}
	return out, err
}
