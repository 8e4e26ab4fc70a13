package selfplay

import (
	"reflect"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/record"
)

// Counters are what workers count, and the nanoseconds that they need by the wall
// clock, which are read a few times a batch: in Stats N and T are atomic, in a Snapshot
// plain.
type Counters[N, T any] struct {
	GamesStarted    N `json:"games_started"`
	GamesResumed    N `json:"games_resumed"`   // unfinished games gone on with: started + resumed = finished + abandoned + under way
	GamesFinished   N `json:"games_finished"`  // handed to the sink
	GamesAbandoned  N `json:"games_abandoned"` // left unfinished by a stop or an error
	Forks           N `json:"forks"`           // games begun that branched off another; they count as games, too
	SidePositions   N `json:"side_positions"`  // begun; they count among the games started and finished, not in ends, results and lengths
	Positions       N `json:"positions"`       // in which a search or the policy picked a move
	Visits          N `json:"visits"`          // root visits that searches added
	Evaluations     N `json:"evaluations"`     // rows that the evaluator answered
	Batches         N `json:"batches"`
	CacheHits       N `json:"cache_hits"`
	CacheMisses     N `json:"cache_misses"`
	NetChanges      N `json:"net_changes"` // new generations seen, per worker
	WhiteWins       N `json:"white_wins"`
	Draws           N `json:"draws"`
	BlackWins       N `json:"black_wins"`
	PliesOfFinished N `json:"plies_of_finished"` // for the mean length
	ResignsPlayedOn N `json:"resigns_played_on"` // games that would have been resigned
	FalseResigns    N `json:"false_resigns"`     // the side that would have resigned did not lose

	Tree    T `json:"tree_ns"`    // selection, rows of the batch, expansion, backup, records
	Network T `json:"network_ns"` // inside Evaluate
	Wait    T `json:"wait_ns"`    // with two pools: tree work done, the network not yet
	Sink    T `json:"sink_ns"`    // inside Put
}

// Stats counts what workers do. Its fields are read and written at any time by
// any goroutine; several workers may share one.
type Stats struct {
	Counters[atomic.Uint64, atomic.Int64]
	Ends  [numEnds]atomic.Uint64 // games by end reason
	Shown Shown                  // games under way, for whoever watches
}

// numEnds is the number of end reasons that are counted apart.
const numEnds = 16

// noGame stands for the colour that resigned where a side position was finished.
const noGame = -2

// finished counts a game that went to the sink. resigner is the colour that
// would have resigned in a game played on, -1 = none, or noGame.
func (s *Stats) finished(plies int, end record.EndReason, whiteResult int8, resigner int) {
	s.GamesFinished.Add(1)
	if resigner == noGame {
		return // it has no end: its one position was searched, and not played on
	}
	s.Ends[end&(numEnds-1)].Add(1)
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

// Snapshot is what Stats had counted at some time, for reports: the counters
// first, what is derived from them below.
type Snapshot struct {
	Counters[uint64, time.Duration]
	Ends map[string]uint64 `json:"ends"` // end reasons that occurred, by name
}

// Snapshot returns the counters. Workers may go on counting meanwhile, so that
// counters read later may be a little ahead of those read before.
func (s *Stats) Snapshot() Snapshot {
	n := Snapshot{Ends: make(map[string]uint64)}
	from, to := reflect.ValueOf(&s.Counters).Elem(), reflect.ValueOf(&n.Counters).Elem()
	for i := range from.NumField() {
		switch count := from.Field(i).Addr().Interface().(type) {
		case *atomic.Uint64:
			to.Field(i).SetUint(count.Load())
		case *atomic.Int64:
			to.Field(i).SetInt(count.Load())
		}
	}
	for i := range s.Ends {
		if count := s.Ends[i].Load(); count > 0 {
			n.Ends[record.EndReason(i).String()] = count
		}
	}
	return n
}

// MeanBatch returns the positions of a batch, 0 without one.
func (n Snapshot) MeanBatch() float64 { return ratio(n.Evaluations, n.Batches) }

// CacheHitShare returns the share of look-ups that the cache answered, 0..1.
func (n Snapshot) CacheHitShare() float64 { return ratio(n.CacheHits, n.CacheHits+n.CacheMisses) }

// DrawShare returns the share of draws among the finished games, side positions
// left out, 0..1.
func (n Snapshot) DrawShare() float64 { return ratio(n.Draws, n.results()) }

// MeanPlies returns the length of a finished game, side positions left out.
func (n Snapshot) MeanPlies() float64 { return ratio(n.PliesOfFinished, n.results()) }

func (n Snapshot) results() uint64 { return n.WhiteWins + n.Draws + n.BlackWins }

// ResignError returns the share of false resignations among those played on,
// 0..1; ok = false: none was.
func (n Snapshot) ResignError() (share float64, ok bool) {
	return ratio(n.FalseResigns, n.ResignsPlayedOn), n.ResignsPlayedOn > 0
}

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
