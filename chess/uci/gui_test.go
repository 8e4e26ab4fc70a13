package uci

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// gui is the other end of an engine.
type gui struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error // what Serve returned
}

// play starts an engine over pipes and ends it with the test.
func play(ctx context.Context, t *testing.T, net mcts.Evaluator) *gui {
	t.Helper()
	e := &Engine{Name: "test", Net: net, Search: mcts.DefaultConfig()}
	if err := e.Set("Hash", "1"); err != nil {
		t.Fatal(err)
	}
	return playEngine(ctx, t, e)
}

// playEngine begins a conversation with e. Its tree is small: the memory of an engine that
// is gone is cleared for the next one.
func playEngine(ctx context.Context, t *testing.T, e *Engine) *gui {
	t.Helper()
	if err := e.Set("RamLimitMb", "64"); err != nil {
		t.Fatal(err)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	g := &gui{t: t, in: inWrite, lines: make(chan string, 1<<16), done: make(chan error, 1)}
	go func() {
		err := e.Serve(ctx, inRead, outWrite)
		inRead.Close()
		outWrite.Close()
		g.done <- err
	}()
	go func() {
		defer close(g.lines)
		scan := bufio.NewScanner(outRead)
		for scan.Scan() {
			g.lines <- scan.Text()
		}
	}()
	t.Cleanup(func() { inWrite.Close() })
	return g
}

func (g *gui) send(lines ...string) {
	g.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(g.in, line+"\n"); err != nil {
			g.t.Fatalf("send %q: %v", line, err)
		}
	}
}

// expect reads up to the next line with the prefix and returns it and those
// before it.
func (g *gui) expect(prefix string) (line string, before []string) {
	g.t.Helper()
	for line := range g.lines {
		if strings.HasPrefix(line, prefix) {
			return line, before
		}
		before = append(before, line)
	}
	g.t.Fatalf("the output ended without %q; it was %q", prefix, before)
	return "", nil
}

// bestMove sends lines and returns the move that follows, checked for
// legality in the position of the last of them that is one.
func (g *gui) bestMove(lines ...string) string {
	g.t.Helper()
	g.send(lines...)
	line, _ := g.expect("bestmove ")
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "position ") {
			b := boardOf(g.t, lines[i])
			checkBest(g.t, &b, line)
			break
		}
	}
	return strings.Fields(line)[1]
}

// checkBest fails unless a bestmove line is a legal move of b, with a legal reply
// if it names one.
func checkBest(t *testing.T, b *chess.Board, line string) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) == 2 && words[1] == "0000" {
		return
	}
	if len(words) != 2 && (len(words) != 4 || words[2] != "ponder") {
		t.Fatalf("malformed: %q", line)
	}
	after := *b
	for i := 1; i < len(words); i += 2 {
		m, err := after.ParseUCI(words[i])
		if err != nil {
			t.Fatalf("%s: %q: %v", b.FEN(), line, err)
		}
		after.Make(m)
	}
}

// numberIn returns the number behind a word of an info line.
func numberIn(t *testing.T, line, word string) int {
	t.Helper()
	_, rest, ok := strings.Cut(line+" ", " "+word+" ")
	text, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		t.Fatalf("no number behind %s in %q", word, line)
	}
	return n
}

// infos returns the info lines with a score, without those of the text.
func infos(lines []string) (scored []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "info ") && strings.Contains(line, " score ") {
			scored = append(scored, line)
		}
	}
	return scored
}

// boardOf plays a position command without the engine.
func boardOf(t *testing.T, line string) chess.Board {
	t.Helper()
	start, moves, _ := strings.Cut(strings.TrimPrefix(line, "position "), " moves ")
	b := chess.StartBoard()
	if fen, ok := strings.CutPrefix(start, "fen "); ok {
		var err error
		if b, err = chess.ParseFEN(fen); err != nil {
			t.Fatal(err)
		}
	}
	for text := range strings.FieldsSeq(moves) {
		m, err := b.ParseUCI(text)
		if err != nil {
			t.Fatal(err)
		}
		b.Make(m)
	}
	return b
}

// quit ends the engine and returns what Serve returned.
func (g *gui) quit() error {
	g.send("quit")
	return <-g.done
}

// liking is a net that likes one move, given as squares, wherever it is legal.
type liking struct{ move chess.Move }

func (l liking) Evaluate(_ context.Context, b *encoding.Batch) error {
	for i := range b.N {
		legal, prior := b.LegalOf(i), b.PriorOf(i)
		for k := range legal {
			prior[k] = 0.01 / float32(len(legal))
			if legal[k] == encoding.PolicyIndex(l.move) {
				prior[k] = 0.99
			}
		}
		b.WDL[i], b.M[i] = [3]float32{.2, .6, .2}, 50
	}
	return nil
}

var errBroken = errors.New("the net is\nbroken")

// failing is a net whose calls from the n-th on fail.
type failing struct {
	mcts.HashEvaluator
	calls, from atomic.Int64
}

func (f *failing) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if f.calls.Add(1) >= f.from.Load() {
		return errBroken
	}
	return f.HashEvaluator.Evaluate(ctx, b)
}

// hanging is a net whose calls after the first last until they are cancelled.
type hanging struct {
	mcts.HashEvaluator
	calls   int
	entered chan struct{} // one for each call that hangs
}

func (h *hanging) Evaluate(ctx context.Context, b *encoding.Batch) error {
	if h.calls++; h.calls > 1 {
		h.entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	return h.HashEvaluator.Evaluate(ctx, b)
}

// slow is a net that takes a time for each call.
type slow struct {
	mcts.HashEvaluator
	each time.Duration
}

func (s slow) Evaluate(ctx context.Context, b *encoding.Batch) error {
	time.Sleep(s.each) // the fake clock of testing/synctest
	return s.HashEvaluator.Evaluate(ctx, b)
}
