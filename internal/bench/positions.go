package bench

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

const (
	positionSeed = 1
	maxRandomPly = 80 // a position is 0 to maxRandomPly-1 plies from the start
)

// Positions returns n positions, with the line that led to them, from random
// legal play. The same seed gives the same positions; none of them is over.
func Positions(n int, seed uint64) []*chess.History {
	rng := rand.New(rand.NewPCG(seed, 0))
	lines := make([]*chess.History, n)
	for i := range lines {
		lines[i] = chess.NewHistory(chess.StartBoard())
		walk(lines[i], rng, maxRandomPly, maxRandomPly, true)
	}
	return lines
}

// inferenceBatch returns n positions, those of the thread.
func inferenceBatch(n, thread int) *encoding.Batch {
	return PositionBatch(n, positionSeed+uint64(thread))
}

// PositionBatch returns Positions as a batch.
func PositionBatch(n int, seed uint64) *encoding.Batch {
	b := encoding.NewBatch(n)
	var moves chess.MoveList
	for _, h := range Positions(n, seed) {
		h.Board().GenerateMoves(&moves)
		encoding.AppendPosition(b, h, &moves)
	}
	return b
}

// appendRows fills b with n training rows: real positions, random policy
// targets and results.
func appendRows(b *encoding.TrainBatch, n int) {
	rng := rand.New(rand.NewPCG(positionSeed, 1))
	var moves chess.MoveList
	for _, h := range Positions(n, positionSeed) {
		h.Board().GenerateMoves(&moves)
		row := encoding.AppendTrainPosition(b, h, &moves)
		policy, sum := b.PolicyOf(row), float32(0)
		for j := range policy {
			policy[j] = 1 + float32(rng.IntN(32))
			sum += policy[j]
		}
		for j := range policy {
			policy[j] /= sum
		}
		result := encoding.QDM{Q: float32(rng.IntN(3) - 1), M: float32(1 + rng.IntN(150))}
		if result.Q == 0 {
			result.D = 1
		}
		for t := range b.Targets[row] {
			b.Targets[row][t] = result
		}
	}
}

const (
	// phasePlies is how long a walk is at most that stands for the games before a
	// measurement, far longer than a game: over many of them all phases of a game come
	// as often as they take time.
	phasePlies = 1500
	// openingPlies is how many random plies a later game begins with, less one at most.
	openingPlies = 16
)

// walk sets h to the end of fewer than plies random moves, from the start again where a
// game is over, with all of the moves if they shall be of one game. maxPlies ends a game
// that the rules do not.
func walk(h *chess.History, rng *rand.Rand, plies, maxPlies int, oneGame bool) {
	var moves chess.MoveList
	h.Reset(chess.StartBoard())
	for n, all := 0, rng.IntN(plies); n < all; n++ {
		h.Board().GenerateMoves(&moves)
		h.Push(moves.Moves[rng.IntN(moves.N)])
		if !overAt(h, &moves, maxPlies) {
			continue
		}
		if h.Reset(chess.StartBoard()); oneGame {
			n = -1
		}
	}
}

// overAt reports whether the game is over by the rules or after maxPlies.
func overAt(h *chess.History, moves *chess.MoveList, maxPlies int) bool {
	h.Board().GenerateMoves(moves)
	return h.Terminal(moves.N) != chess.NotOver || h.Len() > maxPlies
}

const (
	// Plies of the games that are made: 120 in the mean.
	minLoaderPlies = 80
	maxLoaderPlies = 160
	loaderVisits   = 200 // of each search
	gamesOfTar     = 500 // chunks
)

// loaderGame returns a game of random legal moves with policies and values such
// as a search leaves them. Few moves have most of the visits, and a third of the
// moves none.
func loaderGame(ordinal uint64) *record.Game {
	for attempt := uint64(0); ; attempt++ {
		rng := rand.New(rand.NewPCG(positionSeed+ordinal, attempt))
		g := &record.Game{ID: record.GameID(positionSeed, attempt, ordinal), NetID: "bench", Ordinal: ordinal, End: record.EndMaxPlies, WhiteResult: int8(rng.IntN(3)) - 1}
		if fillLoaderGame(g, rng) {
			return g
		}
	}
}

// fillLoaderGame plays; false if the game is over before its length.
func fillLoaderGame(g *record.Game, rng *rand.Rand) bool {
	h := chess.NewHistory(chess.StartBoard())
	var moves chess.MoveList
	for plies := minLoaderPlies + rng.IntN(maxLoaderPlies-minLoaderPlies+1); ; {
		if h.Board().GenerateMoves(&moves); h.Terminal(moves.N) != chess.NotOver {
			return false
		}
		if len(g.Plies) == plies {
			return true
		}
		p := record.Ply{Move: moves.Moves[rng.IntN(moves.N)], Kind: record.PolicyCounts, Counts: make([]uint32, moves.N),
			Visits: loaderVisits + 1, Weight: 1, KLD: rng.Float32(), Flags: record.FullSearch}
		for range loaderVisits {
			p.Counts[min(int(rng.ExpFloat64()*float64(moves.N)/5), moves.N-1)]++
		}
		rng.Shuffle(moves.N, func(i, j int) { p.Counts[i], p.Counts[j] = p.Counts[j], p.Counts[i] })
		for _, v := range []*encoding.QDM{&p.Root, &p.Best, &p.Played, &p.Orig} {
			d := rng.Float32() * .9
			*v = encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d) * .99, D: d, M: 10 + 100*rng.Float32()}
		}
		g.Plies = append(g.Plies, p)
		h.Push(p.Move)
	}
}

// makeLoaderGames writes n games twice: as our own chunk files below dir/games,
// and as tars of Leela's V6 chunks below dir/v6.
func makeLoaderGames(dir string, n int) error {
	own, v6 := filepath.Join(dir, "games"), filepath.Join(dir, "v6")
	w := replay.NewWriter(fsx.OS, own, replay.WriterOptions{NetID: "bench"})
	err := os.MkdirAll(v6, 0o755)
	for from := 0; from < n && err == nil; from += gamesOfTar {
		games := make([]*record.Game, min(gamesOfTar, n-from))
		for i := range games {
			games[i] = loaderGame(uint64(from + i))
			err = errors.Join(err, w.Append(games[i]))
		}
		err = errors.Join(err, writeLoaderTar(filepath.Join(v6, fmt.Sprintf("%06d.tar", from)), from, games))
		if err == nil && from%1000 != 0 { // a file of ours has a thousand games
			err = w.Sync()
		}
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("make games: %w", err)
	}
	return nil
}

// writeLoaderTar writes games, numbered from first on, as a tar of chunks.
func writeLoaderTar(path string, first int, games []*record.Game) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t := tar.NewWriter(f)
	var chunk bytes.Buffer
	for i, g := range games {
		chunk.Reset()
		if err := lc0.WriteChunk(&chunk, g); err != nil {
			return err
		}
		head := &tar.Header{Name: fmt.Sprintf("game_%06d.gz", first+i), Mode: 0o644, Size: int64(chunk.Len())}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		if _, err := t.Write(chunk.Bytes()); err != nil {
			return err
		}
	}
	return t.Close()
}
