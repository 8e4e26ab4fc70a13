package api

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Register serves d on s: the service Stage and the one of d's kind. s holds one
// instance, which Open makes. A panic of the stage in a call becomes that call's
// error (one in a goroutine that the stage started ends the process).
func Register(s *grpc.Server, d *stage.Definition) {
	in := newInstance(d)
	pluginpb.RegisterStageServer(s, in)
	switch d.Kind {
	case stage.KindRescorer:
		pluginpb.RegisterRescorerServer(s, &rescoreServer{in: in})
	case stage.KindSampler:
		pluginpb.RegisterSamplerServer(s, &sampleServer{in: in, idx: &Index{}})
	case stage.KindExporter:
		pluginpb.RegisterExporterServer(s, &exportServer{in: in})
	}
}

// instance is the one instance of a process, and the service Stage.
type instance struct {
	pluginpb.UnimplementedStageServer
	definition *stage.Definition
	slots      chan struct{} // one for each call that the stage works on at a time, over all streams; nil = any number

	mu   sync.Mutex // guards made, not the calls to it
	made any        // the stage; nil before Open
}

func newInstance(d *stage.Definition) *instance {
	in := &instance{definition: d}
	if d.Concurrency > 0 {
		in.slots = make(chan struct{}, d.Concurrency)
	}
	return in
}

// Describe says what the stage is.
func (in *instance) Describe(context.Context, *pluginpb.DescribeRequest) (*pluginpb.Description, error) {
	return encodeDefinition(in.definition), nil
}

// Open makes the instance.
func (in *instance) Open(_ context.Context, r *pluginpb.OpenRequest) (*pluginpb.OpenReply, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.made != nil {
		return nil, status.Error(codes.FailedPrecondition, "it is open already: a process holds one instance")
	}
	d := in.definition
	v, err := d.Values(r.GetSettings())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	var made any
	err = guard(func() (err error) {
		switch {
		case d.Kind == stage.KindRescorer && d.NewRescorer != nil:
			made, err = d.NewRescorer(v)
		case d.Kind == stage.KindSampler && d.NewSampler != nil:
			made, err = d.NewSampler(v)
		case d.Kind == stage.KindExporter && d.NewExporter != nil:
			made, err = d.NewExporter(v)
		default:
			return status.Errorf(codes.Unimplemented, "%s %s has no function that makes it", d.Kind, d.Name)
		}
		return err
	})
	if err != nil {
		return nil, refuse(codes.InvalidArgument, err)
	}
	if made == nil {
		return nil, status.Errorf(codes.Internal, "%s %s: the function that makes it returned nothing", d.Kind, d.Name)
	}
	in.made = made
	return &pluginpb.OpenReply{}, nil
}

// opened returns the stage of a process that is open.
func opened[T any](in *instance) (made T, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	made, ok := in.made.(T)
	if !ok {
		return made, status.Error(codes.FailedPrecondition, "it is not open yet")
	}
	return made, nil
}

// call is guard of one call of the stage, which waits while the stage works on as many
// as it can: a call whose stream was cancelled may go on for a while beside the next
// stream's.
func (in *instance) call(ctx context.Context, f func() error) error {
	if in.slots != nil {
		select {
		case in.slots <- struct{}{}:
			defer func() { <-in.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return guard(f)
}

// guard calls f and returns its error, or its panic as one.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			slog.Error("the stage panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = &panicError{v}
		}
	}()
	return f()
}

// wrongRequest is the answer to a message of the host that breaks the protocol.
func wrongRequest(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}
