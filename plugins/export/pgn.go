package export

import (
	"context"
	"io"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// PGN writes the newest games of the training window as <net name>.pgn, oldest
// first, each as WritePGN does.
type PGN struct {
	fsys  fsx.FS
	games int
}

// pgnDefinition describes the exporter "pgn".
func pgnDefinition(fsys fsx.FS) *stage.Definition {
	return &stage.Definition{Name: "pgn", Doc: "writes the newest games as PGN, the search's values in comments",
		Settings:    []stage.Setting{gamesSetting("1000")},
		NewExporter: func(v stage.Values) (stage.Exporter, error) { return NewPGN(fsys, int(v.Number("games"))), nil }}
}

// NewPGN returns the exporter over a file system: at most so many games, 0 = all.
func NewPGN(fsys fsx.FS, games int) *PGN { return &PGN{fsys, games} }

// Name returns "pgn".
func (*PGN) Name() string { return "pgn" }

// Export writes the file into dst, which is made if it is missing, and returns
// its path. Event is the checkpoint's metadata "job", or else the net's name.
// Without games nothing is written, and that is an error. The net is not looked
// at.
func (p *PGN) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	games, err := newest(ctx, c, p.Name(), limits{games: p.games})
	if err != nil {
		return nil, err
	}
	event := c.Metadata["job"]
	if event == "" {
		event = c.Net.Name
	}
	return writeFile(ctx, p.fsys, c, dst, ".pgn", func(w io.Writer) error {
		for _, g := range games {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := WritePGN(w, g, event); err != nil {
				return err
			}
		}
		return nil
	})
}
