package uci

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/mcts"
)

// TestMain lets the test binary be an engine, too: good ones and all bad ones.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "fake-engine" {
		os.Exit(fakeEngine(os.Args[2], os.Args[3:]))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // of the engines
	os.Exit(m.Run())
}

// fake is an engine that does what its mode says, else what it should.
type fake struct {
	mode  string
	args  []string
	out   *bufio.Writer
	board chess.Board
	set   []string // options, in order
	ready int      // isready received
}

// fakeEngine is the program; it returns the exit status.
func fakeEngine(mode string, args []string) int {
	f := &fake{mode: mode, args: args, out: bufio.NewWriter(os.Stdout), board: chess.StartBoard()}
	switch mode {
	case "self":
		e := Engine{Name: "self", Net: &mcts.HashEvaluator{}, Search: mcts.DefaultConfig()}
		if e.Serve(context.Background(), os.Stdin, os.Stdout) != nil {
			return 1
		}
		return 0
	case "host":
		return fakeHost(args[0])
	case "sleeper":
		sleep()
	case "crash-at-start":
		fmt.Fprintln(os.Stderr, "cannot find my weights")
		return 3
	case "closes-stdin":
		os.Stdin.Close()
		f.identify()
		sleep()
	case "child", "no-quit":
		hold, err := os.OpenFile(args[0], os.O_WRONLY, 0)
		if err != nil {
			return 4
		}
		if mode == "child" {
			child := exec.Command(os.Args[0], "fake-engine", "sleeper")
			child.ExtraFiles = []*os.File{hold}
			child.Stdout = os.Stdout
			if child.Start() != nil {
				return 5
			}
		}
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if status, ends := f.command(in.Text()); ends {
			return status
		}
	}
	if mode == "no-quit" {
		sleep()
	}
	return 0
}

func sleep() {
	for {
		time.Sleep(time.Hour)
	}
}

// fakeHost is a process that has an engine and hangs.
func fakeHost(fifo string) int {
	if _, err := Start(context.Background(), fakeConfig("no-quit", fifo)); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	sleep()
	return 0
}

func (f *fake) say(lines ...string) {
	for _, text := range lines {
		f.out.WriteString(text + "\n")
	}
	f.out.Flush()
}

func (f *fake) identify() {
	f.say("id name Fake \x1b[1m 1.0", "id author Nobody in particular",
		"option name Threads type spin default 1 min 1 max 8",
		"option name Ponder type check default false",
		"option name Style Of Play type combo default Solid var Solid var Very Risky",
		"option name Clear Hash type button",
		"option name Log File type string default <empty>",
		"option", "option name", "option name Broken type", "option name Odd type range default 3", "option type spin min 1")
	if f.mode != "no-960" {
		f.say("option name UCI_Chess960 type check default false")
	}
	f.say("uciok")
}

// command does what one line asks.
func (f *fake) command(text string) (status int, ends bool) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "uci":
		switch f.mode {
		case "no-uciok":
			f.say("id name Silence")
			return 0, false
		case "greeting":
			f.say("Welcome!\r", "", "\x00\xff\xfe", strings.Repeat("uciok ", 1<<18), "readyok", "uciokay", "id", "id name")
		case "many-options":
			for i := range maxOptions + 1 {
				f.say(fmt.Sprintf("option name O%d type button", i))
			}
		}
		f.identify()
	case "setoption":
		f.set = append(f.set, strings.TrimPrefix(rest, "name "))
	case "ucinewgame":
		switch f.mode {
		case "crash-idle":
			return 7, true
		case "flood":
			for range 50_000 {
				f.out.WriteString("info string nobody asked for this line\n")
			}
		case "flood-for-ever":
			f.say("readyok")
			for {
				f.out.WriteString("info string nobody asked for this line\n")
			}
		}
	case "isready":
		f.ready++
		if f.mode == "no-readyok" && f.ready > 1 {
			return 0, false
		}
		f.say("readyok")
		if f.mode == "deaf" {
			sleep()
		}
	case "position":
		if !f.position(rest) {
			return 9, true
		}
	case "go":
		return f.search()
	case "stop":
		if f.mode == "stoppable" {
			f.say("bestmove " + f.first())
		}
	case "quit":
		return 0, f.mode != "no-quit"
	}
	return 0, false
}

// position sets the board up; it is strict.
func (f *fake) position(text string) bool {
	start, moves, _ := strings.Cut(text, " moves ")
	f.board = chess.StartBoard()
	if fen, ok := strings.CutPrefix(start, "fen "); ok {
		var err error
		if f.board, err = chess.ParseFEN(fen); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return false
		}
	}
	for move := range strings.FieldsSeq(moves) {
		m, err := f.board.ParseUCI(move)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return false
		}
		f.board.Make(m)
	}
	return true
}

// first returns the first legal move.
func (f *fake) first() string {
	var legal chess.MoveList
	f.board.GenerateMoves(&legal)
	if legal.N == 0 {
		return "(none)"
	}
	return f.board.UCI(legal.Moves[0], false)
}

// search answers go.
func (f *fake) search() (status int, ends bool) {
	switch f.mode {
	case "says": // its arguments, and crashes after them
		f.say(f.args...)
		return 0, true
	case "crash":
		f.say("info depth 1 score cp 5")
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		return 2, true
	case "hang", "stoppable":
		f.say("info depth 1 score cp 5")
		return 0, false
	case "huge":
		for range 10 << 10 {
			f.out.WriteString(strings.Repeat("x", 1<<10))
		}
		f.say("", "info depth 3 score cp 3 pv "+strings.Repeat("e2e4 ", 1<<18))
	case "sleepy":
		time.Sleep(sleepyTime)
	case "twice":
		f.say("bestmove " + f.first())
	}
	f.say("info string set "+strings.Join(f.set, "|"), "bestmove "+f.first())
	return 0, false
}

// sleepyTime is how long the sleepy engine thinks.
const sleepyTime = 30 * time.Millisecond

// fakeConfig starts this binary as an engine of a mode. Its waits never end
// before a test does, but for engines that never answer.
func fakeConfig(mode string, args ...string) ClientConfig {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return ClientConfig{Path: path, Args: append([]string{"fake-engine", mode}, args...), StartTimeout: time.Minute, Grace: time.Minute}
}

// startFake starts an engine and ends it with the test.
func startFake(t *testing.T, config ClientConfig) *Client {
	t.Helper()
	c, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// transcript is a log.
type transcript struct {
	mu    sync.Mutex
	text  strings.Builder
	watch func(line string) // or nil
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch != nil {
		l.watch(string(p))
	}
	return l.text.Write(p)
}

// sent returns the lines to the engine that begin with a word.
func (l *transcript) sent(word string) (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for text := range strings.Lines(l.text.String()) {
		if rest, ok := strings.CutPrefix(text, "> "); ok && strings.HasPrefix(rest, word) {
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	return lines
}
