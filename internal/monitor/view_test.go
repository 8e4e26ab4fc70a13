package monitor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// get fetches /metrics with a token and returns status and body.
func get(t *testing.T, s *Server, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+s.Addr.String()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestPrometheusPage(t *testing.T) {
	p := NewProm("job")
	for _, e := range sample() {
		if err := p.Handle(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Handle(&Episode{Header: Header{Type: "episode"}, Episode: 7, WindowRows: 900, Results: Results{White: 1, Draw: 4, Black: 2}, Ends: map[string]int64{"checkmate": 3}, Totals: Totals{Positions: 1234}}); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{PluginRunning, "stopped"} { // only the first reports numbers
		n := PluginNumbers{Calls: 8, Games: 64, Rows: 5000, Seconds: 0.5, RowsPerSecond: 10000, MeanLatency: 0.0625, Restarts: 2, Quarantined: 1}
		if state != PluginRunning {
			n = PluginNumbers{}
		}
		if err := p.Handle(&Plugin{Name: "deblunder", Kind: "rescorer", State: state, PluginNumbers: n}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Serve(ServerOptions{Addr: "127.0.0.1:0"}, p.Handler())
	if err != nil {
		t.Fatal(err)
	}
	status, body := get(t, s, "")
	for _, want := range []string{`chessbrain_episodes{job_id="job"} 7`, `chessbrain_positions{job_id="job"} 1234`, `chessbrain_window_rows{job_id="job"} 900`,
		`chessbrain_game_results{job_id="job",result="draw"} 4`, `chessbrain_game_ends{job_id="job",reason="checkmate"} 3`,
		`chessbrain_plugin{job_id="job",kind="rescorer",plugin="deblunder",what="rows"} 5000`, `chessbrain_plugin{job_id="job",kind="rescorer",plugin="deblunder",what="mean_latency"} 0.0625`,
		`chessbrain_plugin{job_id="job",kind="rescorer",plugin="deblunder",what="restarts"} 2`, `chessbrain_plugin{job_id="job",kind="rescorer",plugin="deblunder",what="quarantined"} 1`,
		`chessbrain_events_total{job_id="job",type="episode"} 2`, `chessbrain_value{curve="train/policy_loss",job_id="job"}`} {
		if !strings.Contains(body, want+" ") && !strings.Contains(body, want+"\n") {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	if status != http.StatusOK || strings.Contains(body, "go_goroutines") {
		t.Errorf("status %d, or the global registry is shown", status)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestListenerIsLoopback(t *testing.T) {
	for _, c := range []struct {
		opt     ServerOptions
		refused bool
	}{
		{ServerOptions{Addr: "127.0.0.1:0"}, false},
		{ServerOptions{Addr: "[::1]:0"}, false},
		{ServerOptions{Addr: "localhost:0"}, false},
		{ServerOptions{Addr: "0.0.0.0:0"}, true},
		{ServerOptions{Addr: ":0"}, true},
		{ServerOptions{Addr: "[::]:0"}, true},
		{ServerOptions{Addr: "192.0.2.1:0"}, true},
		{ServerOptions{Addr: "0.0.0.0:0", Public: true}, true},
		{ServerOptions{Addr: "0.0.0.0:0", Token: "x"}, true},
		{ServerOptions{Addr: "0.0.0.0:0", Public: true, Token: "x"}, false},
	} {
		if err := checkAddr(c.opt); errors.Is(err, ErrNotLoopback) != c.refused {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
	if _, err := Serve(ServerOptions{Addr: "0.0.0.0:0"}, NewProm("j").Handler()); !errors.Is(err, ErrNotLoopback) {
		t.Errorf("Serve: %v", err)
	}
	if _, err := Serve(ServerOptions{Addr: "9000"}, NewProm("j").Handler()); err == nil {
		t.Error("an address without port was taken")
	}
}

func TestToken(t *testing.T) {
	s, err := Serve(ServerOptions{Addr: "127.0.0.1:0", Token: "secret"}, NewProm("j").Handler())
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"": 401, "secre": 401, "secret2": 401, "secret": 200} {
		if got, _ := get(t, s, token); got != want {
			t.Errorf("token %q: status %d, want %d", token, got, want)
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	for _, c := range []struct {
		query, host string
		want        int
	}{{"", "", 401}, {"?token=wrong", "", 401}, {"?token=secret", "", 200}, {"", "", 200}, {"", "elsewhere.example", 403}} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr.String()+"/metrics"+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = c.host
		answer, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("a browser at %q of %q: status %d, want %d", c.query, c.host, answer.StatusCode, c.want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// play sends a run of four episodes, one every 15 seconds of event time.
func play(t *testing.T, sink Sink) {
	t.Helper()
	at := time.Unix(1700000000, 0)
	send := func(e Event, after int) {
		e.Head().Time = at.Add(time.Duration(after) * time.Second)
		if err := sink.Handle(e); err != nil {
			t.Fatal(err)
		}
	}
	send(&Run{Phase: RunStart, Episodes: 4}, 0)
	for i := 1; i <= 4; i++ {
		send(&Episode{Episode: int64(i), Episodes: 4, Results: Results{Draw: int64(i)}, DrawShare: 1, MeanPlies: 80,
			Rates: Rates{PositionsPerSecond: 120, EvaluationsPerSecond: 3000, MeanBatch: 3.5, CacheHitShare: .25}}, 15*i)
		send(&Step{Step: int64(10 * i), Episode: int64(i), Losses: Numbers{"policy_loss": 3.25, "value_loss": Number(math.NaN()), "moves_left_loss": .1, "l2_loss": 5},
			Rates: Rates{PositionsPerSecond: 121, EvaluationsPerSecond: 3001, MeanBatch: 3.5, CacheHitShare: .25}}, 15*i+1)
	}
	send(&Validation{Step: 40, Weights: "raw", Losses: Numbers{"policy_loss": 3.5, "moves_left_loss": Number(math.NaN())}}, 62)
	send(&Run{Phase: RunDone, Episode: 4, Step: 40, Episodes: 4}, 63)
}

func TestPlainLines(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(ProgressOptions{Out: &out, Every: 20 * time.Second})
	play(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := `episode 2/4  policy 3.250  eta 30s  120 pos/s  draws 100%  plies 80  moves_left 0.100  step 10  3000 eval/s  batch 3.5  cache 25%
episode 4/4  policy 3.250  eta 0s  120 pos/s  draws 100%  plies 80  moves_left 0.100  step 30  3000 eval/s  batch 3.5  cache 25%
episode 4/4  policy 3.250 (val 3.500)  eta 0s  121 pos/s  draws 100%  plies 80  moves_left 0.100  step 40  3001 eval/s  batch 3.5  cache 25%
`
	if out.String() != want {
		t.Errorf("have\n%swant\n%s", out.String(), want)
	}
}

// TestTerminalLine: one line in its place, no wider than the terminal, redrawn no more
// often than it is told; log lines stand above it.
func TestTerminalLine(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(ProgressOptions{Out: &out, Terminal: true, Width: 60})
	if err := p.Handle(&Run{Phase: RunStart, Episodes: 4}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	play(t, p)
	at := p.state.now
	for i := range int64(10) { // within a tenth of a second
		e := &Step{Step: 41 + i}
		e.Time = at.Add(time.Duration(i) * 10 * time.Millisecond)
		if err := p.Handle(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if !strings.HasPrefix(text, "\repisode 0/4  step 0\x1b[K\r\x1b[Ka log line\n\repisode 0/4  step 0\x1b[K\repisode 0/4  step 0") {
		t.Errorf("it begins with %q", text[:min(len(text), 80)])
	}
	if want := "\repisode 4/4  policy 3.250 (val 3.500)  eta 0s  121 pos/s\x1b[K\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in %q", want, text)
	}
	if n := strings.Count(text, "\r"); n != 16 || strings.Count(text, "\n") != 3 || !strings.HasSuffix(text, "\n") {
		t.Errorf("%d redraws: %q", n, text)
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\x1b[K", ""), "\r") {
		if utf8.RuneCountInString(strings.TrimSpace(line)) > 59 {
			t.Errorf("%q is too wide", line)
		}
	}
}

// TestStepGoal: a training that counts steps shows how far it is, in both forms; games that
// come in beside it stand further back. Without an end there is no estimate.
func TestStepGoal(t *testing.T) {
	for _, c := range []struct {
		goal, games int64
		want        string
	}{
		{40, 0, "step 12/40  policy 3.250  eta 28s"},
		{40, 5, "step 12/40  policy 3.250  eta 28s  episode 5"},
		{0, 0, "step 12  policy 3.250"},
		{0, 5, "episode 5  policy 3.250  step 12"},
	} {
		for _, terminal := range []bool{false, true} {
			var out bytes.Buffer
			p := NewProgress(ProgressOptions{Out: &out, Terminal: terminal, Every: time.Second})
			for i, e := range []Event{&Run{Phase: RunResume, Step: 2}, &Episode{Episode: c.games}, &Step{Step: 12, Steps: c.goal, Losses: Numbers{"policy_loss": 3.25}}} {
				if e.Head().Time = time.Unix(1700000000+int64(5*i), 0); i == 1 && c.games == 0 {
					continue
				}
				if err := p.Handle(e); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if text := strings.ReplaceAll(out.String(), clearRest, ""); !strings.HasSuffix(text, c.want+"\n") {
				t.Errorf("terminal %v: %q, want %q", terminal, text, c.want)
			}
		}
	}
}

// TestBeyondGoal: more episodes than said must not fail.
func TestBeyondGoal(t *testing.T) {
	p := NewProgress(ProgressOptions{Out: io.Discard, Terminal: true})
	for _, e := range []Event{&Run{Phase: RunResume, Episode: 4, Episodes: 4}, &Episode{Episode: 5, Episodes: 4}, &Episode{Episode: 6, Episodes: 8}, &Episode{Episode: 8, Episodes: 8}, &Step{Step: 1}} {
		if err := p.Handle(e); err != nil {
			t.Errorf("%T: %v", e, err)
		}
	}
	spinner := NewProgress(ProgressOptions{Out: io.Discard, Terminal: true})
	for i := range int64(3) {
		if err := spinner.Handle(&Step{Step: i}); err != nil {
			t.Error(err)
		}
	}
}

func TestQuiet(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(ProgressOptions{Out: &out, Quiet: true})
	play(t, p)
	if err := p.Close(); err != nil || out.Len() > 0 {
		t.Errorf("%v %q", err, out.String())
	}
}

func TestLogger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "train.log")
	var terminal bytes.Buffer
	log, closer, err := NewLogger(LogOptions{File: path, JSON: true, Terminal: &terminal, Quiet: true,
		OnError: []slog.Attr{slog.String("config_hash", "abc")}})
	if err != nil {
		t.Fatal(err)
	}
	log = log.With("job", "j 1").WithGroup("net")
	log.Debug("not shown")
	log.Info("loaded", "id", 5, slog.Group("arch", "blocks", 4))
	log.Error("broken\nin two lines", "err", fmt.Errorf("bad %d", 1), slog.Group("arch", "blocks", 4))
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(terminal.String()), "\n")
	if len(lines) != 1 || !strings.HasSuffix(lines[0], ` error: broken | in two lines job="j 1" net.err="bad 1" net.arch.blocks=4`) || strings.Contains(lines[0], "stack") {
		t.Errorf("terminal: %q", terminal.String())
	}
	text := filetest.Read(t, path)
	file := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(file) != 2 || !strings.Contains(file[1], `"stack":"goroutine`) || !strings.Contains(file[1], `"config_hash":"abc"`) || strings.Contains(file[0], "stack") {
		t.Errorf("file: %s", text)
	}
}

// TestTracebacks: a traceback is whole in the log's file, where the terminal says that it is.
// Without a file it stands below its line, once.
func TestTracebacks(t *testing.T) {
	const trace = "Traceback:\n  File \"x.py\"\nKeyError: 'a'"
	for _, path := range []string{filepath.Join(t.TempDir(), "train.log"), ""} {
		var terminal strings.Builder
		log, closer, err := NewLogger(LogOptions{File: path, Terminal: &terminal})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			log.Error("game 7", "exception", "KeyError: 'a'", "traceback", trace)
		}
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
		line := " error: game 7 exception=\"KeyError: 'a'\" traceback="
		want := line + "below\n    Traceback:\n      File \"x.py\"\n    KeyError: 'a'\n" + line + "\"as above\"\n"
		if path != "" {
			want = strings.Repeat(line+strconv.Quote("whole in "+path)+"\n", 2)
			if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "traceback="+strconv.Quote(trace)) != 2 {
				t.Errorf("the file: %v\n%s", err, text)
			}
		}
		if got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAllString(terminal.String(), ""); got != want {
			t.Errorf("file %q: the terminal has\n%s\nwant\n%s", path, got, want)
		}
	}
}

func TestRotation(t *testing.T) {
	for _, keep := range []int{0, 2} {
		path := filepath.Join(t.TempDir(), "x.log")
		r, err := openRotating(path, 10, keep)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			if _, err := fmt.Fprintf(r, "line %d\n", i); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for n, want := range []string{"line 4\n", "line 3\n", "line 2\n", ""} {
			name := path
			if n > 0 {
				name = fmt.Sprintf("%s.%d", path, n)
			}
			if n > keep {
				want = ""
			}
			if text, _ := os.ReadFile(name); string(text) != want {
				t.Errorf("keep %d: %s is %q, want %q", keep, filepath.Base(name), text, want)
			}
		}
	}
}

// TestRemoveOldLogs: the newest logs of a command stay, and all of other commands.
func TestRemoveOldLogs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train_1.log", "train_1.log.1", "train_2.log", "train_3.log", "train_3.log.1", "run_0.log"} {
		filetest.Write(t, filepath.Join(dir, name), "")
	}
	if err := RemoveOldLogs(filepath.Join(dir, "train_*.log"), 2); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if got := strings.Join(left, " "); err != nil || got != "run_0.log train_2.log train_3.log train_3.log.1" {
		t.Errorf("left: %s, %v", got, err)
	}
}

// TestGrafana holds the names in the dashboard of scripts/grafana against those that a run
// shows, and its curves against those that events have.
func TestGrafana(t *testing.T) {
	text := filetest.Read(t, "../../scripts/grafana/chessbrain.json")
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) < 10 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	p := NewProm("j")
	known, curves := map[string]bool{}, map[string]bool{}
	for _, e := range []Event{&Run{}, &Episode{Ends: map[string]int64{"x": 1}}, &Alarm{}, &Plugin{State: PluginRunning},
		&Step{Losses: Numbers{"policy_loss": 1, "value_loss": 1}}, &Validation{Weights: WeightsRaw, Losses: Numbers{"policy_loss": 1, "value_loss": 1}}} {
		if err := p.Handle(e); err != nil {
			t.Fatal(err)
		}
		_, scalars := Scalars(e)
		for _, s := range scalars {
			curves[s.Tag] = true
		}
	}
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		known[f.GetName()] = true
	}
	name, curve := regexp.MustCompile(`chessbrain_\w+`), regexp.MustCompile(`curve="([^"]*)"`)
	for _, n := range name.FindAllString(string(text), -1) {
		if !known[n] {
			t.Errorf("no run shows %s", n)
		}
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			if m := curve.FindStringSubmatch(target.Expr); m != nil && !curves[m[1]] {
				t.Errorf("no event has the curve %s", m[1])
			}
		}
	}
}

// TestStagesOfARun: the line of self-play and of a match is there while they are at
// work, and gone when they end, however they end; that of training stays.
func TestStagesOfARun(t *testing.T) {
	stages := []struct {
		last, end Event
		line      string // of a terminal
		plain     string // ten seconds after the stage began
	}{
		{&SelfPlay{Games: 30, Wanted: 120, Results: Results{White: 1, Draw: 1}, MeanPlies: 70,
			Rates: Rates{GamesPerSecond: 9, PositionsPerSecond: 700, EvaluationsPerSecond: 9000, MeanBatch: 30}},
			&Stage{Name: "selfplay", State: "finished"}, "self-play 30/120 games  eta 10s  700 pos/s  draws 50%",
			"  plies 70  9000 eval/s  batch 30.0  cache 0%"},
		{&SelfPlay{Games: 1}, &Run{Phase: RunStopped}, "self-play 1 game  0 pos/s", ""},
		{&Gate{Candidate: "net-b", Wins: 3, Draws: 1, Wanted: 40, Elo: 200.4, Verdict: "running"}, &Gate{Verdict: "accepted"},
			"match 4/40 games  +3 =1 -0  elo +200  net-b", ""},
		{&Gate{Candidate: "net-b", Wins: 1, Elo: Number(math.Inf(1)), Verdict: "running"}, &Stage{State: "failed"}, "match 1 game  +1 =0 -0  net-b", ""},
		{&Step{Step: 7, Losses: Numbers{"policy_loss": 3}}, nil, "step 7  policy 3.000", ""},
	}
	var terminal, plain bytes.Buffer
	redrawn, lines := NewProgress(ProgressOptions{Out: &terminal, Terminal: true, Width: 60}), NewProgress(ProgressOptions{Out: &plain})
	seconds := 0
	send := func(e Event) {
		e.Head().Time = time.Unix(int64(seconds), 0)
		seconds += 5
		for _, p := range []*Progress{redrawn, lines} {
			if err := p.Handle(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	var wantTerminal, wantPlain string
	for _, s := range stages {
		for range 3 {
			send(s.last)
			wantTerminal += "\r" + s.line + clearRest
		}
		wantPlain += s.line + s.plain + "\n"
		if s.end != nil {
			send(s.end)
			wantTerminal += "\r" + clearRest
		}
	}
	for _, p := range []*Progress{redrawn, lines} {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if wantTerminal += "\n"; terminal.String() != wantTerminal {
		t.Errorf("a terminal has\n%q\nwant\n%q", terminal.String(), wantTerminal)
	}
	wantPlain += "step 7  policy 3.000\n" // the last one, which was not shown
	if plain.String() != wantPlain {
		t.Errorf("without a terminal:\n%s\nwant\n%s", plain.String(), wantPlain)
	}
}
