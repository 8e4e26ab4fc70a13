package api

import (
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/plugins/stage/follow"
)

// indexSender knows which games a plugin's index holds and sends what is new.
type indexSender struct {
	synced bool // the plugin has the games of the window, and no others
	window follow.Window
}

// holds says whether the plugin has idx already.
func (s *indexSender) holds(idx stage.Index) bool { return s.synced && s.window.Holds(idx) }

// update returns how idx differs from what the plugin has, nil where it does not.
// Where that is large it is sent but for its last part. After an error, or where that
// part does not arrive, nothing is known of the plugin's index.
func (s *indexSender) update(idx stage.Index, send func(*pluginpb.IndexUpdate) error) (last *pluginpb.IndexUpdate, err error) {
	if s.holds(idx) {
		return nil, nil
	}
	_, from := s.window.Follow(idx)
	u := &pluginpb.IndexUpdate{}
	if s.synced && from > 0 {
		u.Oldest = idx.Game(0).Seq
	} else {
		u.Reset_, from = true, 0
	}
	s.synced = false
	bytes := 0
	for i := from; i < idx.NumGames(); i++ {
		g := idx.Game(i)
		size := 48 + 20*g.NumRows
		if bytes > 0 && bytes+size > BatchBytes {
			if err := send(u); err != nil {
				return nil, err
			}
			u, bytes = &pluginpb.IndexUpdate{}, 0
		}
		bytes += size
		appendGame(u, idx, i, g)
	}
	s.synced = true
	return u, nil
}

// appendGame adds game i of idx to the columns of u.
func appendGame(u *pluginpb.IndexUpdate, idx stage.Index, i int, g stage.GameInfo) {
	u.Seq, u.Id = append(u.Seq, g.Seq), append(u.Id, g.ID[:]...)
	u.Ordinal, u.Plies = append(u.Ordinal, g.Ordinal), append(u.Plies, uint32(g.Plies))
	u.NumRows = append(u.NumRows, uint32(g.NumRows))
	for k := range g.NumRows {
		row, stats := idx.Row(i, k), idx.Stats(i, k)
		u.RowPly, u.RowWeight = append(u.RowPly, uint32(row.Ply)), append(u.RowWeight, row.Weight)
		u.RowQDiff, u.RowKld = append(u.RowQDiff, stats.QDiff), append(u.RowKld, stats.KLD)
		u.RowVisits = append(u.RowVisits, stats.Visits)
	}
}
