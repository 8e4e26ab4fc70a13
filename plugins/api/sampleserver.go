package api

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// sampleServer is the service Sampler over a stage.Sampler. Its calls take turns.
type sampleServer struct {
	pluginpb.UnimplementedSamplerServer
	in *instance

	turn sync.Mutex // guards the sampler's use and what follows
	idx  *Index
}

// Sample takes in what is new in the index and draws.
func (s *sampleServer) Sample(ctx context.Context, r *pluginpb.SampleRequest) (*pluginpb.SampleReply, error) {
	sampler, err := opened[stage.Sampler](s.in)
	if err != nil {
		return nil, err
	}
	if r.GetRows() > MaxDraw || r.GetBatches() > maxAhead {
		return nil, wrongRequest("%d batches of %d rows, want at most %d of %d", r.GetBatches(), r.GetRows(), maxAhead, MaxDraw)
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := ctx.Err(); err != nil { // whoever gave up may have sent another index since
		return nil, status.FromContextError(err).Err()
	}
	if u := r.GetIndex(); u != nil {
		next, err := s.idx.Update(u)
		if err != nil {
			return nil, wrongRequest("index update: %s", err)
		}
		s.idx = next
	}
	reply := &pluginpb.SampleReply{}
	d := stage.Draw{State: r.GetState(), Seed: r.GetSeed(), Stream: r.GetStream(), Index: s.idx, Rows: int(r.GetRows())}
	for i := range r.GetBatches() {
		b, err := drawBatch(ctx, sampler, d)
		if err != nil && i > 0 {
			break // it may never be wanted
		}
		if err != nil {
			return nil, refuse(codes.InvalidArgument, err)
		}
		reply.Batches = append(reply.Batches, b)
		d.State = b.State
	}
	return reply, nil
}

func drawBatch(ctx context.Context, sampler stage.Sampler, d stage.Draw) (*pluginpb.SampleBatch, error) {
	var refs []stage.RowRef
	b := &pluginpb.SampleBatch{}
	err := guard(func() (err error) {
		refs, b.State, err = sampler.Sample(ctx, d, make([]stage.RowRef, 0, d.Rows))
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(b.State) > MaxState {
		return nil, status.Errorf(codes.Internal, "its state has %d bytes, at most %d", len(b.State), MaxState)
	}
	b.Games, b.Plies, b.Weights = make([]uint64, len(refs)), make([]uint32, len(refs)), make([]float32, len(refs))
	for i, r := range refs {
		b.Games[i], b.Plies[i], b.Weights[i] = r.Game, uint32(r.Ply), r.Weight
	}
	return b, nil
}
