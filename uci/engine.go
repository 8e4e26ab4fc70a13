package uci

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// Engine answers a GUI with the moves of a search over one net.
type Engine struct {
	Name   string         // shown to the GUI
	Net    mcts.Evaluator // the net that plays
	Search mcts.Config    // its Simulations are the nodes of a plain "go"

	out      *bufio.Writer
	outMu    sync.Mutex
	line     *chess.History
	search   *mcts.Search
	batch    *encoding.Batch
	chess960 bool
	leaves   int // gathered for one evaluation
	running  context.CancelFunc
	wait     sync.WaitGroup
}

// defaultLeaves is how many leaves of one search are evaluated together.
const defaultLeaves = 8

// startFEN is the normal start position.
const startFEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

// Serve reads commands until quit, the end of in, or ctx's end. A search under
// way is then stopped and its move sent.
func (e *Engine) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	e.out = bufio.NewWriter(out)
	e.leaves = defaultLeaves
	e.batch = encoding.NewBatch(256)
	e.newGame()
	defer e.stop()
	lines := make(chan string)
	failed := make(chan error, 1)
	go readLines(ctx, in, lines, failed)
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, open := <-lines:
			if !open {
				return <-failed
			}
			if quit := e.command(ctx, line); quit {
				return nil
			}
		}
	}
}

// readLines feeds lines until in ends; then failed has the error, or nil.
func readLines(ctx context.Context, in io.Reader, lines chan<- string, failed chan<- error) {
	defer close(lines)
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 64<<10), 4<<20) // a long game is a long position command
	for scan.Scan() {
		select {
		case lines <- scan.Text():
		case <-ctx.Done():
			failed <- nil
			return
		}
	}
	failed <- scan.Err()
}

// command handles one line and says whether it was quit.
func (e *Engine) command(ctx context.Context, line string) (quit bool) {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return false
	}
	var err error
	switch args := fields[1:]; fields[0] {
	case "uci":
		e.identify()
	case "isready":
		e.say("readyok")
	case "setoption":
		e.stop()
		err = e.setOption(args)
	case "ucinewgame":
		e.stop()
		e.newGame()
	case "position":
		e.stop()
		err = e.position(args)
	case "go":
		e.stop()
		err = e.start(ctx, args)
	case "stop", "ponderhit":
		e.stop()
	case "quit":
		return true
	}
	if err != nil {
		e.say("info string error: %v", err)
	}
	return false
}

func (e *Engine) identify() {
	e.say("id name %s", e.Name)
	e.say("id author the chessbrain team")
	e.say("option name Nodes type spin default %d min 1 max 100000000", e.Search.Simulations)
	e.say("option name Cpuct type string default %g", e.Search.CPUCT)
	e.say("option name MinibatchSize type spin default %d min 1 max 256", defaultLeaves)
	e.say("option name UCI_Chess960 type check default false")
	e.say("uciok")
}

// setOption takes "name N value V".
func (e *Engine) setOption(args []string) error {
	text := strings.Join(args, " ")
	name, value, _ := strings.Cut(strings.TrimPrefix(text, "name "), " value ")
	number, numberErr := strconv.ParseFloat(value, 64)
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "nodes":
		if numberErr != nil || number < 1 || number > 1e8 {
			return fmt.Errorf("Nodes wants a number from 1 to 100000000, not %q", value)
		}
		e.Search.Simulations = int(number)
	case "cpuct":
		if numberErr != nil || number <= 0 || number > 100 {
			return fmt.Errorf("Cpuct wants a number above 0 and up to 100, not %q", value)
		}
		e.Search.CPUCT = number
	case "minibatchsize":
		if numberErr != nil || number < 1 || number > 256 {
			return fmt.Errorf("MinibatchSize wants a number from 1 to 256, not %q", value)
		}
		e.leaves = int(number)
	case "uci_chess960":
		e.chess960 = value == "true"
	default:
		return fmt.Errorf("no option %q", name)
	}
	e.search = nil // options hold from the next position on
	return nil
}

func (e *Engine) newGame() {
	e.line = chess.NewHistory(chess.StartBoard())
	e.search = nil
}

// position takes "startpos | fen F, moves M...". On an error the old position
// stands.
func (e *Engine) position(args []string) error {
	fen, moves := startFEN, []string(nil)
	for i, a := range args {
		if a == "moves" {
			args, moves = args[:i], args[i+1:]
			break
		}
	}
	switch {
	case len(args) > 1 && args[0] == "fen":
		fen = strings.Join(args[1:], " ")
	case len(args) != 1 || args[0] != "startpos":
		return fmt.Errorf("position wants startpos or fen, not %q", strings.Join(args, " "))
	}
	board, err := chess.ParseFEN(fen)
	if err != nil {
		return fmt.Errorf("position: %w", err)
	}
	line := chess.NewHistory(board)
	for i, text := range moves {
		m, err := line.Board().ParseUCI(text)
		if err != nil {
			return fmt.Errorf("position: move %d %s: %w", i+1, text, err)
		}
		line.Push(m)
	}
	e.line = line
	e.search = nil
	return nil
}

// say writes one line to the GUI.
func (e *Engine) say(format string, args ...any) {
	e.outMu.Lock()
	defer e.outMu.Unlock()
	fmt.Fprintf(e.out, format+"\n", args...)
	e.out.Flush() // a closed GUI shows as the end of our input
}

// start begins a search in the background.
func (e *Engine) start(ctx context.Context, args []string) error {
	limits, err := parseGo(args, e.line.Board().SideToMove())
	if err != nil {
		return err
	}
	var list chess.MoveList
	e.line.Board().GenerateMoves(&list)
	if list.N == 0 {
		e.say("bestmove 0000")
		return nil
	}
	config := e.Search
	if limits.nodes > 0 {
		config.Simulations = limits.nodes
	} else if limits.timed() {
		config.Simulations = maxNodes
	}
	e.search = mcts.New(&config, nil)
	e.search.Reset(e.line)
	e.search.Begin(rand.New(rand.NewPCG(1, 1)), false)
	ctx, e.running = context.WithCancel(ctx)
	e.wait.Go(func() { e.think(ctx, limits) })
	return nil
}

// stop ends a search under way and waits until its move is sent.
func (e *Engine) stop() {
	if e.running != nil {
		e.running()
		e.wait.Wait()
		e.running = nil
	}
}
