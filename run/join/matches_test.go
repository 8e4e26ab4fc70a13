package join

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
)

// smallMatch is a match of two nets with random weights.
func smallMatch(t *testing.T) *setup.NetMatch {
	t.Helper()
	arch := nntest.Named("8x1")
	m := &setup.NetMatch{Names: [2]string{"a", "b"}, Nets: [2]*nn.Net{nn.Init(arch, 1), nn.Init(arch, 2)}, Seed: 5, Games: 80, OpeningPlies: 4, MaxPlies: 40,
		Search: arena.Settings{Search: mcts.DefaultConfig(), TreeReuse: true}}
	m.Search.Search.Simulations = 4
	return m
}

// held is a player whose workers begin when until is closed.
type held struct {
	arena.Player
	until chan struct{}
}

func (h *held) NewTable(games int) (arena.Table, error) {
	<-h.until
	return h.Player.NewTable(games)
}

// contest is a match that this machine plays once release is called.
type contest struct {
	t       *testing.T
	plain   *arena.Result // what it must come to
	release func()
	counted func() int // games so far
	result  chan *arena.Result
}

// startMatch begins the small match.
func startMatch(t *testing.T, c *config.Config, x *Matches) *contest {
	t.Helper()
	m := smallMatch(t)
	cfg, release, err := m.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	})
	d := &contest{t: t, result: make(chan *arena.Result, 1)}
	if d.plain, err = arena.Play(t.Context(), *cfg); err != nil {
		t.Fatal(err)
	}
	h := &held{cfg.Players[0], make(chan struct{})}
	d.release = sync.OnceFunc(func() { close(h.until) })
	var mu sync.Mutex
	games := 0
	d.counted = func() int {
		mu.Lock()
		defer mu.Unlock()
		return games
	}
	cfg.OnGame = func(*arena.Game, arena.Progress) {
		mu.Lock()
		defer mu.Unlock()
		games++
	}
	cfg.Players[0], cfg.Share = h, setup.ShareMatch(x.Share).With(m, c)
	go func() {
		r, err := arena.Play(t.Context(), *cfg)
		if err != nil {
			t.Error(err)
		}
		d.result <- r
	}()
	t.Cleanup(d.release)
	return d
}

// end lets this machine play what is left, and compares.
func (d *contest) end() {
	d.t.Helper()
	d.release()
	if r := <-d.result; !reflect.DeepEqual(r, d.plain) {
		d.t.Errorf("the match comes to %+v, alone to %+v", arena.Summarise(r.Games), arena.Summarise(d.plain.Games))
	}
}

// waitFor waits until ok.
func waitFor(t *testing.T, what string, log *said, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 3*time.Minute {
			t.Fatalf("%s\n%s", what, log)
		}
	}
}

// TestMatchesOfPlayers: a player beside its self-play plays all games of a match, which
// comes out as if the run had played it alone.
func TestMatchesOfPlayers(t *testing.T) {
	dir := t.TempDir() + "/run"
	e := runtest.Resolve(t, dir, "--resign-q=-1")
	x := NewMatches(runtest.LogTo(&said{}))
	link, log, closeHost := startHost(t, HostOptions{Effective: e, Listen: "127.0.0.1:0", Matches: x})
	d := startMatch(t, e.Config, x)
	waitFor(t, "the nets are not stored", log, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.offers) == 1 && x.offers[0].stored
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		_, text, _ := playAs(t, ctx, link, t.TempDir(), 0)
		ended <- text
	}()
	waitFor(t, "the player does not play the match", log, func() bool { return d.counted() == 80 })
	d.end()
	stop()
	if text := <-ended; !strings.Contains(text, "played games of a match") {
		t.Error(text)
	}
	closeHost()
	roster, err := DirOf(dir).Roster()
	if err != nil || len(roster.Players) != 1 || !roster.Players[0].Audited {
		t.Errorf("roster %+v, %v", roster, err)
	}
}

// playerOf joins by hand.
func playerOf(t *testing.T, link fleet.Link, version, arithmetic string) byHand {
	t.Helper()
	post, err := fleet.Dial(link, newInstance(), false, runtest.LogTo(&said{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { post.Close() })
	if w, err := post.Join(t.Context(), fleet.Hello{Protocol: fleet.Protocol, Version: version}); err != nil || w.Refused != "" {
		t.Fatal(w.Refused, err)
	}
	return byHand{post, t, arithmetic}
}

// byHand is a player that does what the test says.
type byHand struct {
	fleet.Post
	t          *testing.T
	arithmetic string
}

func (p byHand) lease() fleet.Task {
	p.t.Helper()
	if s, err := p.Beat(p.t.Context(), fleet.Beat{Arithmetic: p.arithmetic}); err != nil || s.Refused != "" {
		p.t.Fatal(s.Refused, err)
	}
	task, err := p.Lease(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return task
}

// task waits for a task.
func (p byHand) task() (task fleet.Task) {
	p.t.Helper()
	waitFor(p.t, "no task comes", &said{}, func() bool { task = p.lease(); return task.ID > 0 })
	return task
}

func (p byHand) finish(o fleet.Outcome) {
	p.t.Helper()
	if err := p.Finish(p.t.Context(), o); err != nil {
		p.t.Fatal(err)
	}
}

// TestLeases: who does not compute as the run does, is of another version, or has altered a
// game takes no part; what is handed back, altered or of nobody does not count; and the
// match comes out as ever.
func TestLeases(t *testing.T) {
	dir := t.TempDir() + "/run"
	e := runtest.Resolve(t, dir, "--resign-q=-1")
	matchLog := &said{}
	x := NewMatches(runtest.LogTo(matchLog))
	link, log, _ := startHost(t, HostOptions{Effective: e, Listen: "127.0.0.1:0", Matches: x})
	d := startMatch(t, e.Config, x)
	arithmetic := arithmeticOf(e.Config)
	honest := playerOf(t, link, "v1", arithmetic)
	first := honest.task()
	if len(first.Games) != 20 { // a quarter of 80
		t.Errorf("the first task has %d games", len(first.Games))
	}
	for _, other := range []byHand{playerOf(t, link, "v2", arithmetic), playerOf(t, link, "v1", "another")} {
		if task := other.lease(); task.ID != 0 {
			t.Errorf("task %+v for a player that cannot play it as the run does", task)
		}
	}

	player := &matchPlayer{post: honest, cfg: e.Config, workers: 2, log: runtest.LogTo(&said{})}
	defer player.close()
	played := func(task fleet.Task) json.RawMessage {
		t.Helper()
		data, err := player.play(t.Context(), &task)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	games := played(first)
	playerOf(t, link, "v1", arithmetic).finish(fleet.Outcome{ID: first.ID, Games: games}) // another player's
	honest.finish(fleet.Outcome{ID: 99, Games: games})
	for _, o := range []fleet.Outcome{{Failed: "no time"}, {Games: json.RawMessage(`[]`)}, {Games: json.RawMessage(`{}`)}, {Games: json.RawMessage(strings.Replace(string(games), `"moves":"`, `"moves":"e2e5 `, 1))}} {
		o.ID = honest.task().ID
		honest.finish(o)
	}
	waitFor(t, "altered games are taken", matchLog, func() bool { return strings.Count(matchLog.String(), "reason=") == 4 })
	if n := d.counted(); n != 0 {
		t.Errorf("%d games count that nobody played for this match", n)
	}
	task := honest.task()
	honest.finish(fleet.Outcome{ID: task.ID, Games: played(task)}) // audited, as each player's first
	waitFor(t, "honest games do not count", matchLog, func() bool { return d.counted() == len(task.Games) })

	cheat := playerOf(t, link, "v1", arithmetic)
	task = cheat.task()
	m := smallMatch(t)
	m.Search.Temperature, m.Search.TemperaturePlies = 1, 30
	if task.Match, _ = json.Marshal(m); len(task.Games) == 0 {
		t.Fatal("no games are left")
	}
	before := d.counted()
	cheat.finish(fleet.Outcome{ID: task.ID, Games: played(task)})
	waitFor(t, "the audit finds nothing", log, func() bool { return strings.Contains(log.String(), "is not what its nets and seed give") })
	if task := cheat.lease(); task.ID != 0 || d.counted() != before {
		t.Errorf("after an altered game: task %+v, %d games count, %d before", task, d.counted(), before)
	}

	honest.lease() // and dies
	d.end()
	if !strings.Contains(matchLog.String(), fmt.Sprintf("games=%d", before)) {
		t.Error(matchLog)
	}
}
