package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/train"
)

// home is where the finished run lies, once a test has asked for it.
var home string

// finished trains a tiny run once for all tests.
var finished = sync.OnceValues(func() (_ string, err error) {
	if home, err = os.MkdirTemp("", "chessbrain-watch-"); err != nil {
		return "", err
	}
	e, err := runtest.ResolveText(filepath.Join(home, "run"), `metrics { measure { name: "of_mine" period: 1 } }`)
	if err != nil {
		return "", err
	}
	_, err = train.Train(context.Background(), train.Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: slog.New(slog.DiscardHandler)})
	return home, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if home != "" {
		os.RemoveAll(home)
	}
	os.Exit(code)
}

// TestPlaying watches a run at work, in both ways to play: its games can be seen, one of them
// whole.
func TestPlaying(t *testing.T) {
	for _, workers := range []string{"0", "1"} {
		root := filepath.Join(t.TempDir(), "r") // a socket's path is short
		e := runtest.Resolve(t, root, "--episodes=100000 --producer-workers="+workers)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := train.Train(ctx, train.Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: slog.New(slog.DiscardHandler)})
			ended <- err
		}()
		dir, _, err := setup.Layout(e.Config)
		if err != nil {
			t.Fatal(err)
		}
		s := New(Options{Dir: dir})
		address := serve(t, s)
		for seen := map[uint64]bool{}; len(seen) < 20; { // more than one look and more than one cohort has
			var games []brief
			r, err := http.Get(address + "/api/live")
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(r.Body)
			for lines.Scan() {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					err = json.Unmarshal([]byte(data), &games)
					break
				}
			}
			r.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range games {
				if g.Process != "trainer-main" || g.Plies == 0 || g.Last == "" {
					t.Errorf("%s workers: %+v", workers, g)
				}
				seen[g.Game] = true
			}
			select {
			case err := <-ended:
				t.Fatalf("%s workers: the run ended: %v", workers, err)
			default:
			}
		}
		if status, err := s.Status(); err != nil || len(status.Progress) != 1 || status.Progress[0].Unit != "games" || status.Progress[0].Need != 100000 {
			t.Errorf("%s workers: progress %+v, %v", workers, status.Progress, err)
		}
		stop()
		if err := <-ended; !errors.Is(err, run.ErrInterrupted) {
			t.Errorf("%s workers: %v", workers, err)
		}
	}
}

// open returns the source of the finished run.
func open(t *testing.T) *Source {
	t.Helper()
	root, err := finished()
	if err != nil {
		t.Fatal(err)
	}
	dir, _, err := setup.OpenDir(filepath.Join(root, "run"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := config.Resolve(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Dir: dir, Players: e.Config, Version: "test"})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve serves a run, and others beside it.
func serve(t *testing.T, s *Source, others ...*Source) string {
	t.Helper()
	h, err := Handler(s, others...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// ask gets a path and decodes the answer into v.
func ask(t *testing.T, address string, v any) int {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v: %.200s", address, err, text)
	}
	return r.StatusCode
}

// TestAnswers asks for all that the page draws of a finished run.
func TestAnswers(t *testing.T) {
	address := serve(t, open(t))
	var games []brief
	if code := ask(t, address+"/api/games", &games); code != 200 || len(games) != 8 {
		t.Fatalf("%d: %d games", code, len(games))
	}
	var game Finished
	if code := ask(t, address+"/api/game?id="+games[0].ID, &game); code != 200 || game.Game != games[0].Game || len(game.Moves) != games[0].Plies || game.Result == "*" || game.FEN != games[0].FEN {
		t.Errorf("%d: %+v, listed %+v", code, game, games[0])
	}
	var learning Learning
	if code := ask(t, address+"/api/learning", &learning); code != 200 || len(learning.Curves["train/policy_loss"]) == 0 || len(learning.Curves["val_of_mine/policy_loss"]) == 0 || learning.Read != 1 || learning.Run == nil || len(learning.Ends) == 0 || len(learning.Calibration) == 0 {
		t.Errorf("%d: %+v", code, learning)
	}
	var status struct {
		Root string
		Rows struct{ Steps int64 }
	}
	if code := ask(t, address+"/api/status", &status); code != 200 || status.Rows.Steps == 0 {
		t.Errorf("%d: %+v", code, status)
	}
	var nets []string
	if code := ask(t, address+"/api/nets", &nets); code != 200 || len(nets) == 0 {
		t.Errorf("%d: nets %q", code, nets)
	}
	for _, c := range []struct {
		path, want string
		code       int
	}{
		{"/api/game?id=none", "not among the newest", 400},
		{"/api/playing?game=1&process=x", "game 1 is over", 400},
		{"/api/playing?game=x", "want a number", 400},
		{"/api/think?visits=x", "visits: want a number", 400},
		{"/api/think?visits=0&position=startpos", "want 1 to 20000", 400},
		{"/api/think?visits=10&position=" + url.QueryEscape("fen nonsense"), "", 400},
		{"/api/think?visits=10&position=startpos&net=../../etc/passwd", "has no net", 400},
	} {
		var said map[string]string
		if code := ask(t, address+c.path, &said); code != c.code || !strings.Contains(said["error"], c.want) || said["error"] == "" {
			t.Errorf("%s: %d %q", c.path, code, said)
		}
	}
}

// TestThink holds what a search says against the rules, the net, and itself.
func TestThink(t *testing.T) {
	s := open(t)
	for _, visits := range []int{1, 50} {
		found, err := s.Think(t.Context(), Question{Position: "startpos moves e2e4", Visits: visits})
		if err != nil {
			t.Fatal(err)
		}
		n, p, target := uint32(1), float32(0), float32(0)
		for _, m := range found.Moves {
			n, p, target = n+m.N, p+m.P, target+m.Target
			if m.N == 0 != (m.Q == nil) {
				t.Errorf("%+v", m)
			}
		}
		if len(found.Moves) != 20 || n != found.Visits || int(n) < visits || int(n) > 2*visits || p < 0.999 || p > 1.001 || visits > 1 && (target < 0.999 || target > 1.001) || len(found.Line) == 0 {
			t.Errorf("%d visits: %+v, sums %d %v %v", visits, found, n, p, target)
		}
	}
	over, err := s.Think(t.Context(), Question{Position: "fen 7k/5KQ1/8/8/8/8/8/8 b - - 0 1", Visits: 5})
	if err != nil || over.Over != chess.Checkmate.String() || len(over.Moves) != 0 {
		t.Errorf("%+v, %v", over, err)
	}
	s.opt.Dir.Root = t.TempDir()
	filetest.Write(t, s.opt.Dir.Models(), "")
	if _, err := s.Think(t.Context(), Question{Position: "startpos", Net: "a", Visits: 1}); err == nil || !strings.Contains(err.Error(), "list nets") {
		t.Errorf("a directory of nets that cannot be read: %v", err)
	}
}

// TestLive follows the events: games, and the status that goes with them.
func TestLive(t *testing.T) {
	address := serve(t, open(t))
	r, err := http.Get(address + "/api/live")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(r.Body); lines.Scan() && !(seen["games"] && seen["status"]); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			seen[name] = true
		}
	}
	if !seen["games"] || !seen["status"] || seen["trouble"] {
		t.Errorf("events %v", seen)
	}
}

// TestPage reads the page without scripts, and what a browser is told about it.
func TestPage(t *testing.T) {
	address := serve(t, open(t))
	get := func(path, site string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if site != "" {
			request.Header.Set("Sec-Fetch-Site", site)
		}
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r, string(text)
	}
	r, text := get("/", "")
	if !strings.Contains(text, "none: nobody works on this run now") || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%v\n%s", r.Header, text)
	}
	size := len(text)
	entries, err := page.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "index.html" {
			continue
		}
		r, text := get("/page/"+e.Name(), "")
		if r.StatusCode != 200 || !strings.Contains(r.Header.Get("Content-Type"), map[string]string{".js": "javascript", ".css": "css", ".svg": "svg"}[filepath.Ext(e.Name())]) {
			t.Errorf("%s: %d %v", e.Name(), r.StatusCode, r.Header)
		}
		size += len(text)
	}
	if size > 150<<10 {
		t.Errorf("the page is %d bytes", size)
	}
	if r, _ := get("/api/status", "cross-site"); r.StatusCode != http.StatusForbidden {
		t.Errorf("another site got %d", r.StatusCode)
	}
}

// TestCrowd has two hundred readers, some of whom take nothing: each gets the first event,
// and when they go nothing of them is left.
func TestCrowd(t *testing.T) {
	address := serve(t, open(t)) // whose end waits for all answers
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	const readers = 200
	got := make(chan error, readers)
	var wait sync.WaitGroup
	for i := range readers {
		wait.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/api/live", nil)
			if err != nil {
				got <- err
				return
			}
			r, err := http.DefaultClient.Do(request)
			if err != nil {
				got <- err
				return
			}
			defer r.Body.Close()
			if i%10 != 0 {
				var line string
				if line, err = bufio.NewReader(r.Body).ReadString('\n'); err == nil && line != "event: games\n" {
					err = fmt.Errorf("first line %q", line)
				}
			}
			got <- err
			<-ctx.Done()
		})
	}
	for range readers {
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	leave()
	wait.Wait()
}

// TestCompare holds the settings of three runs against each other.
func TestCompare(t *testing.T) {
	base := t.TempDir()
	var runs []*Source
	for i, more := range []string{"", "--mcts-simulations=5", "--mcts-simulations=5 --seed=5"} {
		e := runtest.Resolve(t, filepath.Join(base, fmt.Sprint(i)), more)
		dir, _, err := setup.Layout(e.Config)
		if err == nil {
			err = os.MkdirAll(dir.Root, 0o700)
		}
		if err == nil {
			err = os.WriteFile(dir.ConfigFile(), config.Marshal(e.Config), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, New(Options{Dir: dir}))
	}
	address := serve(t, runs[0], runs[1:]...)
	var got Comparison
	if code := ask(t, address+"/api/runs", &got); code != 200 || len(got.Runs) != 3 {
		t.Fatalf("%d: %+v", code, got)
	}
	values := map[string]string{}
	for _, d := range got.Differ {
		values[d.Path] = strings.Join(d.Values, " ")
	}
	if len(values) != 2 || values["mcts.simulations"] != "4 5 5" || !strings.HasSuffix(values["seed"], " 5") {
		t.Errorf("%v", values)
	}
	var said map[string]string
	for _, what := range []string{"learning?run=3", "nets?run=5", "games?run=abc", "game?run=3", "playing?run=3", "think?run=3"} {
		if code := ask(t, address+"/api/"+what, &said); code != 400 || !strings.Contains(said["error"], "want 0 to 2") {
			t.Errorf("%s: %d: %v", what, code, said)
		}
	}
}

// TestOrders gives orders to a process of a run: only where they are allowed, only as JSON,
// and only those that a page may give.
func TestOrders(t *testing.T) {
	post := func(address, kind, body string) (int, string) {
		t.Helper()
		r, err := http.Post(address+"/api/orders", kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	const stop = `{"role":"trainer-main","command":"stop"}`
	if code, _ := post(serve(t, open(t)), "application/json", stop); code != http.StatusMethodNotAllowed {
		t.Errorf("an order that is not allowed: %d", code)
	}

	root := filepath.Join(t.TempDir(), "r") // a socket's path is short
	dir := run.NewDir(root, "main", "job", "", "")
	p, err := run.Open(t.Context(), dir, run.Trainer("main"), run.Options{Command: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var told []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, what)
	}
	err = p.Listen(run.Commands{Status: func() any { return nil }, Stop: func() { note("stop") }, Checkpoint: func() { note("checkpoint") },
		Swap: func(_ context.Context, s run.Swap) error { note(s.Kind + " " + s.Stages[0].Name); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	allowed := open(t)
	allowed.opt.Dir, allowed.opt.Orders = dir, true
	address := serve(t, allowed)
	for _, c := range []struct {
		kind, body, want string
		code             int
	}{
		{"application/json", `{"role":"trainer-main","command":"checkpoint-now"}`, "a checkpoint follows", 200},
		{"application/json", `{"role":"trainer-main","command":"swap-plugin","swap":{"kind":"sampler","stages":[{"name":"hanse"}]}}`, "sampler: hanse", 200},
		{"application/json", stop, "then saving", 200},
		{"text/plain", stop, "an order is JSON", 400},
		{"application/json", `{"role":"trainer-main","command":"subscribe"}`, "want one of", 400},
		{"application/json", `{"role":"gatekeeper","command":"stop"}`, "there is no gatekeeper at work", 400},
		{"application/json", `{"nonsense":1}`, "cannot be read", 400},
	} {
		if code, text := post(address, c.kind, c.body); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", c.body, code, text)
		}
	}
	if err := p.Close(nil); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(told, ", "); got != "checkpoint, sampler hanse, stop" {
		t.Errorf("the process was told %s", got)
	}
}
