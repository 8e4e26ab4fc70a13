package faulty

import (
	"math"

	"google.golang.org/grpc"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
)

// Rescore adds 1 to the weight of every ply.
func (s *server) Rescore(stream grpc.BidiStreamingServer[pluginpb.RescoreRequest, pluginpb.RescoreReply]) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil // the host has no more, or is gone
		}
		strikes, err := s.call(stream.Context(), request.GetGames())
		if err != nil {
			return err
		}
		reply := rescored(request)
		if strikes {
			s.plan.spoil(request, reply)
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

// rescored returns the proper reply.
func rescored(request *pluginpb.RescoreRequest) *pluginpb.RescoreReply {
	reply := &pluginpb.RescoreReply{Batch: request.GetBatch()}
	for _, g := range request.GetGames() {
		changed := &pluginpb.Game{Id: g.GetId()}
		for _, w := range g.GetWeights() {
			changed.Weights = append(changed.Weights, w+1)
		}
		reply.Outcomes = append(reply.Outcomes, &pluginpb.Outcome{Changed: changed})
	}
	return reply
}

// spoil makes a reply wrong. Faults of a game hit the first one
// that has a policy.
func (p Plan) spoil(request *pluginpb.RescoreRequest, reply *pluginpb.RescoreReply) {
	switch p.Mode {
	case Huge:
		reply.Faults = string(make([]byte, hugeBytes))
	case TooFew:
		reply.Outcomes = reply.Outcomes[:len(reply.Outcomes)-1]
	case TooMany:
		reply.Outcomes = append(reply.Outcomes, &pluginpb.Outcome{})
	case BadBatch:
		reply.Batch += 1000
	}
	for i, g := range request.GetGames() {
		if len(g.GetCounts())+len(g.GetProbs()) > 0 && i < len(reply.Outcomes) {
			p.spoilGame(g, reply.Outcomes[i].GetChanged())
			return
		}
	}
}

// spoilGame makes the outcome of g wrong.
func (p Plan) spoilGame(g, changed *pluginpb.Game) {
	plies := len(g.GetMoves())
	switch p.Mode {
	case NaN:
		changed.Weights[plies-1] = float32(math.NaN())
	case BadMove: // the whole game, as one that has moves has to be
		changed.Start, changed.NetId, changed.Seed, changed.Ordinal = g.GetStart(), g.GetNetId(), g.GetSeed(), g.GetOrdinal()
		changed.Flags, changed.End, changed.WhiteResult, changed.Extra = g.GetFlags(), g.GetEnd(), g.GetWhiteResult(), g.GetExtra()
		changed.Moves = append(changed.Moves, g.GetMoves()...)
		changed.Moves[0] = g.GetMoves()[0] ^ 1
	case BadGame:
		changed.Id = append([]byte(nil), g.GetId()...)
		changed.Id[0] ^= 1
	case BadValue:
		changed.Values = append(changed.Values, g.GetValues()...)
		changed.Values[0] = 3
	case BadIndex: // an entry for a move that there is not
		changed.PolicyKind, changed.PolicySize = make([]byte, plies), make([]uint32, plies)
		changed.PolicyKind[0], changed.PolicySize[0] = 2, 300
		changed.Probs = make([]float32, 300)
		changed.Probs[299] = 1
	case BadSum: // in the first ply that has a policy; the others lose theirs
		changed.PolicyKind, changed.PolicySize = make([]byte, plies), make([]uint32, plies)
		for i, size := range g.GetPolicySize() {
			if size > 0 {
				changed.PolicyKind[i], changed.PolicySize[i] = 2, size
				changed.Probs = make([]float32, size)
				changed.Probs[0] = 0.5
				break
			}
		}
	}
}
