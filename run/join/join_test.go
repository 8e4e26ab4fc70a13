package join

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/fleettest"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
)

// said is a log that goroutines share.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// openHost opens a run in dir to players; close ends that.
func openHost(t *testing.T, dir, listen string) (link fleet.Link, log *said, close func()) {
	t.Helper()
	return openHostOf(t, runtest.Resolve(t, dir, "--resign-q=-1"), listen)
}

// openHostOf is openHost with a configuration.
func openHostOf(t *testing.T, e *config.Effective, listen string) (link fleet.Link, log *said, close func()) {
	t.Helper()
	return startHost(t, HostOptions{Effective: e, Listen: listen})
}

// startHost is openHost with options.
func startHost(t *testing.T, o HostOptions) (link fleet.Link, log *said, close func()) {
	t.Helper()
	log = &said{}
	ctx, cancel := context.WithCancel(t.Context())
	done, links := make(chan error, 1), make(chan fleet.Link, 1)
	go func() {
		o.Command, o.Version, o.Log, o.Greet = "test", "v1", runtest.LogTo(log), func(l fleet.Link) { links <- l }
		done <- Host(ctx, o)
	}()
	close = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("host: %v\n%s", err, log)
		}
	})
	t.Cleanup(close)
	select {
	case link = <-links:
	case err := <-done:
		done <- nil // for close
		t.Fatalf("host: %v\n%s", err, log)
	}
	if again, err := fleet.ParseLink(link.String()); err != nil || again != link {
		t.Fatalf("link %v: %v", link, err)
	}
	if strings.Contains(log.String(), link.String()) {
		t.Error("the log has the link")
	}
	return link, log, close
}

// playAs plays games for the run of a link in a directory of a player's own.
func playAs(t *testing.T, ctx context.Context, link fleet.Link, root string, games int64) (*play.PlaySummary, string, error) {
	t.Helper()
	return playTraced(t, ctx, link, root, games, nil)
}

// playTraced is playAs with traces.
func playTraced(t *testing.T, ctx context.Context, link fleet.Link, root string, games int64, traces *monitor.Traces) (*play.PlaySummary, string, error) {
	t.Helper()
	log := &said{}
	s, err := Play(ctx, PlayerOptions{Link: link, Root: root, Log: runtest.LogTo(log), Traces: traces,
		Configure: func(file *config.File, job string, seed uint64, models string) (*config.Effective, error) {
			f := file.Config
			f.RunDir, f.JobId, f.Seed, f.Selfplay.ModelsDir, f.Selfplay.ProducerWorkers = &root, &job, &seed, &models, new(int32(1))
			return config.Resolve(config.Input{File: file})
		}, Play: play.SelfPlayOptions{MaxGames: games, Command: "test", Version: "v1", Log: runtest.LogTo(log)}})
	return s, log.String(), err
}

// gamesOf are the games of a process below a run's directory, by their numbers; each is
// there once. What is just being written, a hidden file, does not count.
func gamesOf(t *testing.T, root, process string) map[uint64]*record.Game {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "selfplay", "*", process, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	games := map[uint64]*record.Game{}
	for _, path := range paths {
		list, info, err := replay.ReadChunk(fsx.OS, path)
		if err != nil || info.Torn || len(info.Damage) > 0 {
			t.Fatalf("%s: %v, %+v", path, err, info)
		}
		for _, g := range list {
			if games[g.Ordinal] != nil {
				t.Errorf("%s: game %d is there twice", path, g.Ordinal)
			}
			games[g.Ordinal] = g
		}
	}
	return games
}

// sealed returns the file of a chunk.
func sealed(t testing.TB, net, job string, games ...*record.Game) []byte {
	t.Helper()
	fsys := memfs.New()
	w := replay.NewWriter(fsys, "d", replay.WriterOptions{NetID: net, RunID: job})
	var err error
	for _, g := range games {
		err = errors.Join(err, w.Append(g))
	}
	var data []byte
	if err = errors.Join(err, w.Close()); err == nil {
		data, err = fsx.ReadFile(fsys, filepath.Join("d", "00000001"+replay.SealedSuffix))
	}
	if err != nil {
		t.Error(err)
	}
	return data
}

// TestJoin: two players with directories of their own play for a run; each game is in the
// run once, under the players' own numbers, and a player that comes back goes on.
func TestJoin(t *testing.T) {
	dir, mine := t.TempDir()+"/run", t.TempDir()
	link, log, closeHost := openHost(t, dir, "127.0.0.1:0")
	for _, p := range []struct {
		root    string
		games   int64
		process string
	}{{"a", 5, "p100001"}, {"b", 3, "p100002"}, {"a", 9, "p100001"}, {"a", 9, "p100001"}} {
		root := filepath.Join(mine, p.root)
		s, text, err := playAs(t, t.Context(), link, root, p.games)
		if err != nil || s.Games != p.games || s.Process != p.process {
			t.Fatalf("player %s: %+v, %v\n%s\n%s", p.root, s, err, text, log)
		}
		games := gamesOf(t, dir, p.process)
		for n := range uint64(p.games) {
			if games[n] == nil {
				t.Errorf("player %s: the run has not game %d", p.root, n)
			}
		}
		if left, err := replay.ListChunks(fsx.OS, filepath.Join(root, "selfplay")); err != nil || len(left) > 0 {
			t.Errorf("player %s: %v, %v left", p.root, err, left)
		}
	}
	if err := link.Reach(); err != nil {
		t.Error(err)
	}
	other := t.TempDir()
	if _, _, err := playAs(t, t.Context(), fleet.Link{Address: link.Address, Seed: link.Seed, Pin: strings.Repeat("x", 32)}, filepath.Join(mine, "a"), 1); err == nil || !strings.Contains(err.Error(), "plays for another run") {
		t.Errorf("a player's directory with the link of another run: %v", err)
	}
	if _, err := play.SelfPlay(t.Context(), play.SelfPlayOptions{Effective: runtest.Resolve(t, other, ""), MaxGames: 1, Command: "test", Log: runtest.LogTo(log)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := playAs(t, t.Context(), link, other, 1); err == nil || !strings.Contains(err.Error(), "is no player's directory") {
		t.Errorf("a run's own directory: %v", err)
	}
	if err := DirOf(dir).Change(func(m *fleet.Members) error {
		m.Drain = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(log.String(), "who may join has changed") {
		time.Sleep(10 * time.Millisecond)
	}
	if s, text, err := playAs(t, t.Context(), link, filepath.Join(mine, "c"), 0); s != nil || err != nil || !strings.Contains(text, "lets its players go") {
		t.Errorf("a player that is let go at once: %+v, %v\n%s", s, err, text)
	}
	closeHost()
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("the run warns of what is in order:\n%s", log)
	}
	roster, err := DirOf(dir).Roster()
	if err != nil || len(roster.Players) != 3 || roster.Players[0].Games != 9 || roster.Players[1].Games != 3 {
		t.Errorf("roster %+v, %v", roster, err)
	}
	if info, err := os.Stat(string(DirOf(dir))); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("directory of keys: %v, %v", info.Mode(), err)
	}
}

// TestHostIsGone: a player whose run went away plays on, keeps its games, and delivers
// them when the run is back, also after a start of its own.
func TestHostIsGone(t *testing.T) {
	dir, root := t.TempDir()+"/run", t.TempDir()
	link, _, closeHost := openHost(t, dir, "127.0.0.1:0")
	ctx, stop := context.WithCancel(t.Context())
	type result struct {
		s    *play.PlaySummary
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		s, text, err := playAs(t, ctx, link, root, 0)
		done <- result{s, text, err}
	}()
	for len(gamesOf(t, dir, "p100001")) == 0 {
		select {
		case r := <-done:
			t.Fatalf("%+v, %v\n%s", r.s, r.err, r.text)
		case <-time.After(20 * time.Millisecond):
		}
	}
	closeHost()
	before := len(gamesOf(t, dir, "p100001"))
	for sealed := 0; sealed < 3; time.Sleep(20 * time.Millisecond) { // it plays on
		paths, err := replay.ListChunks(fsx.OS, filepath.Join(root, "selfplay"))
		if err != nil {
			t.Fatal(err)
		}
		sealed = len(paths)
	}
	stop()
	r := <-done
	if !errors.Is(r.err, run.ErrInterrupted) {
		t.Fatalf("%+v, %v\n%s", r.s, r.err, r.text)
	}
	if !strings.Contains(r.text, "games stay here") {
		t.Errorf("the player said:\n%s", r.text)
	}
	drain := func(yes bool) {
		t.Helper()
		if err := DirOf(dir).Change(func(m *fleet.Members) error {
			m.Drain = yes
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	drain(true)
	_, _, closeHost = openHost(t, dir, link.Address)
	if s, text, err := playAs(t, t.Context(), link, root, 0); s != nil || err != nil { // it delivers what is there
		t.Fatalf("%+v, %v\n%s", s, err, text)
	}
	closeHost()
	if left, err := replay.ListChunks(fsx.OS, filepath.Join(root, "selfplay")); err != nil || len(left) > 0 || len(gamesOf(t, dir, "p100001")) <= before {
		t.Fatalf("%v, %v were not delivered", err, left)
	}
	drain(false)
	want := r.s.Games + 1
	go func() { // it waits: the run is still away
		s, text, err := playAs(t, t.Context(), link, root, want)
		done <- result{s, text, err}
	}()
	time.Sleep(200 * time.Millisecond)
	again, _, closeHost := openHost(t, dir, link.Address)
	defer closeHost()
	if again != link {
		t.Errorf("the link has changed: %v, %v", again, link)
	}
	if r = <-done; r.err != nil || r.s.Games != want || !strings.Contains(r.text, "nobody answers; this goes on trying") {
		t.Fatalf("%+v, %v\n%s", r.s, r.err, r.text)
	}
	games := gamesOf(t, dir, "p100001")
	if int64(len(games)) != want || before >= len(games) {
		t.Errorf("the run has %d games, %d before it went away; the player played %d", len(games), before, want)
	}
}

// TestRefusedGames: what is not as it must be is refused with a reason, and what the run
// has already is not counted again.
func TestRefusedGames(t *testing.T) {
	dir := t.TempDir() + "/run"
	_, _, closeHost := openHost(t, dir, "127.0.0.1:0") // publishes the first net
	closeHost()
	roster, err := DirOf(dir).Roster()
	if err != nil {
		t.Fatal(err)
	}
	net := roster.Nets[0].Name
	player := fleet.Player{Member: "A", Instance: "1"}
	entry := &PlayerEntry{Member: "A", Instance: "1", Process: run.FirstJoined}
	e := runtest.Resolve(t, dir, "")
	info := run.RunInfo{Job: e.Config.GetJobId(), Seed: e.Config.GetSeed()}
	open := func() *host {
		h := &host{log: runtest.LogTo(&said{}), dir: run.NewDir(dir, "main", "run", "", ""), fleet: DirOf(dir), job: "run", seed: info.Seed}
		h.players, h.nets = map[fleet.Player]*PlayerEntry{player: entry}, map[string]bool{net: true}
		h.roster.Players = []*PlayerEntry{entry}
		h.members.List = []fleet.Member{{Key: player.Member, Name: "a"}}
		h.auditor = &auditor{}
		if h.ledger, err = readLedger(t.Context(), h.dir, h.fleet.ledger(), h.roster.Players); err != nil {
			t.Fatal(err)
		}
		return h
	}
	game := func(ordinal uint64) *record.Game {
		return &record.Game{ID: record.GameID(info.Seed, run.FirstJoined, ordinal), NetID: net, Seed: info.Seed, Ordinal: ordinal, End: record.EndAborted}
	}
	chunk := func(net, job string, games ...*record.Game) []byte {
		t.Helper()
		return sealed(t, net, job, games...)
	}
	good := chunk(net, "run", game(0), game(1))
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)/2] ^= 1
	foreign, otherSeed, lying := game(7), game(7), game(7)
	foreign.ID = record.GameID(info.Seed, run.FirstJoined+1, 7)
	otherSeed.Seed++
	lying.NetID = "another"
	m := fleettest.NewMemory(nil, 100)
	post := m.Post(player)
	deliver := func(h *host, data []byte) fleet.Verdict {
		t.Helper()
		if err := post.Deliver(t.Context(), data, 0); err != nil {
			t.Fatal(err)
		}
		d, err := m.Next(t.Context())
		if err == nil {
			err = h.take(t.Context(), d)
		}
		if err != nil {
			t.Fatal(err)
		}
		return <-post.Verdicts()
	}
	h := open()
	for _, c := range []struct {
		name string
		data []byte
		says string
	}{
		{"a flipped bit", flipped, "damaged"},
		{"half of a chunk", good[:len(good)-10], "without a footer"},
		{"nothing", nil, ""},
		{"another run", chunk(net, "other", game(0)), `is of run "other"`},
		{"an unknown net", chunk("x", "run", game(0)), `net "x" is none`},
		{"a net that is a path", chunk("../x", "run", game(0)), "is none"},
		{"another process", chunk(net, "run", foreign), "is none of process 100001"},
		{"another seed", chunk(net, "run", otherSeed), "is none of process 100001"},
		{"a game of an unknown net", chunk(net, "run", lying), `begins with net "another"`},
	} {
		if v := deliver(h, c.data); v.Rejected == "" || !strings.Contains(v.Rejected, c.says) {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	h.members.List[0].Revoked = time.Now() // servers of others may let such a player through
	if v := deliver(h, good); v.Rejected != revoked {
		t.Errorf("of a member that was revoked: %+v", v)
	}
	if w, s := h.Join(player, fleet.Hello{Protocol: fleet.Protocol}), h.Beat(player, fleet.Beat{}); w.Refused != revoked || s.Refused != revoked {
		t.Errorf("a member that was revoked is told %+v, %+v", w, s)
	}
	h.members.List[0].Revoked = time.Time{}
	if len(gamesOf(t, dir, "p100001")) > 0 {
		t.Error("a refused game is in the run")
	}
	if v := deliver(h, good); v.Games != 2 || v.Rejected != "" {
		t.Errorf("verdict %+v", v)
	}
	before := open()
	if err := h.ledger.write(); err != nil {
		t.Fatal(err)
	}
	after := open()
	if a := after.ledger.account(run.FirstJoined); a.Games.Len() != 2 || a.Last[net] != 1 {
		t.Errorf("the ledger's file has %+v", a)
	}
	for _, h := range []*host{h, before, after} { // also after a start, without the ledger's file and with it
		if v := deliver(h, good); v.Games != 0 || v.Rejected != "" {
			t.Errorf("the same again: %+v", v)
		}
	}
	if v := deliver(h, chunk(net, "run", game(1), game(2), game(2), game(0))); v.Games != 1 || v.Rejected != "" {
		t.Errorf("one new game: %+v", v)
	}
	if n := len(gamesOf(t, dir, "p100001")); n != 3 {
		t.Errorf("the run has %d games, want 3", n)
	}
	if a := open().ledger.account(run.FirstJoined); a.Games.Len() != 3 { // its file knows of two, a chunk of the third
		t.Errorf("the ledger has %d games, want 3", a.Games.Len())
	}
	filetest.Write(t, h.fleet.ledger(), "{")
	if _, err := readLedger(t.Context(), h.dir, h.fleet.ledger(), nil); err == nil || !strings.Contains(err.Error(), "remove it: it is made again") {
		t.Errorf("a damaged ledger: %v", err)
	}
	delete(h.players, player)
	if v := deliver(h, good); !strings.Contains(v.Rejected, "does not know the player") {
		t.Errorf("an unknown player: %+v", v)
	}
	if entry.Rejected != 9 || entry.Games != 3 {
		t.Errorf("counted %d games and %d refused chunks", entry.Games, entry.Rejected)
	}
}

// TestGameSettings: a run says how games are played, and cannot make a player run programs,
// write elsewhere or open a port.
func TestGameSettings(t *testing.T) {
	file, err := config.Parse("test", []byte(`name: "n" run_dir: "/x" log_filename: "/x" mcts { simulations: 3 }
selfplay { max_plies: 9 output_dir: "/x" models_dir: "/x" producer_workers: 99 }
plugins { dir: "/x" rescorer { name: "deblunder" } } metrics { web: "0.0.0.0:1" public: true }`))
	if err != nil {
		t.Fatal(err)
	}
	text := playersConfig(file.Config)
	for _, word := range []string{"/x", "99", "web", "public"} {
		if strings.Contains(text, word) {
			t.Errorf("players are told %q:\n%s", word, text)
		}
	}
	for _, word := range []string{"simulations: 3", "max_plies: 9", "deblunder"} {
		if !strings.Contains(text, word) {
			t.Errorf("players are not told %q:\n%s", word, text)
		}
	}
	if got := plain("a\x1b[2Jb\n" + strings.Repeat("x", 100)); len(got) != 80 || strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("%q", got)
	}
}

// What people are told of a fleet.
func TestPage(t *testing.T) {
	d := DirOf(t.TempDir())
	if p, err := d.Page(); err != nil || len(p.Members) != 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, name := range []string{"anna", "bert"} {
		if err := d.Change(func(m *fleet.Members) error {
			_, err := m.Invite(name, time.Now())
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := d.Members()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	r := Roster{Address: "host:1", Players: []*PlayerEntry{
		{Member: m.List[0].Key, Process: 100001, Host: "there", Games: 5, Seen: now},
		{Member: m.List[0].Key, Process: 100002, Host: "gone", Games: 7, Seen: now.Add(-time.Hour), Reason: "it lied"},
	}}
	if err := run.WriteJSON(d.roster(), r); err != nil {
		t.Fatal(err)
	}
	p, err := d.Page()
	if err != nil {
		t.Fatal(err)
	}
	if all, missing, games := p.Count(now); all != 2 || missing != 1 || games != 12 {
		t.Errorf("%d players, %d missing, %d games", all, missing, games)
	}
	var text strings.Builder
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"anna ", "bert", "p100001", "1h0m0s ago, missing", "p100002, last rejected: it lied"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, &text)
		}
	}
}
