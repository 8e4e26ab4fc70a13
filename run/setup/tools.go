package setup

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// What the tools beside a training need of a configuration.

// LoaderEnds says whether the data loader hands its data out a stated number of times.
func (t *Training) LoaderEnds() bool {
	for _, st := range t.e.Config.GetDataLoader().GetStage() {
		pool, chunks, files := st.GetShufflingChunkPool(), st.GetSimpleChunkExtractor(), st.GetFilePathProvider()
		if pool != nil && pool.GetEpochs() == 0 || chunks != nil && chunks.GetEpochs() == 0 || files.GetWatch() {
			return false
		}
	}
	return true
}

// Position is one of a game.
type Position struct {
	Game *record.Game
	Ply  int
}

// DrawPositions draws n positions (all, where there are fewer) from the games of the run
// directory at root, each with the same chance. The same games and seed give the same
// positions.
func DrawPositions(ctx context.Context, root string, n int, seed uint64) ([]Position, error) {
	dir, _, err := OpenDir(root)
	if err != nil {
		return nil, err
	}
	var drawn []Position // a reservoir
	rng, seen := rand.New(rand.NewPCG(seed, 0)), 0
	if _, err := replay.WalkGames(ctx, fsx.OS, dir.Selfplay(), func(_ string, g *record.Game) error {
		for ply := range g.Plies {
			seen++
			if p := (Position{g, ply}); len(drawn) < n {
				drawn = append(drawn, p)
			} else if k := rng.IntN(seen); k < n {
				drawn[k] = p
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("draw positions: %w", err)
	}
	if seen == 0 {
		return nil, fmt.Errorf("draw positions: no game in %s", dir.Selfplay())
	}
	return drawn, nil
}

// EachBoard calls see with each position of the games of the run directory at root.
func EachBoard(ctx context.Context, root string, see func(*chess.Board)) error {
	dir, _, err := OpenDir(root)
	if err != nil {
		return err
	}
	if _, err = replay.WalkGames(ctx, fsx.OS, dir.Selfplay(), func(_ string, g *record.Game) error {
		b, err := g.StartBoard()
		for i := 0; err == nil && i < len(g.Plies); i++ {
			see(&b)
			b.Make(g.Plies[i].Move)
		}
		return err
	}); err != nil {
		return fmt.Errorf("positions of games: %w", err)
	}
	return nil
}

// RowsOf returns the training rows of positions; shortTerm is theta of their short-term
// targets.
func RowsOf(drawn []Position, shortTerm float64) (*encoding.TrainBatch, error) {
	rows, replayer := encoding.NewTrainBatch(len(drawn)), record.Replayer{Extra: record.Extra{ShortTerm: shortTerm}}
	for _, p := range drawn {
		if err := replayer.AppendRow(rows, p.Game, p.Ply); err != nil {
			return nil, fmt.Errorf("draw positions: game %x: %w", p.Game.ID, err)
		}
	}
	return rows, nil
}

// Positions is DrawPositions as a net's input.
func Positions(ctx context.Context, root string, n int, seed uint64) (*encoding.Batch, error) {
	drawn, err := DrawPositions(ctx, root, n, seed)
	if err != nil {
		return nil, err
	}
	rows, err := RowsOf(drawn, 0)
	if err != nil {
		return nil, err
	}
	return &rows.Batch, nil
}

// OpenTrainedNet is OpenNetPlayer on the device that a configuration trains on, in fp32.
func OpenTrainedNet(c *config.Config, net *nn.Net) (*NetPlayer, error) {
	on := config.Defaults()
	trainers, fp32 := "auto", config.SelfPlay_FP32
	on.Training.Device = c.GetTraining().Device
	on.Selfplay.ProducerDevice, on.Selfplay.Precision = &trainers, &fp32
	return OpenNetPlayer(on, net)
}

// GamesElsewhere are the directories that the configuration of a run names for games:
// those that it trains on and those that it plays. Either may be "", or in the run.
func GamesElsewhere(d run.Dir) []string {
	file, err := config.LoadKept(d.ConfigFile())
	if err != nil {
		return nil // somebody else tells
	}
	return []string{file.Config.GetTraining().GetSourceDir(), file.Config.GetSelfplay().GetOutputDir()}
}

// Retention says what is kept of a run; 0 = all of it, but where it says otherwise.
type Retention struct {
	Shuffles int // the newest so many, at least 1
	Rejected int // nets, the newest so many; 0 = none
	Models   int // accepted nets, the newest so many
	GatePGNs int // games of so many matches of the gatekeeper, the newest
	GameRows int64
	GameDays float64
	MaxGiB   float64 // of games and shuffles
}

// RetentionOf returns what a configuration's section loop.retention keeps.
func RetentionOf(c *config.Config) Retention {
	r := c.GetLoop().GetRetention()
	return Retention{Shuffles: int(r.GetShuffles()), Rejected: int(r.GetRejected()), Models: int(r.GetModels()),
		GatePGNs: int(r.GetGatePgns()), GameRows: r.GetGameRows(), GameDays: r.GetGameDays(), MaxGiB: r.GetMaxGib()}
}

// MaxBytes is MaxGiB in bytes; 0 = no limit.
func (r Retention) MaxBytes() int64 { return int64(min(r.MaxGiB*(1<<30), math.MaxInt64/2)) }

// KeptCheckpoints is how many of its newest checkpoints the run at d keeps, at least 1.
func KeptCheckpoints(d run.Dir) (int, error) {
	file, err := config.LoadKept(d.ConfigFile())
	if err != nil {
		return 0, err
	}
	return max(1, int(file.Config.GetTraining().GetCheckpoint().GetKeepLast())), nil
}
