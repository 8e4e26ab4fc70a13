package join

import (
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// TestAudit: honest games pass, with the same arithmetic and with another, and every altered
// one is found.
func TestAudit(t *testing.T) {
	dir := t.TempDir() + "/run"
	link, _, closeHost := openHost(t, dir, "127.0.0.1:0")
	root := t.TempDir()
	if s, text, err := playAs(t, t.Context(), link, root, 12); err != nil || s.Games != 12 {
		t.Fatalf("%+v, %v\n%s", s, err, text)
	}
	closeHost()
	e := runtest.Resolve(t, dir, "--resign-q=-1")
	a, net := auditorOf(t, e)
	a.know(net)
	other, err := setup.InitialNet(e, 99)
	if err != nil {
		t.Fatal(err)
	}
	entry := &PlayerEntry{Process: run.FirstJoined}
	audit := func(g *record.Game, arithmetic string) string {
		t.Helper()
		reason, err := a.audit(t.Context(), audited{entry, arithmetic, g})
		if err != nil {
			t.Fatal(err)
		}
		return reason
	}
	games := gamesOf(t, dir, "p100001")
	if len(games) != 12 || !a.exact {
		t.Fatalf("%d games, exact: %v", len(games), a.exact)
	}
	for n, g := range games {
		for _, arithmetic := range []string{a.arithmetic, "another"} {
			if reason := audit(g, arithmetic); reason != "" {
				t.Errorf("game %d is honest: %s", n, reason)
			}
		}
		ply := len(g.Plies) / 2
		for name, alter := range map[string]func(g *record.Game){
			"a visit more": func(g *record.Game) { g.Plies[ply].Counts[0]++ },
			"a value":      func(g *record.Game) { g.Plies[ply].Root.Q += 1e-6 },
			"the end":      func(g *record.Game) { g.Plies, g.End, g.WhiteResult = g.Plies[:ply], record.EndAborted, 0 },
			"a weight":     func(g *record.Game) { g.Plies[ply].Weight = 3 },
		} {
			altered := g.Clone()
			alter(altered)
			if reason := audit(altered, a.arithmetic); !strings.Contains(reason, "played again") {
				t.Errorf("game %d with %s altered: %q", n, name, reason)
			}
		}
		lying := g.Clone()
		for i := range lying.Plies {
			lying.Plies[i].Orig.Q = -lying.Plies[i].Orig.Q + 0.3
		}
		if reason := audit(lying, "another"); !strings.Contains(reason, "raw values are others") {
			t.Errorf("game %d with other values: %q", n, reason)
		}
	}
	a.nets[0] = &play.FoundNet{Net: other, Name: net.Name}
	for n, g := range games {
		if reason := audit(g, a.arithmetic); !strings.Contains(reason, "played again") {
			t.Errorf("game %d of another net: %q", n, reason)
		}
	}
	a.nets = nil
	if reason := audit(games[0], a.arithmetic); reason != "" {
		t.Errorf("the net is gone: %q", reason)
	}
	for text, want := range map[string]bool{"selfplay { resign { q: -1 } }": true, "selfplay { resign { q: -0.9 } }": false, "selfplay { resign { q: -1 } } plugins { rescorer { name: \"deblunder\" } }": false} {
		file, err := config.Parse("test", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := config.Resolve(config.Input{File: file})
		if err != nil {
			t.Fatal(err)
		}
		if got := setup.GamesAreFunctions(resolved.Config); got != want {
			t.Errorf("%q: games are functions: %v", text, got)
		}
	}
}

// TestHonestGames: games that many were played at once of, with all that the settings can
// do to them, are the same when they are played again alone.
func TestHonestGames(t *testing.T) {
	for _, flags := range []string{
		"--net=16x1 --full-search-probability=0.5 --cheap-simulations=4 --policy-surprise=0.5 --max-plies-material=2 --mcts-cache=10000",
		"--net=32x2 --gumbel=true --fork-probability=0.3 --simulations-schedule=4@0,8@10",
		"--net=sparse128 --gumbel=true",
	} {
		dir := t.TempDir() + "/run"
		e := runtest.Resolve(t, dir, flags+" --games-per-worker=16 --mcts-simulations=12 --max-plies=50 --resign-q=-1")
		link, _, closeHost := openHostOf(t, e, "127.0.0.1:0")
		if _, text, err := playAs(t, t.Context(), link, t.TempDir(), 24); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		closeHost()
		a, net := auditorOf(t, e)
		a.know(net)
		for n, g := range gamesOf(t, dir, "p100001") {
			if _, _, _, branch := selfplay.BranchOrdinal(n); branch {
				continue
			}
			for _, arithmetic := range []string{a.arithmetic, "another"} {
				reason, err := a.audit(t.Context(), audited{&PlayerEntry{Process: run.FirstJoined}, arithmetic, g})
				if reason != "" || err != nil {
					t.Errorf("%s: game %d: %q, %v", flags, n, reason, err)
				}
			}
		}
	}
}

// auditorOf returns an auditor for the players of a run, and the run's net.
func auditorOf(t *testing.T, e *config.Effective) (*auditor, *play.FoundNet) {
	t.Helper()
	a, err := newAuditor(playersConfig(e.Config), e.Config.GetSeed(), runtest.LogTo(&said{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	playing, err := setup.SelfPlayOf(e)
	if err != nil {
		t.Fatal(err)
	}
	net, err := play.NewNetFinder(e, &playing).Find()
	if err != nil {
		t.Fatal(err)
	}
	return a, net
}

// TestDistrust: the games of the last hour of a player that altered one leave the run, and
// what it sends later is refused.
func TestDistrust(t *testing.T) {
	dir := t.TempDir() + "/run"
	link, _, closeHost := openHost(t, dir, "127.0.0.1:0")
	root := t.TempDir()
	if _, text, err := playAs(t, t.Context(), link, root, 4); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	closeHost()
	log := &said{}
	h := &host{log: runtest.LogTo(log), dir: playingDir(t, dir), fleet: DirOf(dir), job: "run"}
	if err := h.readRoster(); err != nil {
		t.Fatal(err)
	}
	defer h.joins.Close()
	var err error
	if h.ledger, err = readLedger(t.Context(), h.dir, h.fleet.ledger(), h.roster.Players); err != nil {
		t.Fatal(err)
	}
	e := h.roster.Players[0]
	h.distrust(e, "it lies")
	h.distrust(e, "it lies again")
	if n := len(gamesOf(t, dir, "p100001")); n != 0 {
		t.Errorf("the run still has %d games", n)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "games=4") {
		t.Errorf("said:\n%s", text)
	}
	h.changed = true
	if err := h.writeRoster(); err != nil {
		t.Fatal(err)
	}
	link, _, closeHost = openHost(t, dir, "127.0.0.1:0")
	defer closeHost()
	_, text, err := playAs(t, t.Context(), link, root, 6)
	if err != nil || !strings.Contains(text, "an audit found that it lies") {
		t.Errorf("%v\n%s", err, text)
	}
	if n := len(gamesOf(t, dir, "p100001")); n != 0 {
		t.Errorf("the run took %d games", n)
	}
}

func playingDir(t *testing.T, dir string) run.Dir {
	t.Helper()
	p, err := setup.SelfPlayOf(runtest.Resolve(t, dir, ""))
	if err != nil {
		t.Fatal(err)
	}
	return p.Dir
}
