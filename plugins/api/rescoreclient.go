package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// RescoreStream is an open stream to a plugin's rescorer. Several batches may be
// on their way; the plugin's answers come in their order. One goroutine may Send
// while another does Recv.
type RescoreStream struct {
	stream grpc.BidiStreamingClient[pluginpb.RescoreRequest, pluginpb.RescoreReply]
	cancel context.CancelFunc
	legal  bool                    // the plugin is sent legal moves
	send   pluginpb.RescoreRequest // reused by Send
	games  []*pluginpb.Game        // reused by Send

	mu      sync.Mutex
	waiting []awaited // batches that have not been answered, oldest first
}

// awaited is a batch whose answer has not come yet.
type awaited struct {
	batch uint64
	games int
}

// RescoreResult is the answer to one batch.
type RescoreResult struct {
	Batch    uint64
	Outcomes []Outcome // one for each game of the batch, in their order, not yet checked by Apply
	Faults   string    // what stage.Faulty says of the plugin's stage; "" = nothing
}

// OpenRescore opens a stream to a plugin that is open. The stream ends with ctx,
// or by Close.
func (c *Conn) OpenRescore(ctx context.Context, d *stage.Definition) (*RescoreStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.rescorer.Rescore(ctx, append(callOptions(), grpc.ForceCodecV2(newReplyCodec()))...)
	if err != nil {
		cancel()
		return nil, explain("rescore", err)
	}
	return &RescoreStream{stream: stream, cancel: cancel, legal: d.Has(stage.NeedsLegalMoves)}, nil
}

// Send sends one batch; batch is any number that the answer shall have. It waits
// while too much is on its way, and keeps nothing of games. ErrEnded: the plugin
// ended the stream, and Recv says why.
func (s *RescoreStream) Send(batch uint64, games []*record.Game) error {
	if len(games) > maxGames {
		return fmt.Errorf("rescore: %d games in a batch, at most %d", len(games), maxGames)
	}
	for len(s.games) < len(games) {
		s.games = append(s.games, new(pluginpb.Game))
	}
	s.send.Batch, s.send.Games = batch, s.games[:len(games)]
	for i, g := range games {
		if err := encodeFor(s.games[i], g, s.legal); err != nil {
			return fmt.Errorf("game %x: %w", g.ID, err)
		}
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, awaited{batch, len(games)})
	s.mu.Unlock()
	if err := s.stream.Send(&s.send); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("rescore: %w", ErrEnded)
		}
		return explain("rescore", err)
	}
	return nil
}

// CloseSend says that no more batches come; it is called where Send is.
func (s *RescoreStream) CloseSend() error { return explain("rescore", s.stream.CloseSend()) }

// Recv waits for the answer to the oldest batch. io.EOF: all is answered, after
// CloseSend. An answer to something else, or of another length, wraps ErrAnswer.
func (s *RescoreStream) Recv() (RescoreResult, error) {
	reply, err := s.stream.Recv()
	s.mu.Lock()
	open := len(s.waiting)
	var want awaited
	if open > 0 {
		want = s.waiting[0]
		s.waiting = s.waiting[1:]
	}
	s.mu.Unlock()
	switch {
	case errors.Is(err, io.EOF) && open > 0:
		return RescoreResult{}, wrongAnswer("rescore: the plugin ended the stream with %d batches unanswered", open)
	case errors.Is(err, io.EOF):
		return RescoreResult{}, io.EOF
	case err != nil:
		return RescoreResult{}, explain("rescore", err)
	case open == 0:
		return RescoreResult{}, wrongAnswer("rescore: an answer to batch %d, which nobody sent", reply.GetBatch())
	case reply.GetBatch() != want.batch:
		return RescoreResult{}, wrongAnswer("rescore: an answer to batch %d, want batch %d", reply.GetBatch(), want.batch)
	case len(reply.GetOutcomes()) != want.games:
		return RescoreResult{}, wrongAnswer("rescore: %d outcomes for the %d games of a batch", len(reply.GetOutcomes()), want.games)
	}
	result := RescoreResult{Batch: want.batch, Outcomes: make([]Outcome, want.games), Faults: reply.GetFaults()}
	for i, o := range reply.GetOutcomes() {
		result.Outcomes[i] = Outcome{Unchanged: o.GetChanged() == nil && o.GetError() == "", Game: o.GetChanged(), Err: o.GetError()}
	}
	return result, nil
}

// Close ends the stream at once, also under a Send or Recv.
func (s *RescoreStream) Close() { s.cancel() }
