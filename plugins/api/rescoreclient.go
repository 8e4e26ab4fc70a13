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
	games []*record.Game
}

// Rescored is the checked answer to one batch: beside each of its games what became
// of it, or why the plugin refuses it.
type Rescored struct {
	Games  []*record.Game // nil where there is an error
	Errs   []error
	Faults string // what stage.Faulty says of the plugin's stage; "" = nothing
}

// OpenRescore opens a stream to a plugin that is open. The stream ends with ctx,
// or by Close.
func (c *Conn) OpenRescore(ctx context.Context, d *stage.Definition) (*RescoreStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := pluginpb.NewRescorerClient(c.cc).Rescore(ctx, append(callOptions(), grpc.ForceCodecV2(newReplyCodec()))...)
	if err != nil {
		cancel()
		return nil, explain("rescore", err)
	}
	return &RescoreStream{stream: stream, cancel: cancel, legal: d.Has(stage.NeedsLegalMoves)}, nil
}

// Send sends one batch. It waits while too much is on its way. ErrEnded: the plugin
// ended the stream, and Recv says why.
func (s *RescoreStream) Send(games []*record.Game) error {
	if len(games) > maxGames {
		return fmt.Errorf("rescore: %d games in a batch, at most %d", len(games), maxGames)
	}
	for len(s.games) < len(games) {
		s.games = append(s.games, new(pluginpb.Game))
	}
	s.send.Batch++
	s.send.Games = s.games[:len(games)]
	for i, g := range games {
		if err := encodeFor(s.games[i], g, s.legal); err != nil {
			return fmt.Errorf("game %x: %w", g.ID, err)
		}
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, awaited{s.send.Batch, games})
	s.mu.Unlock()
	if err := s.stream.Send(&s.send); err != nil {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("rescore: %w", ErrEnded)
		}
		return explain("rescore", err)
	}
	return nil
}

// Recv waits for the answer to the oldest batch. io.EOF: all is answered, and the plugin
// ended the stream. An answer to something else, of another length or with a game that apply
// refuses wraps ErrAnswer.
func (s *RescoreStream) Recv() (Rescored, error) {
	reply, err := s.stream.Recv()
	s.mu.Lock()
	open := len(s.waiting)
	var want awaited
	if open > 0 {
		want = s.waiting[0]
		s.waiting = s.waiting[1:]
	}
	s.mu.Unlock()
	outcomes := reply.GetOutcomes()
	switch {
	case errors.Is(err, io.EOF) && open > 0:
		return Rescored{}, wrongAnswer("rescore: the plugin ended the stream with %d batches unanswered", open)
	case errors.Is(err, io.EOF):
		return Rescored{}, io.EOF
	case err != nil:
		return Rescored{}, explain("rescore", err)
	case open == 0:
		return Rescored{}, wrongAnswer("rescore: an answer to batch %d, which nobody sent", reply.GetBatch())
	case reply.GetBatch() != want.batch:
		return Rescored{}, wrongAnswer("rescore: an answer to batch %d, want batch %d", reply.GetBatch(), want.batch)
	case len(outcomes) != len(want.games):
		return Rescored{}, wrongAnswer("rescore: %d outcomes for the %d games of a batch", len(outcomes), len(want.games))
	}
	result := Rescored{Games: make([]*record.Game, len(outcomes)), Errs: make([]error, len(outcomes)), Faults: reply.GetFaults()}
	for i, o := range outcomes {
		if text := o.GetError(); text != "" {
			result.Errs[i] = errors.New(text)
		} else if result.Games[i], err = apply(want.games[i], o.GetChanged()); err != nil {
			return Rescored{}, err
		}
	}
	return result, nil
}

// Close ends the stream at once, also under a Send or Recv.
func (s *RescoreStream) Close() { s.cancel() }
