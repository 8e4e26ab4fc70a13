package chess

import (
	"bufio"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/golden"
)

// sharedLines returns the data lines of a file of the test data, split at tabs.
func sharedLines(t *testing.T, name string) [][]string {
	t.Helper()
	path := golden.Path(t, name)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][]string
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		if line := sc.Text(); line != "" && line[0] != '#' {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	if err := sc.Err(); err != nil || len(out) == 0 {
		t.Fatalf("read %s: %v, %d lines", path, err, len(out))
	}
	return out
}

func mustFEN(t testing.TB, fen string) Board {
	t.Helper()
	b, err := ParseFEN(fen)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// starts are positions that random games of the tests begin at.
var starts = []string{
	StartFEN,
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
	"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
	"n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
	"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
	"1bbnrkrq/ppppppp1/8/7p/1n4P1/1PN5/P1PPPP1P/NBBR1KRQ w Gge - 0 9",
	"rk2r3/pppppppp/8/8/8/8/PPPPPPPP/1RK4R w HBea - 0 1",
	"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
}

// walkRandom plays random games from the given FENs, about n positions in all,
// and calls fn at each with the line and the legal moves.
func walkRandom(t testing.TB, seed uint64, fens []string, n int, fn func(h *History, l *MoveList)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	var l MoveList
	for i := 0; n > 0; i++ {
		h := NewHistory(mustFEN(t, fens[i%len(fens)]))
		for range 200 {
			h.Board().GenerateMoves(&l)
			fn(h, &l)
			if n--; l.N == 0 || n == 0 {
				break
			}
			h.Push(l.Moves[rng.IntN(l.N)])
		}
	}
}

// scale shortens a count under -short.
func scale(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}
