package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/export/npz"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

var npzSettings = []stage.Setting{
	gamesSetting("0"),
	{Name: "rows", Doc: "how many of the newest rows at most; 0 = all. A row takes 8.5 KB before compression", Default: "20000", Min: 0, Max: 1e9, Whole: true},
}

// newNPZ returns the exporter of the newest rows of the training window, for training in
// Python. The arrays (npzArrays) are KataGo's with chess in them. Rows are the positions
// meant for training (a policy, and a weight above 0), oldest game first, ascending
// plies; where there are too many the oldest are left out. The games are valid, as those
// of a window are. No rows at all are an error. The net is not looked at.
func newNPZ(v stage.Values) (prepare, error) {
	most := limits{int(v.Number("games")), int(v.Number("rows"))}
	return func(ctx context.Context, c *stage.Checkpoint) (func(io.Writer) error, error) {
		games, err := newest(ctx, c, "npz", most)
		if err != nil {
			return nil, err
		}
		s := npzSet{ctx: ctx, games: games}
		for _, g := range games {
			s.rows += g.NumRows()
		}
		if s.rows == 0 {
			return nil, fmt.Errorf("%d games have no position that is meant for training", len(games))
		}
		if most.rows > 0 && s.rows > most.rows {
			s.skip = s.rows - most.rows
			s.rows = most.rows
		}
		meta := metadata(c)
		meta["net_id"] = c.Net.ID
		text, err := json.Marshal(meta)
		return func(w io.Writer) error { return s.write(w, text) }, err
	}, nil
}

// npzSet is the rows of some games but for the first so many.
type npzSet struct {
	ctx      context.Context
	games    []*record.Game
	skip     int
	rows     int // that remain
	replayer record.Replayer
}

// npzRow is a row and its game: b holds all of the game's positions, and the row
// is that of ply.
type npzRow struct {
	game *record.Game
	ply  int
	b    *encoding.TrainBatch
}

// each calls fn for every row, in order.
func (s *npzSet) each(fn func(*npzRow) error) error {
	skip := s.skip
	b := encoding.NewTrainBatch(0)
	var plies []int
	for _, g := range s.games {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		plies = plies[:0]
		for i := range g.Plies {
			plies = append(plies, i)
		}
		b.Reset()
		if err := s.replayer.AppendRows(b, g, plies); err != nil {
			return fmt.Errorf("game %x: %w", g.ID, err)
		}
		for i := range g.Plies {
			if !g.Plies[i].Trained() {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if err := fn(&npzRow{g, i, b}); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes the file: the arrays one after the other, each in a replay of the
// games, so that no more than a game is unpacked at a time.
func (s *npzSet) write(w io.Writer, metadata []byte) error {
	z := npz.NewWriter(w)
	for _, a := range npzArrays {
		if err := z.Array(a.name, a.dtype, append([]int{s.rows}, a.shape...), func(out io.Writer) error {
			var raw []byte
			return s.each(func(r *npzRow) error {
				raw = a.append(raw[:0], r)
				_, err := out.Write(raw)
				return err
			})
		}); err != nil {
			return err
		}
	}
	if err := z.Array("metadata", npz.Text(len(metadata)), nil, func(out io.Writer) error {
		_, err := out.Write(metadata)
		return err
	}); err != nil {
		return err
	}
	return z.Close()
}
