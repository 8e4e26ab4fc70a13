package uci

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

// Engine answers a GUI with the moves of a search over one net. Its fields are
// set before Set or Serve is called and not changed afterwards.
type Engine struct {
	Name   string         // shown to the GUI
	Net    mcts.Evaluator // the net that plays; used by one goroutine at a time
	Search mcts.Config    // its Simulations are the nodes of a plain "go"; its Gumbel holds where mcts.GumbelVisits or fewer alone end a search

	// Warm makes Net ready, which may take seconds; it is called once, before the first
	// readyok or search. nil = there is nothing to do.
	Warm func() error

	// Another returns one more evaluator of the same net, for one more thread;
	// nil = there is one thread.
	Another func() mcts.Evaluator

	// Open lets the GUI choose another net by the option WeightsFile: it sets Net, Search,
	// Warm and Another anew, or nothing and returns an error. nil = there is no such option.
	Open func(file string) error

	settings settings
	warmed   bool
	out      *bufio.Writer
	outMu    sync.Mutex
	line     *chess.History // the position that go thinks about

	// What a search works with, made by prepare, and made anew (ready = false) where
	// a setting changes it.
	ready   bool
	search  *mcts.Search
	cache   *mcts.Cache
	threads []thread // the first has Net
	tables  tables   // Syzygy tables, perhaps none
	pace    pace

	span   *span              // of the search under way
	cancel context.CancelFunc // ends it; nil without one
	wait   sync.WaitGroup     // for the goroutine that thinks
}

// Serve reads commands until quit, the end of in, or ctx's end. A search under
// way is then stopped and its move sent; at the end of in, where nobody can stop
// it any more, one that has limits is let finish, so that commands can be piped
// in. After quit or ctx's end one goroutine may still hang in a Read of in; it
// ends with that call.
func (e *Engine) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	e.out = bufio.NewWriter(out)
	e.settings.fill(&e.Search)
	e.line = chess.NewHistory(chess.StartBoard())
	defer e.stop()
	inputs := make(chan input)
	failed := make(chan error, 1)
	go func() {
		failed <- readLines(in, maxCommand, func(text string, long bool) bool {
			select {
			case inputs <- input{text, long}:
				return true
			case <-ctx.Done():
				return false
			}
		})
		close(inputs)
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case i, open := <-inputs:
			if !open {
				if e.cancel != nil && e.span.running() { // a search that ends without a word from the GUI
					e.wait.Wait()
				}
				return <-failed
			}
			if i.tooLong {
				e.fault(fmt.Errorf("a command of more than %d bytes was ignored", maxCommand))
			} else if quit := e.command(ctx, i.text); quit {
				return nil
			}
		}
	}
}

// command handles one line and says whether it was quit.
func (e *Engine) command(ctx context.Context, text string) (quit bool) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return false
	}
	var err error
	switch args := fields[1:]; fields[0] {
	case "uci":
		e.identify()
	case "isready":
		if e.cancel == nil {
			e.prepare()
		}
		e.say("readyok")
	case "setoption":
		err = e.setOption(args)
	case "ucinewgame":
		e.finish()
		e.line = chess.NewHistory(chess.StartBoard())
		e.forget()
	case "position":
		e.finish()
		if h, wrong := ParsePosition(args); wrong != nil {
			err = fmt.Errorf("position: %w", wrong) // the old one stands
		} else {
			e.line = h
		}
	case "go":
		e.finish()
		e.start(ctx, args, time.Now())
	case "stop":
		e.stop()
	case "ponderhit":
		if e.cancel != nil {
			e.span.release(time.Now(), e.cancel)
		}
	case "quit":
		return true
	case "debug", "register": // nothing to do
	default:
		err = fmt.Errorf("unknown command %q; there are uci, isready, setoption, ucinewgame, position, go, stop, ponderhit and quit", fields[0])
	}
	if err != nil {
		e.fault(err)
	}
	return false
}

// ParsePosition reads the words behind position: startpos or fen F, each perhaps
// followed by moves and moves.
func ParsePosition(words []string) (*chess.History, error) {
	var moves []string
	if end := slices.Index(words, "moves"); end >= 0 {
		words, moves = words[:end], words[end+1:]
	}
	board := chess.StartBoard()
	switch {
	case len(words) > 1 && words[0] == "fen":
		var err error
		if board, err = chess.ParseFEN(strings.Join(words[1:], " ")); err != nil {
			return nil, err
		}
	case len(words) != 1 || words[0] != "startpos":
		return nil, fmt.Errorf("%q: want startpos or fen FEN, each perhaps followed by moves and moves in UCI notation", strings.Join(words, " "))
	}
	h := chess.NewHistory(board)
	for i, text := range moves {
		m, err := h.Board().ParseUCI(text)
		if err != nil {
			return nil, fmt.Errorf("move %d: %w", i+1, err)
		}
		h.Push(m)
	}
	return h, nil
}

// prepare makes what a search works with, if it is not there.
func (e *Engine) prepare() {
	if e.ready {
		return
	}
	if e.Warm != nil && !e.warmed {
		e.warmed = true
		if err := e.Warm(); err != nil {
			e.fault(err)
		}
	}
	s := &e.settings
	if e.cache == nil {
		e.cache = mcts.NewSharedCache(s.cachePositions)
	}
	e.threads = e.threads[:0]
	for net := e.Net; ; net = e.Another() {
		e.threads = append(e.threads, thread{net, mcts.NewBatch(net, s.minibatch)})
		if len(e.threads) == s.threads {
			break
		}
	}
	s.apply(&e.Search)
	e.Search.Prober = nil
	if e.tables.open != nil {
		e.Search.Prober = &e.tables
	}
	if e.search == nil {
		e.search = mcts.New(&e.Search, nil)
	}
	e.search.SetCache(e.cache)
	e.search.Reserve(min(e.Search.MaxNodes, maxReserved))
	e.search.Reset(e.line)
	e.ready = true
}

// forget drops the tree and the answers of the net that are remembered.
func (e *Engine) forget() {
	e.cache.Clear()
	if e.search != nil {
		e.search.Reset(e.line)
	}
}

// say writes one line to the GUI. Line breaks inside it become spaces.
func (e *Engine) say(format string, args ...any) {
	e.outMu.Lock()
	defer e.outMu.Unlock()
	text := strings.NewReplacer("\n", " ", "\r", " ").Replace(fmt.Sprintf(format, args...))
	e.out.WriteString(text + "\n")
	e.out.Flush() // a closed GUI shows as the end of our input
}

// fault tells the GUI what was wrong.
func (e *Engine) fault(err error) { e.say("info string error: %v", err) }

// stop ends a search under way and waits until its move is sent.
func (e *Engine) stop() {
	if e.cancel != nil {
		e.cancel()
		e.wait.Wait()
		e.span.end()
		e.cancel = nil
	}
}

// finish lets a search of so many nodes or so much time end by itself, as Stockfish does,
// and ends any other.
func (e *Engine) finish() {
	if e.cancel != nil && e.span.running() && (e.span.nodes > 0 || e.span.timed()) {
		e.wait.Wait()
	}
	e.stop()
}

// maxCommand bounds a line of the GUI in bytes: a position with some 200 000 moves.
const maxCommand = 1 << 20

// input is a line of the GUI; of one that is longer than maxCommand only the beginning.
type input struct {
	text    string
	tooLong bool
}

// readLines calls use with each line of r, with its end, until r ends or fails or use
// returns false. What a line has beyond most bytes is left out; long says so.
func readLines(r io.Reader, most int, use func(text string, long bool) bool) error {
	in := bufio.NewReaderSize(r, min(most, 64<<10))
	var line []byte
	for size := 0; ; {
		part, err := in.ReadSlice('\n')
		size += len(part)
		line = append(line, part[:min(len(part), most-len(line))]...)
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		if (size > 0 || err == nil) && !use(string(line), size > most) {
			return nil
		}
		if err == io.EOF {
			return nil
		}
		line, size = line[:0], 0
	}
}
