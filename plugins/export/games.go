package export

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// limits say which of a checkpoint's games are exported: the newest ones.
type limits struct {
	games int // at most so many; 0 = all
	rows  int // no more games than have so many rows; 0 = all
}

// gamesSetting is the setting "games" of exporters of games.
func gamesSetting(newest string) stage.Setting {
	return stage.Setting{Name: "games", Doc: "how many of the newest games at most; 0 = all", Default: newest, Min: 0, Max: 1e9, Whole: true}
}

// newest returns the newest games of a checkpoint, oldest first. None at all is
// an error, which names the exporter.
func newest(ctx context.Context, c *stage.Checkpoint, exporter string, limit limits) ([]*record.Game, error) {
	var kept []*record.Game
	rows := 0
	if c.Games != nil {
		for g, err := range c.Games {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, fmt.Errorf("games: %w", err)
			}
			kept = append(kept, g)
			rows += g.NumRows()
			for limit.games > 0 && len(kept) > limit.games || limit.rows > 0 && len(kept) > 1 && rows-kept[0].NumRows() >= limit.rows {
				rows -= kept[0].NumRows()
				kept[0] = nil // the list may be long
				kept = kept[1:]
			}
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("the exporter %s writes games, and there are none; export again when games were played, or name the run that has them", exporter)
	}
	return kept, nil
}

var pgnSettings = []stage.Setting{gamesSetting("1000")}

// newPGN returns the exporter of the newest games, oldest first, each as WritePGN does.
// Event is the checkpoint's metadata "job", or else the net's name. Without games there
// is an error. The net is not looked at.
func newPGN(v stage.Values) (prepare, error) {
	return func(ctx context.Context, c *stage.Checkpoint) (func(io.Writer) error, error) {
		games, err := newest(ctx, c, "pgn", limits{games: int(v.Number("games"))})
		if err != nil {
			return nil, err
		}
		event := cmp.Or(c.Metadata["job"], c.Net.Name)
		return func(w io.Writer) error {
			for _, g := range games {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := WritePGN(w, g, event); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}, nil
}
