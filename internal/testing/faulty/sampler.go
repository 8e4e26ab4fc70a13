package faulty

import (
	"context"
	"encoding/binary"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
)

// sampler gives the rows of the index one after another, from the oldest, and
// begins again at the end.
type sampler struct {
	next uint64 // the state: how many rows it has given
	rows []row
}

type row struct {
	game uint64
	ply  uint32
}

// stateVersion is that of the state: next, little endian.
const stateVersion = 1

func (c *sampler) state() *pluginpb.State {
	return &pluginpb.State{Name: Name, Version: stateVersion, Data: binary.LittleEndian.AppendUint64(nil, c.next)}
}

// update takes an index update in.
func (c *sampler) update(u *pluginpb.IndexUpdate) {
	if u.GetReset_() {
		c.rows = nil
	}
	kept := 0
	for kept < len(c.rows) && c.rows[kept].game < u.GetOldest() {
		kept++
	}
	c.rows = c.rows[kept:]
	at := 0
	for i, seq := range u.GetSeq() {
		for range u.GetNumRows()[i] {
			c.rows = append(c.rows, row{seq, u.GetRowPly()[at]})
			at++
		}
	}
}

// draw returns the proper reply.
func (c *sampler) draw(d *pluginpb.Draw) *pluginpb.SampleReply {
	reply := &pluginpb.SampleReply{Batch: d.GetBatch()}
	if len(c.rows) == 0 {
		reply.Error = "no rows"
		return reply
	}
	for range d.GetN() {
		r := c.rows[c.next%uint64(len(c.rows))]
		c.next++
		reply.Games, reply.Plies, reply.Weights = append(reply.Games, r.game), append(reply.Plies, r.ply), append(reply.Weights, 1)
	}
	reply.State = c.state()
	return reply
}

// Sample answers draws. A draw that it misbehaves in does not count.
func (s *server) Sample(stream grpc.BidiStreamingServer[pluginpb.SampleRequest, pluginpb.SampleReply]) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil
		}
		if u := request.GetIndex(); u != nil {
			s.cursor.update(u)
			continue
		}
		if p := request.GetState(); p != nil {
			s.cursor.next = binary.LittleEndian.Uint64(p.GetData())
			continue
		}
		strikes, err := s.call(stream.Context(), nil)
		if err != nil {
			return err
		}
		reply := s.cursor.draw(request.GetDraw())
		if strikes {
			s.plan.spoilDraw(reply)
		}
		for {
			if err := stream.Send(reply); err != nil {
				return err
			}
			if !strikes || s.plan.Mode != Endless {
				break
			}
		}
	}
}

// spoilDraw makes a reply wrong.
func (p Plan) spoilDraw(reply *pluginpb.SampleReply) {
	last := len(reply.Games) - 1
	switch p.Mode {
	case Huge:
		reply.State.Data = make([]byte, hugeBytes)
	case TooFew:
		reply.Games, reply.Plies, reply.Weights = reply.Games[:last], reply.Plies[:last], reply.Weights[:last]
	case TooMany:
		reply.Games, reply.Plies, reply.Weights = append(reply.Games, reply.Games[last]), append(reply.Plies, reply.Plies[last]), append(reply.Weights, 1)
	case BadBatch:
		reply.Batch += 1000
	case NaN:
		reply.Weights[last] = float32(math.NaN())
	case BadIndex:
		reply.Games[last] = 1 << 50
	case BadPly:
		reply.Plies[last] = 1 << 20
	}
}

// Seed has nothing to do: the order is fixed.
func (s *server) Seed(context.Context, *pluginpb.SeedRequest) (*pluginpb.SeedReply, error) {
	return &pluginpb.SeedReply{}, nil
}

// Save returns the state.
func (s *server) Save(context.Context, *pluginpb.SaveRequest) (*pluginpb.State, error) {
	return s.cursor.state(), nil
}

// Load goes on from a state.
func (s *server) Load(_ context.Context, st *pluginpb.State) (*pluginpb.LoadReply, error) {
	if st.GetName() != Name || st.GetVersion() != stateVersion || len(st.GetData()) != 8 {
		return nil, status.Errorf(codes.InvalidArgument, "a state of %s, version %d, %d bytes", st.GetName(), st.GetVersion(), len(st.GetData()))
	}
	s.cursor.next = binary.LittleEndian.Uint64(st.GetData())
	return &pluginpb.LoadReply{}, nil
}
