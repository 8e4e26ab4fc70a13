package arena

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/selfplay"
)

// Opening is how both games of a pair begin.
type Opening = selfplay.Start

// setLine sets h to the opening.
func setLine(h *chess.History, o *Opening) {
	h.Reset(o.Board)
	for _, m := range o.Moves {
		h.Push(m)
	}
}

// ReadOpenings reads a list of openings: the games of a .pgn file, each at most so many
// plies long (0 = whole), or a FEN or EPD list. An illegal one is an error that names
// the file, the line and the move.
func ReadOpenings(path string, plies int) ([]Opening, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var openings []Opening
	if IsPGN(path) {
		openings, err = ReadPGN(f, plies)
	} else {
		openings, err = selfplay.ReadStarts(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return openings, nil
}

// IsPGN says whether a file of openings holds games, by its name.
func IsPGN(path string) bool { return strings.EqualFold(filepath.Ext(path), ".pgn") }

// attempts is how often Vary draws one opening before it gives up.
const attempts = 2000

// openingStream is the stream of the match's seed that openings are drawn from.
const openingStream = 0x6f70656e << 32

// Vary returns n openings, no two of which end in the same position: opening i
// is book[i modulo its length] and so many uniformly random plies. Varied
// positions are such that the game goes on, the side to move has no mate in one,
// and the material balance (pawn 1, minor 3, rook 5, queen 9) is the book
// position's. An empty book is the normal start position. The same arguments
// give the same openings, and a smaller n the first of them.
//
// With plies 0 the distinct positions of the book are taken in their order.
func Vary(book []Opening, n, plies int, seed uint64) ([]Opening, error) {
	if len(book) == 0 {
		book = []Opening{{Board: chess.StartBoard()}}
	}
	if plies <= 0 {
		return distinct(book, n)
	}
	var openings []Opening
	seen := map[uint64]bool{}
	h := chess.NewHistory(chess.StartBoard())
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, openingStream|uint64(i)))
		base := &book[i%len(book)]
		for try := 0; ; try++ {
			if try == attempts {
				return nil, fmt.Errorf("openings: found only %d different balanced positions after %d random plies, want %d: play more plies or fewer games", i, plies, n)
			}
			setLine(h, base)
			if balanced(h, plies, rng) && !seen[h.Board().Key()] {
				break
			}
		}
		seen[h.Board().Key()] = true
		openings = append(openings, Opening{Board: base.Board, Moves: h.Moves(nil)})
	}
	return openings, nil
}

// balanced plays so many random plies from the end of h and reports whether
// what comes out is fit for a game.
func balanced(h *chess.History, plies int, rng *rand.Rand) bool {
	want, start := h.Board().MaterialBalance(), h.Board().SideToMove()
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	for range plies {
		if h.Terminal(l.N) != chess.NotOver {
			return false
		}
		h.Push(l.Moves[rng.IntN(l.N)])
		h.Board().GenerateMoves(&l)
	}
	got := h.Board().MaterialBalance()
	if h.Board().SideToMove() != start {
		got = -got
	}
	return got == want && h.Terminal(l.N) == chess.NotOver && !slices.ContainsFunc(l.Slice(), h.Board().Mates)
}

// distinct returns the first n openings of a book that differ.
func distinct(book []Opening, n int) ([]Opening, error) {
	var openings []Opening
	seen := map[uint64]bool{}
	h := chess.NewHistory(chess.StartBoard())
	var l chess.MoveList
	for i := range book {
		if len(openings) == n {
			break
		}
		setLine(h, &book[i])
		h.Board().GenerateMoves(&l)
		if end := h.Terminal(l.N); end != chess.NotOver {
			return nil, fmt.Errorf("openings: the game is over (%s) after opening %d, %s", end, i+1, h.Board().FEN())
		}
		if key := h.Board().Key(); !seen[key] {
			seen[key] = true
			openings = append(openings, book[i])
		}
	}
	if len(openings) < n {
		return nil, fmt.Errorf("openings: %d different positions, want %d: play fewer games, or random plies after each opening", len(openings), n)
	}
	return openings, nil
}

// Shuffle permutes openings in place, a function of seed alone.
func Shuffle(openings []Opening, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, openingStream|1<<31))
	rng.Shuffle(len(openings), func(i, k int) { openings[i], openings[k] = openings[k], openings[i] })
}
