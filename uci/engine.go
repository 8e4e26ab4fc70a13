package uci

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/mcts"
)

// Engine answers a GUI with the moves of a search over one net.
type Engine struct {
	Name   string         // shown to the GUI
	Net    mcts.Evaluator // the net that plays; used by one goroutine at a time
	Search mcts.Config    // its Simulations are the nodes of a plain "go"

	out      *bufio.Writer
	outMu    sync.Mutex
	line     *chess.History // the position that go thinks about
	search   *mcts.Search
	batch    *encoding.Batch
	chess960 bool
	leaves   int                // gathered for one evaluation
	cancel   context.CancelFunc // ends the search under way; nil without one
	wait     sync.WaitGroup     // for the goroutine that thinks
}

// Serve reads commands until quit, the end of in, or ctx's end. A search under
// way is then stopped and its move sent. After quit or ctx's end one goroutine
// may still hang in a Read of in; it ends with that call.
func (e *Engine) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	e.out = bufio.NewWriter(out)
	e.leaves = defaultLeaves
	e.batch = encoding.NewBatch(maxLeaves)
	e.Search.MaxNodes = maxNodes
	e.search = mcts.New(&e.Search, nil)
	e.line = chess.NewHistory(chess.StartBoard())
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
		e.line = chess.NewHistory(chess.StartBoard())
		e.search.Reset(e.line)
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

// position takes "startpos | fen F, moves M...". On an error the old position
// stands.
func (e *Engine) position(args []string) error {
	board, moves := chess.StartBoard(), []string(nil)
	for i, a := range args {
		if a == "moves" {
			args, moves = args[:i], args[i+1:]
			break
		}
	}
	switch {
	case len(args) > 1 && args[0] == "fen":
		var err error
		if board, err = chess.ParseFEN(strings.Join(args[1:], " ")); err != nil {
			return fmt.Errorf("position: %w", err)
		}
	case len(args) != 1 || args[0] != "startpos":
		return fmt.Errorf("position wants startpos or fen, not %q", strings.Join(args, " "))
	}
	line := chess.NewHistory(board)
	for i, text := range moves {
		m, err := line.Board().ParseUCI(text)
		if err != nil {
			return fmt.Errorf("position: move %d %q: %w", i+1, text, err)
		}
		line.Push(m)
	}
	e.line = line
	return nil
}

// say writes one line to the GUI. Line breaks inside it become spaces.
func (e *Engine) say(format string, args ...any) {
	e.outMu.Lock()
	defer e.outMu.Unlock()
	text := strings.NewReplacer("\n", " ", "\r", " ").Replace(fmt.Sprintf(format, args...))
	e.out.WriteString(text + "\n")
	e.out.Flush() // a closed GUI shows as the end of our input
}

// stop ends a search under way and waits until its move is sent.
func (e *Engine) stop() {
	if e.cancel != nil {
		e.cancel()
		e.wait.Wait()
		e.cancel = nil
	}
}
