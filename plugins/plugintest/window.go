package plugintest

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Window is a stage.Index of made-up games, oldest first: their lengths, rows,
// weights and statistics are random, the final position is a row in most of
// them, and their numbers have gaps. It does not change; Slide makes the next
// one.
type Window struct{ *api.Index }

// NewWindow returns a window of numGames games; 0 makes an empty one.
func NewWindow(rng *rand.Rand, numGames int) *Window {
	return (&Window{&api.Index{}}).Slide(rng, 0, numGames)
}

// Slide returns the window after the drop oldest games left and add new ones
// came.
func (w *Window) Slide(rng *rand.Rand, drop, add int) *Window {
	seq := uint64(0)
	if n := w.NumGames(); n > 0 {
		seq = w.Game(n-1).Seq + 1
	}
	u := &pluginpb.IndexUpdate{Oldest: seq}
	if drop < w.NumGames() {
		u.Oldest = w.Game(drop).Seq
	}
	for range add {
		if rng.IntN(8) == 0 {
			seq += 1 + rng.Uint64N(5) // games without rows have no place in an index
		}
		addGame(u, rng, seq)
		seq++
	}
	next, err := w.Clone().Update(u)
	if err != nil {
		panic(err) // the update above is wrong
	}
	return &Window{next}
}

// addGame makes up a game of 1 to 160 plies with at least one row.
func addGame(u *pluginpb.IndexUpdate, rng *rand.Rand, seq uint64) {
	u.Id = binary.LittleEndian.AppendUint64(u.Id, rng.Uint64())
	u.Id = binary.LittleEndian.AppendUint64(u.Id, seq)
	plies := 1 + rng.IntN(160)
	u.Seq, u.Ordinal, u.Plies = append(u.Seq, seq), append(u.Ordinal, rng.Uint64()>>32), append(u.Plies, uint32(plies))
	share, before := 1+rng.IntN(4), len(u.RowPly)
	for ply := range plies {
		last := ply == plies-1
		if rng.IntN(4) < share || last && (len(u.RowPly) == before || rng.IntN(4) > 0) {
			addRow(u, rng, uint32(ply))
		}
	}
	u.NumRows = append(u.NumRows, uint32(len(u.RowPly)-before))
}

// addRow makes ply a row.
func addRow(u *pluginpb.IndexUpdate, rng *rand.Rand, ply uint32) {
	weight := uint64(stage.WeightUnit)
	switch rng.IntN(4) {
	case 0:
		weight = 1 + rng.Uint64N(4*stage.WeightUnit)
	case 1:
		weight = 1 + rng.Uint64N(8)
	}
	var s stage.RowStats
	if rng.IntN(8) > 0 { // else nothing is known
		s = stage.RowStats{QDiff: 2 * rng.Float32() * rng.Float32(), KLD: 3 * rng.Float32() * rng.Float32(), Visits: 1 + rng.Uint32N(1600)}
	}
	u.RowPly, u.RowWeight = append(u.RowPly, ply), append(u.RowWeight, weight)
	u.RowQDiff, u.RowKld, u.RowVisits = append(u.RowQDiff, s.QDiff), append(u.RowKld, s.KLD), append(u.RowVisits, s.Visits)
}
