package faulty

import (
	"context"
	"encoding/binary"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
)

type row struct {
	game uint64
	ply  uint32
}

// update takes an index update in.
func (s *server) update(u *pluginpb.IndexUpdate) {
	if u.GetReset_() {
		s.rows = nil
	}
	kept := 0
	for kept < len(s.rows) && s.rows[kept].game < u.GetOldest() {
		kept++
	}
	s.rows = s.rows[kept:]
	at := 0
	for i, seq := range u.GetSeq() {
		for range u.GetNumRows()[i] {
			s.rows = append(s.rows, row{seq, u.GetRowPly()[at]})
			at++
		}
	}
}

// Sample gives one batch of the rows of the index one after another, from the oldest,
// and begins again at the end. The state is how many rows it has given, little endian.
func (s *server) Sample(ctx context.Context, r *pluginpb.SampleRequest) (*pluginpb.SampleReply, error) {
	s.update(r.GetIndex())
	if r.GetBatches() == 0 {
		return &pluginpb.SampleReply{}, nil
	}
	strikes, err := s.call(ctx, nil)
	if err != nil {
		return nil, err
	}
	next := uint64(0)
	if state := r.GetState(); len(state) > 0 {
		next = binary.LittleEndian.Uint64(state)
	}
	if r.GetRows() > 0 && len(s.rows) == 0 {
		return nil, status.Error(codes.InvalidArgument, "no rows")
	}
	b := &pluginpb.SampleBatch{}
	for range r.GetRows() {
		at := s.rows[next%uint64(len(s.rows))]
		next++
		b.Games, b.Plies, b.Weights = append(b.Games, at.game), append(b.Plies, at.ply), append(b.Weights, 1)
	}
	b.State = binary.LittleEndian.AppendUint64(nil, next)
	reply := &pluginpb.SampleReply{Batches: []*pluginpb.SampleBatch{b}}
	if strikes {
		s.plan.spoilDraw(reply)
	}
	return reply, nil
}

// spoilDraw makes a reply wrong.
func (p Plan) spoilDraw(reply *pluginpb.SampleReply) {
	b := reply.Batches[0]
	last := len(b.Games) - 1
	switch p.Mode {
	case Huge:
		b.State = make([]byte, hugeBytes)
	case TooFew:
		b.Games, b.Plies, b.Weights = b.Games[:last], b.Plies[:last], b.Weights[:last]
	case TooMany:
		b.Games, b.Plies, b.Weights = append(b.Games, b.Games[last]), append(b.Plies, b.Plies[last]), append(b.Weights, 1)
	case BadBatch:
		reply.Batches = nil
	case Endless:
		for range 1000 {
			reply.Batches = append(reply.Batches, b)
		}
	case NaN:
		b.Weights[last] = float32(math.NaN())
	case BadIndex:
		b.Games[last] = 1 << 50
	case BadPly:
		b.Plies[last] = 1 << 20
	}
}
