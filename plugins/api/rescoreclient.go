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

// NewRescorer returns the plugin's rescorer as a stage that is not supervised: an
// error of the plugin is that of the call. It is also a stage.Faulty.
func NewRescorer(c *Conn, d *stage.Definition) stage.BatchRescorer {
	return &rescorer{conn: c, definition: d}
}

type rescorer struct {
	conn       *Conn
	definition *stage.Definition

	mu     sync.Mutex
	faults string
}

var _ stage.Faulty = (*rescorer)(nil)

// Name returns the stage's name.
func (r *rescorer) Name() string { return r.definition.Name }

// Err is what the plugin said of broken things in its last answer.
func (r *rescorer) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faults == "" {
		return nil
	}
	return errors.New(r.faults)
}

// Rescore returns what the plugin makes of one game.
func (r *rescorer) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	out, err := r.RescoreBatch(ctx, []*record.Game{g})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// RescoreBatch sends the games in messages of BatchBytes without waiting for
// answers in between.
func (r *rescorer) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	if err := ctx.Err(); err != nil || len(games) == 0 {
		return nil, err
	}
	s, err := r.conn.OpenRescore(ctx, r.definition)
	if err != nil {
		return nil, err
	}
	runs := Split(games)
	sent := make(chan error, 1)
	go func() { sent <- sendAll(s, runs) }()
	out, err := r.receive(s, games, len(runs))
	s.Close()
	if sendErr := <-sent; sendErr != nil && !errors.Is(sendErr, ErrEnded) && !errors.Is(sendErr, context.Canceled) {
		return nil, sendErr
	}
	return out, err
}

// sendAll sends runs of games as batches 0, 1, ... It ends the stream where a
// game cannot be sent.
func sendAll(s *RescoreStream, runs [][]*record.Game) error {
	for i, run := range runs {
		if err := s.Send(uint64(i), run); err != nil {
			s.Close()
			return err
		}
	}
	return s.CloseSend()
}

// receive returns the games that the answers to some batches make of games.
func (r *rescorer) receive(s *RescoreStream, games []*record.Game, batches int) ([]*record.Game, error) {
	out := make([]*record.Game, 0, len(games))
	for range batches {
		result, err := s.Recv()
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.faults = result.Faults
		r.mu.Unlock()
		for _, o := range result.Outcomes {
			g, err := Apply(games[len(out)], o)
			if err != nil {
				return nil, err
			}
			out = append(out, g)
		}
	}
	return out, nil
}
