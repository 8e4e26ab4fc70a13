package uci

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

func TestLimitCommand(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		want  string
	}{
		{Limit{Nodes: 800}, "go nodes 800"},
		{Limit{Depth: 12}, "go depth 12"},
		{Limit{MoveTime: 1500 * time.Microsecond}, "go movetime 1"},
		{Limit{MoveTime: time.Microsecond}, "go movetime 1"},
		{Limit{WTime: time.Minute, BTime: 90 * time.Second}, "go wtime 60000 btime 90000"},
		{Limit{BTime: time.Second, WInc: 100 * time.Millisecond}, "go wtime 1 btime 1000 winc 100 binc 0"},
		{Limit{WTime: time.Second, BTime: time.Second, Nodes: 5}, "go wtime 1000 btime 1000 nodes 5"},
		{Limit{}, ""}, {Limit{WInc: time.Second}, ""}, {Limit{Nodes: -1}, ""}, {Limit{Depth: 3, WTime: -1}, ""},
	} {
		if got, err := c.limit.command(); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v; want %q", c.limit, got, err, c.want)
		}
	}
}

// TestPositionCommand reads lines of random games, standard and Chess960, back.
func TestPositionCommand(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	fens := []string{
		chess.StartFEN, "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R b KQkq - 6 8",
		"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9", "2rkr3/8/8/8/8/8/8/2RKR3 w KQkq - 0 1",
	}
	for i := range 200 {
		p := Position{}
		var err error
		if p.Start, err = chess.ParseFEN(fens[i%len(fens)]); err != nil {
			t.Fatal(err)
		}
		board := p.Start
		var legal chess.MoveList
		for range rng.IntN(80) {
			if board.GenerateMoves(&legal); legal.N == 0 {
				break
			}
			m := legal.Moves[rng.IntN(legal.N)]
			p.Moves = append(p.Moves, m)
			board.Make(m)
		}
		got, text, err := p.command()
		if err != nil || got != board || boardOf(t, text) != board {
			t.Fatalf("%q, %v: ends at %s, want %s", text, err, got.FEN(), board.FEN())
		}
		if (i%len(fens) == 0) != strings.HasPrefix(text, "position startpos") {
			t.Errorf("%q", text)
		}
	}
	illegal := Position{Start: chess.StartBoard(), Moves: []chess.Move{chess.NewMove(12, 28, chess.NoPiece), chess.NewMove(0, 63, chess.NoPiece)}}
	if _, _, err := illegal.command(); err == nil || !strings.Contains(err.Error(), "move 2 of the position, a1h8") || errors.Is(err, ErrIllegal) {
		t.Errorf("error %v", err)
	}
}

// TestClientChess960 holds the notation and the option of Chess960, on and off.
func TestClientChess960(t *testing.T) {
	board := func(fen string) chess.Board { return chesstest.Board(t, fen) }
	castle := func(b chess.Board, text string) Position {
		m, err := b.ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		return Position{Start: b, Moves: []chess.Move{m}}
	}
	standard := castle(board("4k3/8/8/8/8/8/8/4K2R w K - 0 1"), "e1g1")
	other := castle(board("4k3/8/8/8/8/8/8/1R2K3 w B - 0 1"), "e1b1")
	black := castle(board("1r2k3/8/8/8/8/8/8/4K3 b b - 0 1"), "e8b8")
	log := &transcript{}
	config := fakeConfig("good")
	config.Log = log
	c := startFake(t, config)
	for _, p := range []Position{standard, other, black, standard} {
		if _, err := c.Go(t.Context(), p, oneNode); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1 moves e1g1", "position fen 4k3/8/8/8/8/8/8/1R2K3 w Q - 0 1 moves e1b1",
		"position fen 1r2k3/8/8/8/8/8/8/4K3 b q - 0 1 moves e8b8", "position fen 4k3/8/8/8/8/8/8/4K2R w K - 0 1 moves e1g1"}
	if got := log.sent("position"); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	want = []string{"setoption name UCI_Chess960 value true", "setoption name UCI_Chess960 value false"}
	if got := log.sent("setoption"); !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	standard.Only = []chess.Move{chess.NewMove(4, 12, chess.NoPiece), chess.NewMove(4, 11, chess.NoPiece)} // of Black, who sees e8 as e1
	if _, err := c.Go(t.Context(), standard, oneNode); err != nil {
		t.Fatal(err)
	}
	if got := log.sent("go"); got[len(got)-1] != "go nodes 1 searchmoves e8e7 e8d7" || strings.Contains(got[0], "searchmoves") {
		t.Errorf("sent %q", got)
	}
	c = startFake(t, fakeConfig("no-960"))
	if _, err := c.Go(t.Context(), other, oneNode); !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), `has no option "UCI_Chess960"`) {
		t.Errorf("an engine without Chess960: %v", err)
	}
	if _, err := c.Go(t.Context(), standard, oneNode); err != nil {
		t.Errorf("standard chess after it: %v", err)
	}
}

// playGame has an engine play both sides for some plies and returns the last
// answer. Go refuses illegal moves.
func playGame(t *testing.T, c *Client, plies int, limit Limit) (last Answer) {
	t.Helper()
	if err := c.NewGame(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := Position{Start: chess.StartBoard()}
	for range plies {
		a, err := c.Go(t.Context(), p, limit)
		if err != nil {
			t.Fatal(err)
		}
		if a.Move == chess.NoMove {
			return last
		}
		p.Moves = append(p.Moves, a.Move)
		last = a
	}
	return last
}

// TestClientSelf plays with our own engine.
func TestClientSelf(t *testing.T) {
	c := startFake(t, fakeConfig("self"))
	if name := c.Name; name != "self" {
		t.Errorf("name %q", name)
	}
	a := playGame(t, c, 60, Limit{Nodes: 20})
	if !a.Scored {
		t.Errorf("%+v", a)
	}
}

// foreignEngine returns the program of an engine that others wrote, or skips.
func foreignEngine(t *testing.T, name string) string {
	t.Helper()
	path, err := FindEngine(name)
	if err != nil {
		t.Skipf("SKIPPED, the client is not tested with %s here (apt-get install %s): %v", name, name, err)
	}
	return path
}

// TestClientGNUChess plays with an engine that knows few options and no nodes.
func TestClientGNUChess(t *testing.T) {
	c := startFake(t, ClientConfig{Path: foreignEngine(t, "gnuchess"), Args: []string{"--uci"}, StartTimeout: time.Minute, Grace: time.Minute})
	if a := playGame(t, c, 30, Limit{Depth: 3}); !a.Scored {
		t.Errorf("%+v", a)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestClientStockfish plays with an engine that says much.
func TestClientStockfish(t *testing.T) {
	path := foreignEngine(t, "stockfish")
	config := ClientConfig{Path: path, Options: map[string]string{"hash": "1", "Threads": "1", "UCI_ShowWDL": "true"}, StartTimeout: time.Minute, Grace: time.Minute}
	c := startFake(t, config)
	a := playGame(t, c, 30, Limit{Nodes: 500})
	if !a.Scored {
		t.Errorf("%+v", a)
	}
	mated := chesstest.Board(t, "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
	a, err := c.Go(t.Context(), Position{Start: mated}, Limit{Depth: 10})
	if err != nil || a.Score != mateScore-1 || mated.UCI(a.Move, false) != "a1a8" {
		t.Errorf("mate in one: %+v, %v", a, err)
	}
	a, err = c.Go(t.Context(), Position{Start: mated, Moves: []chess.Move{a.Move}}, Limit{Depth: 10})
	if err != nil || a.Move != chess.NoMove {
		t.Errorf("mated: %+v, %v", a, err)
	}
	random960 := chesstest.Board(t, "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9")
	if a, err = c.Go(t.Context(), Position{Start: random960}, Limit{Nodes: 500}); err != nil || a.Move == chess.NoMove {
		t.Errorf("Chess960: %+v, %v", a, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
