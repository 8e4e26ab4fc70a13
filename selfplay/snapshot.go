package selfplay

import (
	"time"

	"github.com/chessbrain/chessbrain/record"
)

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
