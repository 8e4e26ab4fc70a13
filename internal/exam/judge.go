package exam

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
)

// Judge asks an engine about the end of each line, with so many nodes for each, in so many
// processes. It says a move and a score of each.
func Judge(ctx context.Context, engine string, lines []*chess.History, nodes int64, workers int) ([]uci.Answer, error) {
	positions := make([]uci.Position, len(lines))
	for i, line := range lines {
		positions[i] = positionOf(line)
	}
	return judge(ctx, engine, positions, nodes, workers)
}

func positionOf(line *chess.History) uci.Position {
	return uci.Position{Start: *line.At(0), Moves: line.Moves(nil)}
}

// ErrEngine says that a program is no engine that can judge.
var ErrEngine = errors.New("it does not start as a UCI engine")

func judge(ctx context.Context, engine string, positions []uci.Position, nodes int64, workers int) ([]uci.Answer, error) {
	answers := make([]uci.Answer, len(positions))
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(workers, len(positions)) {
		group.Go(func() error {
			client, err := uci.Start(ctx, uci.ClientConfig{Path: engine, Options: map[string]string{"UCI_ShowWDL": "true"}})
			if errors.Is(err, uci.ErrOption) {
				client, err = uci.Start(ctx, uci.ClientConfig{Path: engine})
			}
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("--engine %s: %w: %w", engine, ErrEngine, err)
			}
			if err != nil {
				return err
			}
			defer client.Close() // an engine that does not know quit judges all the same
			for i := next.Add(1) - 1; i < int64(len(positions)); i = next.Add(1) - 1 {
				if err := client.NewGame(ctx); err != nil { // what it remembers of another position would count
					return err
				}
				a, err := client.Go(ctx, positions[i], uci.Limit{Nodes: nodes})
				if err != nil {
					return err
				}
				if !a.Scored {
					return fmt.Errorf("%s says no score of %s", engine, positions[i].Start.FEN())
				}
				answers[i] = a
			}
			return nil
		})
	}
	return answers, group.Wait()
}

// ExpectedScore is the expected score less that of the opponent, in [-1,1], for the side
// to move: W-L of the win, draw and loss that the engine says (UCI_ShowWDL), or what its
// centipawns come to.
func ExpectedScore(a *uci.Answer) float64 {
	if a.WDL != [3]int{} {
		return float64(a.WDL[0]-a.WDL[2]) / 1000
	}
	return 2/(1+math.Pow(10, -float64(a.Score)/400)) - 1
}

// Correlation says how well values agree with an engine's scores.
type Correlation struct {
	Name string  `json:"name"`
	R    float64 `json:"r"`   // Pearson's, in [-1,1]
	Low  float64 `json:"low"` // 95 % interval, by Fisher's transform
	High float64 `json:"high"`
	N    int     `json:"n"` // positions of which the value is known
}

// Correlate holds values, of which NaN are not known, against scores.
func Correlate(name string, values, scores []float64) Correlation {
	var n, sx, sy, sxx, syy, sxy float64
	for i, x := range values {
		if y := scores[i]; x == x {
			n, sx, sy = n+1, sx+x, sy+y
			sxx, syy, sxy = sxx+x*x, syy+y*y, sxy+x*y
		}
	}
	c := Correlation{Name: name, N: int(n), Low: -1, High: 1}
	spread := math.Sqrt((n*sxx - sx*sx) * (n*syy - sy*sy))
	if n < 4 || !(spread > 0) { // too few, or all the same: nothing agrees
		return c
	}
	c.R = max(-1, min(1, (n*sxy-sx*sy)/spread))
	z, d := math.Atanh(c.R), 1.96/math.Sqrt(n-3)
	c.Low, c.High = math.Tanh(z-d), math.Tanh(z+d)
	return c
}
