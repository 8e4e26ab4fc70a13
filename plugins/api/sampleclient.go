package api

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// maxAhead is the most batches that one call draws.
const maxAhead = 16

// Sampler is a plugin's sampler as a stage that is not supervised. It remembers what
// index it has sent and sends differences. A call to the plugin draws several batches;
// later ones wait here for a caller who goes on from the state before them. Safe for
// concurrent use; calls take turns.
type Sampler struct {
	conn *Conn
	name string
	life context.Context // bounds the calls of the plugin

	turn chan struct{} // holds one token while no call is under way; it guards what follows
	sent indexSender
	made []batch // from the index that was sent, each from the state of the one before
	used int     // batches handed out from this index
	last int     // and from the index before it
}

// batch is what came of a draw.
type batch struct {
	of    stage.Draw // without its index
	rows  []stage.RowRef
	state []byte
}

var _ stage.Sampler = (*Sampler)(nil)

// NewSampler returns the sampler of a plugin that is open, usable until life ends.
func NewSampler(life context.Context, c *Conn, d *stage.Definition) *Sampler {
	s := &Sampler{conn: c, name: d.Name, life: life, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

func (s *Sampler) Name() string { return s.name }

// Sample draws d.Rows rows, at most MaxDraw. An answer that is not d.Rows rows of the
// index with finite weights >= 0 wraps ErrAnswer. At the end of ctx the plugin goes on
// for itself, so that its index is known, and the next call waits for it.
func (s *Sampler) Sample(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	if err := ctx.Err(); err != nil {
		return dst, nil, err
	}
	if d.Rows < 0 || d.Rows > MaxDraw || len(d.State) > MaxState {
		return dst, nil, fmt.Errorf("sample: %d rows from a state of %d bytes, at most %d from %d", d.Rows, len(d.State), MaxDraw, MaxState)
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return dst, nil, fmt.Errorf("sample: %w", ctx.Err())
	}
	var b batch
	done := make(chan error, 1)
	go func() {
		var err error
		b, err = s.next(d)
		s.turn <- struct{}{}
		done <- err
	}()
	select {
	case err := <-done:
		return append(dst, b.rows...), b.state, err
	case <-ctx.Done():
		return dst, nil, fmt.Errorf("sample: %w", ctx.Err())
	}
}

// next returns the batch of a draw. After an error the plugin's index is not known.
func (s *Sampler) next(d stage.Draw) (batch, error) {
	if d.Rows > 0 && !s.sent.holds(d.Index) {
		s.made, s.used, s.last = nil, 0, s.used
	}
	if len(s.made) == 0 || !s.made[0].isOf(d) {
		var err error
		if s.made, err = s.ask(d); err != nil {
			s.sent = indexSender{}
			return batch{}, err
		}
	}
	b := s.made[0]
	s.made = s.made[1:]
	s.used++
	return b, nil
}

// isOf says whether the batch is that of a draw from the same index.
func (b *batch) isOf(d stage.Draw) bool {
	return b.of.Rows == d.Rows && bytes.Equal(b.of.State, d.State) && (len(d.State) > 0 || b.of.Seed == d.Seed && b.of.Stream == d.Stream)
}

// ask draws the batch of d, and others after it.
func (s *Sampler) ask(d stage.Draw) ([]batch, error) {
	r := &pluginpb.SampleRequest{State: d.State, Seed: d.Seed, Stream: d.Stream, Rows: uint32(d.Rows), Batches: 1}
	if d.Rows > 0 {
		r.Batches = uint32(s.numBatches(d))
		var err error
		r.Index, err = s.sent.update(d.Index, func(u *pluginpb.IndexUpdate) error {
			_, err := s.call(&pluginpb.SampleRequest{Index: u})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	reply, err := s.call(r)
	if err != nil {
		return nil, err
	}
	got := reply.GetBatches()
	if len(got) == 0 || len(got) > int(r.Batches) {
		return nil, wrongAnswer("sample: %d batches, want 1 to %d", len(got), r.Batches)
	}
	made := make([]batch, len(got))
	for i, b := range got {
		made[i] = batch{of: d, state: b.GetState()}
		made[i].of.Index = nil
		if made[i].rows, err = rowsOf(b, d); err != nil {
			return nil, err
		}
		d.State = b.GetState()
	}
	return made, nil
}

// numBatches is how many batches to ask for: as a rule an index is drawn from as often
// as the one before it, as where a trainer does so many steps for each game; beyond
// that, as many as it gave so far. They fit into a message.
func (s *Sampler) numBatches(d stage.Draw) int {
	n := s.used
	if s.last > s.used {
		n = s.last - s.used
	}
	return max(1, min(n, maxAhead, BatchBytes/(len(d.State)+16*d.Rows)))
}

func (s *Sampler) call(r *pluginpb.SampleRequest) (*pluginpb.SampleReply, error) {
	reply, err := pluginpb.NewSamplerClient(s.conn.cc).Sample(s.life, r, append(callOptions(), grpc.ForceCodecV2(newReplyCodec()))...)
	return reply, explain("sample", err)
}

// rowsOf returns the rows of an answer to d, once they and the state are checked.
func rowsOf(b *pluginpb.SampleBatch, d stage.Draw) ([]stage.RowRef, error) {
	games, plies, weights := b.GetGames(), b.GetPlies(), b.GetWeights()
	if len(games) != d.Rows || len(plies) != d.Rows || len(weights) != d.Rows {
		return nil, wrongAnswer("sample: %d games, %d plies and %d weights for a draw of %d rows", len(games), len(plies), len(weights), d.Rows)
	}
	if n := len(b.GetState()); n > MaxState {
		return nil, wrongAnswer("sample: a state of %d bytes, at most %d", n, MaxState)
	}
	rows := make([]stage.RowRef, d.Rows)
	for i := range rows {
		if plies[i] > math.MaxInt32 || !stage.Holds(d.Index, games[i], int32(plies[i])) {
			return nil, wrongAnswer("sample: row %d: game %d, ply %d is not in the index", i, games[i], plies[i])
		}
		if w := weights[i]; !(w >= 0 && w <= math.MaxFloat32) {
			return nil, wrongAnswer("sample: row %d: weight %g, want a finite number >= 0", i, w)
		}
		rows[i] = stage.RowRef{Game: games[i], Ply: int32(plies[i]), Weight: weights[i]}
	}
	return rows, nil
}
