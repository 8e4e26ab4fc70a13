package selfplay

import (
	"sync/atomic"
	"time"

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

// Snapshot is what Stats had counted at some time, for reports: the counters
// first, what is derived from them below. Fields mean what those of Stats do.
type Snapshot struct {
	GamesStarted    uint64 `json:"games_started"`
	GamesResumed    uint64 `json:"games_resumed"`
	GamesFinished   uint64 `json:"games_finished"`
	GamesAbandoned  uint64 `json:"games_abandoned"`
	Forks           uint64 `json:"forks"`
	SidePositions   uint64 `json:"side_positions"`
	Positions       uint64 `json:"positions"` // searched
	Visits          uint64 `json:"visits"`
	Evaluations     uint64 `json:"evaluations"`
	Batches         uint64 `json:"batches"`
	CacheHits       uint64 `json:"cache_hits"`
	CacheMisses     uint64 `json:"cache_misses"`
	NetChanges      uint64 `json:"net_changes"`
	WhiteWins       uint64 `json:"white_wins"`
	Draws           uint64 `json:"draws"`
	BlackWins       uint64 `json:"black_wins"`
	PliesOfFinished uint64 `json:"plies_of_finished"`
	ResignsPlayedOn uint64 `json:"resigns_played_on"`
	FalseResigns    uint64 `json:"false_resigns"`

	Tree    time.Duration `json:"tree_ns"`
	Network time.Duration `json:"network_ns"`
	Wait    time.Duration `json:"wait_ns"`
	Sink    time.Duration `json:"sink_ns"`

	Ends map[string]uint64 `json:"ends"` // end reasons that occurred, by name
}

// Snapshot returns the counters. Workers may go on counting meanwhile, so that
// counters read later may be a little ahead of those read before.
func (s *Stats) Snapshot() Snapshot {
	n := Snapshot{
		GamesStarted: s.GamesStarted.Load(), GamesResumed: s.GamesResumed.Load(),
		GamesFinished: s.GamesFinished.Load(), GamesAbandoned: s.GamesAbandoned.Load(),
		Forks: s.Forks.Load(), SidePositions: s.SidePositions.Load(),
		Positions: s.Plies.Load(), Visits: s.Visits.Load(), Evaluations: s.Evaluations.Load(), Batches: s.Batches.Load(),
		CacheHits: s.CacheHits.Load(), CacheMisses: s.CacheMisses.Load(), NetChanges: s.NetChanges.Load(),
		WhiteWins: s.WhiteWins.Load(), Draws: s.Draws.Load(), BlackWins: s.BlackWins.Load(),
		PliesOfFinished: s.PliesOfFinished.Load(),
		ResignsPlayedOn: s.ResignsPlayedOn.Load(), FalseResigns: s.FalseResigns.Load(),
		Tree: time.Duration(s.TreeNanos.Load()), Network: time.Duration(s.NetworkNanos.Load()),
		Wait: time.Duration(s.WaitNanos.Load()), Sink: time.Duration(s.SinkNanos.Load()),
		Ends: make(map[string]uint64),
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
