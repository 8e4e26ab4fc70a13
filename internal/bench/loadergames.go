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
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/lc0"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
)

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
// and as tars of Leela's V6 chunks below dir/v6. It returns the positions.
func makeLoaderGames(dir string, n int) (positions int, err error) {
	own, v6 := filepath.Join(dir, "games"), filepath.Join(dir, "v6")
	w := replay.NewWriter(fsx.OS, own, replay.WriterOptions{NetID: "bench"})
	tars := &tarWriter{dir: v6}
	if err := os.MkdirAll(v6, 0o755); err != nil {
		return 0, fmt.Errorf("make games: %w", err)
	}
	for i := range n {
		g := loaderGame(uint64(i))
		positions += len(g.Plies)
		err = errors.Join(w.Append(g), tars.add(i, g))
		if err == nil && i%1000 == 999 {
			err = w.Sync()
		}
		if err != nil {
			return 0, fmt.Errorf("make games: %w", err)
		}
	}
	if err := errors.Join(w.Close(), tars.close()); err != nil {
		return 0, fmt.Errorf("make games: %w", err)
	}
	return positions, nil
}

// tarWriter writes chunks into tars.
type tarWriter struct {
	dir  string
	file *os.File
	tar  *tar.Writer
}

func (t *tarWriter) add(i int, g *record.Game) error {
	if i%gamesOfTar == 0 {
		if err := t.close(); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(t.dir, fmt.Sprintf("%06d.tar", i)))
		if err != nil {
			return err
		}
		t.file, t.tar = f, tar.NewWriter(f)
	}
	var chunk bytes.Buffer
	if err := lc0.WriteChunk(&chunk, g); err != nil {
		return err
	}
	if err := t.tar.WriteHeader(&tar.Header{Name: fmt.Sprintf("game_%06d.gz", i), Mode: 0o644, Size: int64(chunk.Len())}); err != nil {
		return err
	}
	_, err := t.tar.Write(chunk.Bytes())
	return err
}

func (t *tarWriter) close() error {
	if t.file == nil {
		return nil
	}
	err := errors.Join(t.tar.Close(), t.file.Close())
	t.file = nil
	return err
}
