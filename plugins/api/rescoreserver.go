package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// rescoreServer is the service Rescorer over a stage.Rescorer.
type rescoreServer struct {
	pluginpb.UnimplementedRescorerServer
	in *instance
}

// Rescore answers batch after batch. Games of a batch are worked on by several
// goroutines where the stage's Concurrency allows.
func (s *rescoreServer) Rescore(stream grpc.BidiStreamingServer[pluginpb.RescoreRequest, pluginpb.RescoreReply]) error {
	r, err := opened[stage.Rescorer](s.in)
	if err != nil {
		return err
	}
	workers := runtime.GOMAXPROCS(0)
	if c := s.in.definition.Concurrency; c > 0 {
		workers = min(workers, c)
	}
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		games, err := decodeGames(request.GetGames())
		if err != nil {
			return wrongRequest("batch %d: %s", request.GetBatch(), err)
		}
		outcomes, err := s.rescoreBatch(stream.Context(), r, games, workers)
		if err != nil {
			return err
		}
		if err := stream.Send(&pluginpb.RescoreReply{Batch: request.GetBatch(), Outcomes: outcomes, Faults: faultsOf(r)}); err != nil {
			return err
		}
	}
}

// decodeGames returns the games of a message, which they alias.
func decodeGames(list []*pluginpb.Game) ([]*record.Game, error) {
	games := make([]*record.Game, len(list))
	for i, p := range list {
		var err error
		if games[i], err = decodeGame(p); err != nil {
			return nil, err
		}
	}
	return games, nil
}

// faultsOf returns what a stage says that it found broken.
func faultsOf(r stage.Rescorer) string {
	if f, ok := r.(stage.Faulty); ok {
		if err := f.Err(); err != nil {
			return err.Error()
		}
	}
	return ""
}

// rescoreBatch returns one outcome for each game. Its error ends the stream: a
// panic, or the end of ctx. A stage that works on batches and fails is asked
// again game by game, so that the error falls on those that it is about.
func (s *rescoreServer) rescoreBatch(ctx context.Context, r stage.Rescorer, games []*record.Game, workers int) ([]*pluginpb.Outcome, error) {
	if batch, ok := r.(stage.BatchRescorer); ok {
		var out []*record.Game
		err := s.in.call(ctx, func() (err error) { out, err = batch.RescoreBatch(ctx, games); return err })
		if _, panicked := errors.AsType[*panicError](err); panicked {
			return nil, refuse(codes.Internal, err)
		}
		if err == nil && len(out) != len(games) {
			return nil, status.Errorf(codes.Internal, "the stage returned %d games for %d", len(out), len(games))
		}
		if err == nil {
			outcomes := make([]*pluginpb.Outcome, len(games))
			for i, g := range games {
				outcomes[i] = outcomeOf(g, out[i], nil)
			}
			return outcomes, nil
		}
	}
	return s.rescoreSingly(ctx, r, games, workers)
}

// rescoreSingly is rescoreBatch game by game, several at a time.
func (s *rescoreServer) rescoreSingly(ctx context.Context, r stage.Rescorer, games []*record.Game, workers int) ([]*pluginpb.Outcome, error) {
	outcomes := make([]*pluginpb.Outcome, len(games))
	var next atomic.Int64
	work := func() error {
		for i := int(next.Add(1)) - 1; i < len(games); i = int(next.Add(1)) - 1 {
			var out *record.Game
			err := s.in.call(ctx, func() (err error) { out, err = r.Rescore(ctx, games[i]); return err })
			if _, panicked := errors.AsType[*panicError](err); panicked || err != nil && ctx.Err() != nil {
				return refuse(codes.Internal, err)
			}
			outcomes[i] = outcomeOf(games[i], out, err)
		}
		return nil
	}
	var group errgroup.Group
	for range min(workers, len(games)) {
		group.Go(work)
	}
	return outcomes, group.Wait()
}

// outcomeOf returns the message for what became of g.
func outcomeOf(g, out *record.Game, err error) *pluginpb.Outcome {
	switch {
	case err != nil:
		return &pluginpb.Outcome{Error: cmp.Or(err.Error(), "an error without a text")} // "" would be none
	case out == nil:
		return &pluginpb.Outcome{Error: "the stage returned no game"}
	}
	return encodeChanges(g, out)
}
