package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// sampleServer is the service Sampler over a stage.Sampler. Its calls take turns.
type sampleServer struct {
	pluginpb.UnimplementedSamplerServer
	in *instance

	turn  sync.Mutex // guards the sampler's use and what follows
	large bool       // the state has outgrown MaxReplyState: it is not written at each draw any more
}

// sampler returns the instance.
func (s *sampleServer) sampler() (stage.Sampler, error) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if s.in.sampler == nil {
		return nil, errNotOpen
	}
	return s.in.sampler, nil
}

// Sample keeps the index of this stream and answers its draws.
func (s *sampleServer) Sample(stream grpc.BidiStreamingServer[pluginpb.SampleRequest, pluginpb.SampleReply]) error {
	sampler, err := s.sampler()
	if err != nil {
		return err
	}
	idx, whole := &index{}, true
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if u := request.GetIndex(); u != nil {
			if idx, err = idx.update(u); err != nil {
				return wrongRequest("index update: %s", err)
			}
			whole = u.GetLast()
			continue
		}
		if p := request.GetState(); p != nil {
			if err := s.back(stream.Context(), sampler, p); err != nil {
				return err
			}
			continue
		}
		draw := request.GetDraw()
		if draw == nil || !whole || draw.GetN() > MaxDraw {
			return wrongRequest("want a state, an index update or, after one that is complete, a draw of at most %d rows", MaxDraw)
		}
		reply, err := s.draw(stream.Context(), sampler, idx, draw)
		if err != nil {
			return err
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}

// draw answers one draw. Its error ends the stream: a panic, or the end of ctx.
func (s *sampleServer) draw(ctx context.Context, sampler stage.Sampler, idx *index, d *pluginpb.Draw) (*pluginpb.SampleReply, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := ctx.Err(); err != nil { // whoever ended the stream may have loaded another state since
		return nil, err
	}
	n := int(d.GetN())
	var refs []stage.RowRef
	err := guard(func() (err error) {
		refs, err = sampler.Sample(ctx, idx, n, make([]stage.RowRef, 0, n))
		return err
	})
	var p *panicError
	if errors.As(err, &p) || err != nil && ctx.Err() != nil {
		return nil, refuse(codes.Internal, err)
	}
	reply := &pluginpb.SampleReply{Batch: d.GetBatch()}
	if err != nil {
		reply.Error = nonEmpty(err.Error())
	} else {
		reply.Games, reply.Plies, reply.Weights = make([]uint64, len(refs)), make([]uint32, len(refs)), make([]float32, len(refs))
		for i, r := range refs {
			reply.Games[i], reply.Plies[i], reply.Weights[i] = r.Game, uint32(r.Ply), r.Weight
		}
	}
	if !s.large {
		st, err := saveState(sampler, MaxReplyState)
		switch {
		case errors.Is(err, errTooLarge):
			s.large = true
		case err != nil:
			return nil, refuse(codes.Internal, fmt.Errorf("save its state: %w", err))
		default:
			reply.State = encodeState(st)
		}
	}
	return reply, nil
}

// Seed seeds a sampler that can be seeded.
func (s *sampleServer) Seed(_ context.Context, r *pluginpb.SeedRequest) (*pluginpb.SeedReply, error) {
	sampler, err := s.sampler()
	if err != nil {
		return nil, err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	s.large = false
	if seeder, ok := sampler.(stage.Seeder); ok {
		err = guard(func() error { seeder.Seed(r.GetSeed(), r.GetStream()); return nil })
	}
	return &pluginpb.SeedReply{}, refuse(codes.Internal, err)
}

// Save returns the state.
func (s *sampleServer) Save(context.Context, *pluginpb.SaveRequest) (*pluginpb.State, error) {
	sampler, err := s.sampler()
	if err != nil {
		return nil, err
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	st, err := saveState(sampler, MaxState)
	if err != nil {
		return nil, refuse(codes.Internal, err)
	}
	return encodeState(st), nil
}

// Load replaces the state.
func (s *sampleServer) Load(_ context.Context, p *pluginpb.State) (*pluginpb.LoadReply, error) {
	sampler, err := s.sampler()
	if err != nil {
		return nil, err
	}
	st, err := decodeState(p)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.load(sampler, st); err != nil {
		return nil, refuse(codes.InvalidArgument, err)
	}
	return &pluginpb.LoadReply{}, nil
}

// load makes st the sampler's state. The caller has the turn.
func (s *sampleServer) load(sampler stage.Sampler, st State) error {
	s.large = false
	return guard(func() error {
		section := sampler.Section()
		if section.Name != st.Name {
			return fmt.Errorf("it is a state of %s, want one of %s", st.Name, section.Name)
		}
		return section.Load(bytes.NewReader(st.Data), st.Version)
	})
}

// back takes a sampler back to a state of its own. Its error ends the stream.
func (s *sampleServer) back(ctx context.Context, sampler stage.Sampler, p *pluginpb.State) error {
	st, err := decodeState(p)
	if err != nil {
		return wrongRequest("%s", err)
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := ctx.Err(); err != nil { // as in draw
		return err
	}
	if err := s.load(sampler, st); err != nil {
		return refuse(codes.Internal, fmt.Errorf("it refuses a state of its own: %w", err))
	}
	return nil
}

// errTooLarge says that a state has more bytes than asked for.
var errTooLarge = errors.New("the state is too large")

// saveState returns a sampler's state, errTooLarge where it has more than most
// bytes.
func saveState(sampler stage.Sampler, most int) (State, error) {
	var st State
	err := guard(func() error {
		section := sampler.Section()
		w := &limitedBuffer{most: most}
		err := section.Save(w)
		if w.over {
			return fmt.Errorf("%w: more than %d bytes", errTooLarge, most)
		}
		st = State{section.Name, section.Version, w.Bytes()}
		return err
	})
	return st, err
}

// limitedBuffer is a bytes.Buffer that refuses to hold more than most bytes.
type limitedBuffer struct {
	bytes.Buffer
	most int
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.over = b.over || b.Len()+len(p) > b.most; b.over {
		return 0, errTooLarge
	}
	return b.Buffer.Write(p)
}
