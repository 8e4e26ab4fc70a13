package selfplay

import (
	"sync/atomic"

	"github.com/chessbrain/chessbrain/record"
)

// Stats counts what workers do. Its fields are read and written at any time by
// any goroutine; several workers may share one.
type Stats struct {
	GamesStarted   atomic.Uint64
	GamesFinished  atomic.Uint64 // handed to the sink
	GamesAbandoned atomic.Uint64 // left unfinished by a stop or an error
	Plies          atomic.Uint64 // positions in which a search or the policy picked a move
	Visits         atomic.Uint64 // root visits that searches added
	Evaluations    atomic.Uint64 // rows that the evaluator answered
	Batches        atomic.Uint64
	CacheHits      atomic.Uint64
	CacheMisses    atomic.Uint64
	NetChanges     atomic.Uint64 // new generations seen, per worker
	GamesResumed   atomic.Uint64 // unfinished games gone on with: started + resumed = finished + abandoned + under way

	// The time of the workers by the wall clock, in nanoseconds: counted a few times a batch.
	TreeNanos    atomic.Int64 // selection, rows of the batch, expansion, backup, records
	NetworkNanos atomic.Int64 // inside Evaluate
	WaitNanos    atomic.Int64 // with two pools: tree work done, the network not yet
	SinkNanos    atomic.Int64 // inside Put

	WhiteWins, Draws, BlackWins atomic.Uint64
	PliesOfFinished             atomic.Uint64 // for the mean length
	Ends                        [numEnds]atomic.Uint64

	Forks         atomic.Uint64 // games begun that branched off another; they count as games, too
	SidePositions atomic.Uint64 // begun; they count among the games started and finished and in Ends, not in results and lengths

	// Of games that would have been resigned and were played on; a resignation
	// is false where the side that would have resigned did not lose.
	ResignsPlayedOn, FalseResigns atomic.Uint64
}

// numEnds is the number of end reasons that are counted apart.
const numEnds = 16

// noGame stands for the colour that resigned where a side position was finished.
const noGame = -2

// finished counts a game that went to the sink. resigner is the colour that
// would have resigned in a game played on, -1 = none, or noGame.
func (s *Stats) finished(plies int, end record.EndReason, whiteResult int8, resigner int) {
	s.Ends[end&(numEnds-1)].Add(1)
	s.GamesFinished.Add(1)
	if resigner == noGame {
		return
	}
	switch {
	case whiteResult > 0:
		s.WhiteWins.Add(1)
	case whiteResult < 0:
		s.BlackWins.Add(1)
	default:
		s.Draws.Add(1)
	}
	s.PliesOfFinished.Add(uint64(plies))
	if resigner < 0 {
		return
	}
	s.ResignsPlayedOn.Add(1)
	lost := resigner == 0 && whiteResult < 0 || resigner == 1 && whiteResult > 0
	if !lost {
		s.FalseResigns.Add(1)
	}
}
