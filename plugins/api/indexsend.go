package api

import (
	"cmp"
	"slices"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// indexSender knows which games a plugin's index holds and sends what is new.
type indexSender struct {
	synced bool       // the plugin has the games below, and no others
	games  []sentGame // ascending seq
	rows   int
	weight uint64
}

// sentGame is what tells a game that was sent from another one of its number.
type sentGame struct {
	seq, ordinal, weight uint64
	id                   [16]byte
	rows, plies          int
}

func sentOf(g stage.GameInfo) sentGame {
	return sentGame{g.Seq, g.Ordinal, g.Weight, g.ID, g.NumRows, g.Plies}
}

// holds says whether the plugin has idx already.
func (s *indexSender) holds(idx stage.Index) bool {
	gone, from, ok := s.differ(idx)
	return ok && gone == 0 && from == idx.NumGames()
}

// update returns how idx differs from what the plugin has, nil where it does not.
// Where that is large it is sent but for its last part. After an error, or where that
// part does not arrive, nothing is known of the plugin's index.
func (s *indexSender) update(idx stage.Index, send func(*pluginpb.IndexUpdate) error) (last *pluginpb.IndexUpdate, err error) {
	if s.holds(idx) {
		return nil, nil
	}
	gone, from, ok := s.differ(idx)
	u := &pluginpb.IndexUpdate{Reset_: !ok}
	if !ok {
		gone, from = len(s.games), 0
	}
	for _, g := range s.games[:gone] {
		s.rows, s.weight = s.rows-g.rows, s.weight-g.weight
	}
	s.games, s.synced = s.games[gone:], false
	if ok && idx.NumGames() > 0 {
		u.Oldest = idx.Game(0).Seq
	}
	bytes := 0
	for i := from; i < idx.NumGames(); i++ {
		g := idx.Game(i)
		if size := 48 + 20*g.NumRows; bytes > 0 && bytes+size > BatchBytes {
			if err := send(u); err != nil {
				return nil, err
			}
			u, bytes = &pluginpb.IndexUpdate{}, 0
		}
		bytes += 48 + 20*g.NumRows
		appendGame(u, idx, i, g)
		s.games, s.rows, s.weight = append(s.games, sentOf(g)), s.rows+g.NumRows, s.weight+g.Weight
	}
	s.synced = true
	return u, nil
}

// differ returns how many of the oldest games that were sent are not in idx any
// more, and from which position on idx's are new. ok is false where that does not
// tell the whole difference and all has to be sent again.
func (s *indexSender) differ(idx stage.Index) (gone, from int, ok bool) {
	if !s.synced || (len(s.games) == 0) != (idx.NumGames() == 0) {
		return 0, 0, false
	}
	if len(s.games) == 0 {
		return 0, 0, true
	}
	oldest, newest := sentOf(idx.Game(0)), s.games[len(s.games)-1]
	gone, found := slices.BinarySearchFunc(s.games, oldest.seq, func(g sentGame, seq uint64) int { return cmp.Compare(g.seq, seq) })
	if !found || s.games[gone] != oldest {
		return 0, 0, false
	}
	at, found := idx.Find(newest.seq)
	if !found || at+1 != len(s.games)-gone || sentOf(idx.Game(at)) != newest {
		return 0, 0, false
	}
	rows, weight := s.rows, s.weight
	for _, g := range s.games[:gone] {
		rows, weight = rows-g.rows, weight-g.weight
	}
	for i := at + 1; i < idx.NumGames(); i++ {
		g := idx.Game(i)
		rows, weight = rows+g.NumRows, weight+g.Weight
	}
	return gone, at + 1, rows == idx.NumRows() && weight == idx.WeightSum()
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
