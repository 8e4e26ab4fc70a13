package uci

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/spawn"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
)

// What most tests think about, and the limit that they give.
var (
	startLine = Position{Start: chess.StartBoard()}
	oneNode   = Limit{Nodes: 1}
)

// TestClientStart holds what an engine says of itself, behind a greeting of
// rubbish, and that it ends without a trace.
func TestClientStart(t *testing.T) {
	for _, mode := range []string{"good", "greeting"} {
		c := startFake(t, fakeConfig(mode))
		if name := c.Name; name != "Fake ?[1m 1.0" {
			t.Errorf("%s: name %q", mode, name)
		}
		var names []string
		for _, o := range c.options {
			names = append(names, o.Name)
		}
		if want := []string{"Threads", "Ponder", "Style Of Play", "Clear Hash", "Log File", "UCI_Chess960"}; !slices.Equal(names, want) {
			t.Errorf("%s: options %q, want %q", mode, names, want)
		}
		if err := c.NewGame(t.Context()); err != nil {
			t.Error(err)
		}
		if a, err := c.Go(t.Context(), startLine, oneNode); err != nil || a.Move == chess.NoMove {
			t.Errorf("%s: %v, %v", mode, a, err)
		}
		pid := c.proc.cmd.Process.Pid
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if !spawn.Gone(pid) {
			t.Errorf("%s: process %d is there after Close", mode, pid)
		}
		if _, err := c.Go(t.Context(), startLine, oneNode); !errors.Is(err, ErrClosed) {
			t.Errorf("Go after Close: %v", err)
		}
		if err := c.NewGame(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("NewGame after Close: %v", err)
		}
	}
}

// TestClientStartFails holds what is said of engines that do not start.
func TestClientStartFails(t *testing.T) {
	quick := func(c ClientConfig) ClientConfig {
		c.StartTimeout, c.ReadyTimeout = 50*time.Millisecond, 50*time.Millisecond
		return c
	}
	options := func(name, value string) ClientConfig {
		c := fakeConfig("good")
		c.Options = map[string]string{name: value}
		return c
	}
	nowhere := ClientConfig{Path: filepath.Join(t.TempDir(), "script")} // whose interpreter is not there
	if err := os.WriteFile(nowhere.Path, []byte("#!"+nowhere.Path+".none\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	is, says := error(syscall.ENOENT), "could not be started"
	if runtime.GOOS == "windows" { // which knows programs by their suffix
		is, says = exec.ErrNotFound, "find the engine"
	}
	for _, c := range []struct {
		config ClientConfig
		is     error
		says   string
	}{
		{quick(fakeConfig("no-uciok")), ErrHung, "sent no uciok within 50ms; is it a UCI engine? and was killed"},
		{quick(fakeConfig("sleeper")), ErrHung, "is it a UCI engine?"},
		{fakeConfig("crash-at-start"), ErrExited, `ended (exit status 3): the engine's process ended; it last said "cannot find my weights"`},
		{fakeConfig("many-options"), ErrOption, "declares more than 1000 options"},
		{options("Hash", "16"), ErrOption, `has no option "Hash", only Threads, Ponder, Style Of Play`},
		{options("threads", "9"), ErrOption, "Threads wants a whole number from 1 to 8, not \"9\""},
		{options("Threads", "two"), ErrOption, `not "two"`},
		{options("Ponder", "1"), ErrOption, `Ponder wants true or false, not "1"`},
		{options("Style of Play", "Brave"), ErrOption, `Style Of Play wants one of Solid, Very Risky, not "Brave"`},
		{options("Clear Hash", "now"), ErrOption, `Clear Hash is a button and takes no value, not "now"`},
		{options("Log File", "a\nquit"), ErrOption, "Log File wants a text of one line"},
		{ClientConfig{}, nil, "has no name"},
		{ClientConfig{Path: "no-such-engine-anywhere"}, exec.ErrNotFound, "find the engine no-such-engine-anywhere"},
		{ClientConfig{Path: t.TempDir()}, nil, "find the engine"},
		{nowhere, is, says},
	} {
		client, err := Start(t.Context(), c.config)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one of %v with %q", c.config.Args, err, c.is, c.says)
		}
		if client != nil {
			t.Error("there is a client all the same")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	log := &transcript{watch: func(line string) {
		if strings.Contains(line, "Silence") {
			cancel()
		}
	}}
	config := fakeConfig("no-uciok")
	config.Log = log
	if _, err := Start(ctx, config); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that was cancelled: %v", err)
	}
}

// TestClientOptions holds what reaches the engine, in the order of the names.
func TestClientOptions(t *testing.T) {
	config := fakeConfig("good")
	config.Options = map[string]string{"threads": "8", "PONDER": "TRUE", "style of play": "very risky", "Clear Hash": "", "Log File": "a b.txt"}
	said := ""
	config.Log = &transcript{watch: func(line string) {
		if text, ok := strings.CutPrefix(line, "< info string "); ok {
			said = strings.TrimSpace(text)
		}
	}}
	c := startFake(t, config)
	_, err := c.Go(t.Context(), startLine, oneNode)
	if want := "set Clear Hash|Log File value a b.txt|Ponder value true|Style Of Play value Very Risky|Threads value 8"; err != nil || said != want {
		t.Errorf("%v; the engine got %q, want %q", err, said, want)
	}
}

// TestClientMoves takes what engines answer to go.
func TestClientMoves(t *testing.T) {
	for _, c := range []struct {
		answer, fen string
		move        string // "" = an illegal one
	}{
		{"bestmove e2e4", chess.StartFEN, "e2e4"},
		{"bestmove e2e4 ponder e7e5", chess.StartFEN, "e2e4"},
		{"bestmove e2e4 ponder e2e4", chess.StartFEN, "e2e4"},
		{"bestmove e2e4 ponder", chess.StartFEN, "e2e4"},
		{"  bestmove   e2e4  ", chess.StartFEN, "e2e4"},
		{"bestmove e8g8", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8g8"},
		{"bestmove a7a8n", "8/P6k/8/8/8/8/8/K7 w - - 0 1", "a7a8n"},
		{"bestmove (none)", "k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", "0000"},
		{"bestmove 0000", "7k/8/8/8/8/8/r7/1r5K w - - 0 1", "0000"},
		{"bestmove e2e5", chess.StartFEN, ""},
		{"bestmove (none)", chess.StartFEN, ""},
		{"bestmove 0000", chess.StartFEN, ""},
		{"bestmove", chess.StartFEN, ""},
		{"bestmove a7a8", "8/P6k/8/8/8/8/8/K7 w - - 0 1", ""},
		{"bestmove \x01\xff", chess.StartFEN, ""},
		{"bestmove a8b8", "k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", ""},
	} {
		board := chesstest.Board(t, c.fen)
		client := startFake(t, fakeConfig("says", "info string bestmove h7h5", c.answer))
		a, err := client.Go(t.Context(), Position{Start: board}, oneNode)
		if c.move == "" {
			if !errors.Is(err, ErrIllegal) || a.Move != chess.NoMove || !strings.Contains(err.Error(), board.FEN()) {
				t.Errorf("%q: move %s, error %v", c.answer, a.Move, err)
			}
			continue
		}
		if err != nil || board.UCI(a.Move, false) != c.move {
			t.Errorf("%q: move %s, error %v", c.answer, a.Move, err)
		}
	}
}

// TestClientGoesOn plays with an engine that answers twice: the second answer is
// not taken for that to the next question.
func TestClientGoesOn(t *testing.T) {
	c := startFake(t, fakeConfig("twice"))
	line := Position{Start: chess.StartBoard()}
	board := line.Start
	for range 6 {
		a, err := c.Go(t.Context(), line, oneNode)
		if err != nil {
			t.Fatal(err)
		}
		var legal chess.MoveList
		if board.GenerateMoves(&legal); a.Move != legal.Moves[0] {
			t.Fatalf("after %d moves: %s, the engine plays %s", len(line.Moves), a.Move, legal.Moves[0])
		}
		line.Moves = append(line.Moves, a.Move)
		board.Make(a.Move)
	}
}

// TestClientCrash ends engines at bad moments: the error says how, and is that of
// every later call.
func TestClientCrash(t *testing.T) {
	search := func(c *Client) error { _, err := c.Go(t.Context(), startLine, oneNode); return err }
	for _, c := range []struct {
		mode string
		call func(*Client) error
		says string
	}{
		{"crash", search, `engine Fake ?[1m 1.0: ended (exit status 2): the engine's process ended; it last said "panic: out of luck"`},
		{"says", search, "ended (exit status 0)"},
		{"crash-idle", func(c *Client) error { return c.NewGame(t.Context()) }, "ended (exit status 7)"},
	} {
		client := startFake(t, fakeConfig(c.mode))
		err := c.call(client)
		var e *ClientError
		if !errors.Is(err, ErrExited) || !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one with %q", c.mode, err, c.says)
		}
		if again := search(client); again != err {
			t.Errorf("%s: then %v", c.mode, again)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	// Killed from outside, while nothing is asked of it.
	client := startFake(t, fakeConfig("good"))
	if err := client.proc.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-client.proc.exited
	if err := search(client); !errors.Is(err, ErrExited) || !strings.Contains(err.Error(), client.proc.cmd.ProcessState.String()) {
		t.Errorf("killed: %v", err)
	}
}

// TestClientHang holds engines that do not answer: each is killed.
func TestClientHang(t *testing.T) {
	shuffle := Position{Start: chess.StartBoard()} // too long for the pipe of one that does not read
	board := shuffle.Start
	for i := range 32_000 {
		m, err := board.ParseUCI([]string{"g1f3", "g8f6", "f3g1", "f6g8"}[i%4])
		if err != nil {
			t.Fatal(err)
		}
		shuffle.Moves = append(shuffle.Moves, m)
		board.Make(m)
	}
	for _, c := range []struct {
		mode string
		line Position
		says string
	}{
		{"no-readyok", startLine, "sent no readyok within 50ms and was killed"},
		{"deaf", shuffle, "read nothing for 50ms and was killed"},
		{"hang", startLine, "sent no bestmove within 50ms of stop and was killed"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		config := fakeConfig(c.mode)
		config.Log = &transcript{watch: func(line string) {
			if strings.HasPrefix(line, "< info") {
				cancel()
			}
		}}
		client := startFake(t, config)
		client.config.Grace = 50 * time.Millisecond
		if c.mode == "no-readyok" {
			client.config.ReadyTimeout = 50 * time.Millisecond
		}
		_, err := client.Go(ctx, c.line, oneNode)
		if !errors.Is(err, ErrHung) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one with %q", c.mode, err, c.says)
		}
		if c.mode == "hang" && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v does not say that it was stopped", c.mode, err)
		}
		if !spawn.Gone(client.proc.cmd.Process.Pid) {
			t.Errorf("%s: the process is there after it", c.mode)
		}
		if _, err := client.Go(t.Context(), startLine, oneNode); !errors.Is(err, ErrHung) {
			t.Errorf("%s: then %v", c.mode, err)
		}
		cancel()
	}
}

// TestClientClosedInput holds an engine that closes its input and lives on.
func TestClientClosedInput(t *testing.T) {
	config := fakeConfig("closes-stdin")
	config.Grace = 50 * time.Millisecond
	if _, err := Start(t.Context(), config); !errors.Is(err, ErrHung) || !strings.Contains(err.Error(), "closed its input but lived on and was killed") {
		t.Errorf("error %v", err)
	}
}

// TestClientStop ends a search with its context: the move comes nevertheless, and
// the engine plays on.
func TestClientStop(t *testing.T) {
	for _, mode := range []string{"stoppable", "self"} {
		ctx, cancel := context.WithCancel(t.Context())
		config := fakeConfig(mode)
		config.Log = &transcript{watch: func(line string) {
			if strings.HasPrefix(line, "< info") || mode == "self" && line == "> go nodes 1000000000\n" {
				cancel()
			}
		}}
		c := startFake(t, config)
		a, err := c.Go(ctx, startLine, Limit{Nodes: 1e9})
		if a.Move == chess.NoMove || !errors.Is(err, context.Canceled) || mode == "stoppable" && a.Score != 5 {
			t.Errorf("%s: %+v, %v", mode, a, err)
		}
		for range 3 {
			if _, err := c.Go(ctx, startLine, Limit{Nodes: 1e9}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: a search that is over before it begins: %v", mode, err)
			}
		}
		if mode == "self" {
			if _, err := c.Go(t.Context(), startLine, Limit{Nodes: 20}); err != nil {
				t.Errorf("the next search: %v", err)
			}
		}
		cancel()
	}
}

// TestClientCancelled asks again and again with a context that is over: what the
// engine answers late never counts as the answer to a later question.
func TestClientCancelled(t *testing.T) {
	c := startFake(t, fakeConfig("good"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 30 {
		if _, err := c.Go(over, startLine, oneNode); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		if err := c.NewGame(over); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
	}
	if a, err := c.Go(t.Context(), startLine, oneNode); err != nil || a.Move == chess.NoMove {
		t.Errorf("%+v, %v", a, err)
	}
	if c.asked != c.answered {
		t.Errorf("isready was asked %d times and answered %d times", c.asked, c.answered)
	}
}

// TestClientHugeOutput takes lines without an end and floods of lines.
func TestClientHugeOutput(t *testing.T) {
	c := startFake(t, fakeConfig("huge"))
	if a, err := c.Go(t.Context(), startLine, oneNode); err != nil || !a.Scored || a.Score != 3 {
		t.Errorf("%v: %+v", err, a)
	}
	c = startFake(t, fakeConfig("flood"))
	for range 2 {
		if err := c.NewGame(t.Context()); err != nil {
			t.Error(err)
		}
	}
	c = startFake(t, fakeConfig("flood-for-ever"))
	c.config.Grace = 50 * time.Millisecond
	if err := c.NewGame(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(); !errors.Is(err, ErrHung) {
		t.Errorf("close: %v", err)
	}
}

// TestClientTime holds that thinking is timed.
func TestClientTime(t *testing.T) {
	c := startFake(t, fakeConfig("sleepy"))
	if a, err := c.Go(t.Context(), startLine, oneNode); err != nil || a.Time < sleepyTime {
		t.Errorf("%v: %s, the engine slept %s", err, a.Time, sleepyTime)
	}
}

// TestClientShared lets goroutines share an engine.
func TestClientShared(t *testing.T) {
	c := startFake(t, fakeConfig("good"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if a, err := c.Go(t.Context(), startLine, oneNode); err != nil || a.Move == chess.NoMove {
					t.Errorf("%v, %v", a.Move, err)
				}
			}
		})
	}
	all.Wait()
}

// TestFindEngine looks in the PATH first.
func TestFindEngine(t *testing.T) {
	self := fakeConfig("good").Path
	t.Setenv("PATH", filepath.Dir(self))
	if got, err := FindEngine(filepath.Base(self)); err != nil || got != self {
		t.Errorf("%s, %v; want %s", got, err, self)
	}
	t.Chdir(filepath.Dir(self))
	if got, err := FindEngine("./" + filepath.Base(self)); err != nil || got != self {
		t.Errorf("%s, %v; want %s", got, err, self)
	}
}
