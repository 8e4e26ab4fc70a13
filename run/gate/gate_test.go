package gate

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestAccept: the first net plays against random weights, the next one against
// it; half of the points are enough, and the games' directory is there.
func TestAccept(t *testing.T) {
	root := t.TempDir()
	putNet(t, candidate(root, "job-main-s100-d10"), 1, 1000)
	r := decisions(t, root, "")
	if len(r) != 1 || !r[0].Accepted || r[0].Baseline != RandomNet || r[0].BaselineSHA256 != "" || len(r[0].CandidateSHA256) != 64 ||
		r[0].Points != 3 || r[0].Games != 6 || r[0].GamesWanted != 6 || r[0].Pentanomial != (arena.Pentanomial{2: 3}) || r[0].Elo != 0 {
		t.Fatalf("the first net: %+v", r[0])
	}
	holds(t, root, "modelstobetested")
	holds(t, root, "models", "job-main-s100-d10.safetensors")
	holds(t, root, "selfplay", "job-main-s100-d10")
	holds(t, root, "gatekeeper/job-main-s100-d10", GamesName, LogName, ResultName)
	pgn, err := os.ReadFile(filepath.Join(root, "gatekeeper/job-main-s100-d10", GamesName))
	if err != nil || bytes.Count(pgn, []byte("[Event ")) != 6 {
		t.Errorf("games: %v, %s", err, pgn)
	}
	kept, err := ReadResult(filepath.Join(root, "gatekeeper/job-main-s100-d10"))
	if err != nil || kept.Placed != "models/job-main-s100-d10.safetensors" || kept.Candidate != r[0].Candidate || kept.EloError != r[0].EloError {
		t.Errorf("result.json: %+v, %v", kept, err)
	}

	putNet(t, candidate(root, "job-main-s200-d20"), 2, 2000)
	second := decisions(t, root, "")
	if len(second) != 1 || !second[0].Accepted || second[0].Baseline != "job-main-s100-d10" || second[0].BaselineSHA256 != r[0].CandidateSHA256 {
		t.Errorf("the second net: %+v", second[0])
	}
	if decisions(t, root, "") != nil {
		t.Error("a gatekeeper without candidates decided something")
	}
}

// TestReject: a net that misses the share goes to rejectedmodels with what lies
// beside it, and no directory of games is made.
func TestReject(t *testing.T) {
	root := t.TempDir()
	putNet(t, candidate(root, "a"), 1, 1000)
	for _, name := range []string{"a.onnx", "ab.onnx"} { // the other is somebody else's
		filetest.Write(t, filepath.Join(root, "modelstobetested", name), "x")
	}
	r := decisions(t, root, "required_win_prop=0.6")
	if len(r) != 1 || r[0].Accepted || r[0].Games < 2 || len(r[0].Files) != 2 || !strings.Contains(r[0].Reason, "3.6 of 6 needed") {
		t.Fatalf("%+v", r[0])
	}
	holds(t, root, "modelstobetested", "ab.onnx")
	holds(t, root, "rejectedmodels", "a.onnx", "a.safetensors")
	holds(t, root, "models")
	holds(t, root, "selfplay")
	if got := len(logged(t, root, "a")); got != r[0].Games {
		t.Errorf("%d games logged, %d counted", got, r[0].Games)
	}
}

// TestOrder: the newest comes first, the older ones are rejected unread, unless
// they are to be tested too; then the one accepted last is the newest.
func TestOrder(t *testing.T) {
	for _, older := range []bool{false, true} {
		root, more := t.TempDir(), ""
		if older {
			more = "test_older=true"
		}
		putNet(t, candidate(root, "x"), 1, 3000)
		putNet(t, candidate(root, "y"), 2, 1000)
		putNet(t, candidate(root, "z"), 3, 2000)
		var got []string
		for _, r := range decisions(t, root, more) {
			got = append(got, r.Candidate+" "+r.Verdict()+" "+r.Baseline)
		}
		want := "x accepted random,z rejected ,y rejected "
		if older {
			want = "x accepted random,z accepted x,y accepted z"
		}
		if strings.Join(got, ",") != want {
			t.Errorf("test older %v: %q, want %q", older, got, want)
		}
		net, err := setup.NewestNet(run.Dir{Root: root}, filepath.Join(root, "models"))
		if newest := map[bool]string{false: "x", true: "y"}[older]; err != nil || net.Name != newest {
			t.Errorf("test older %v: self-play takes %s, %v", older, net.Name, err)
		}
	}
}

// TestCopied: in a run whose files have the times of a copy the net with the most samples is
// the baseline, a damaged net before it stops nothing, and what came before it is older.
func TestCopied(t *testing.T) {
	root := t.TempDir()
	accepted := func(name string) string { return filepath.Join(root, "models", name+".safetensors") }
	putNet(t, accepted("job-main-s1000-d20"), 1, 3000)
	putNet(t, accepted("job-main-s900-d20"), 2, 5000)
	if err := os.Truncate(accepted("job-main-s900-d20"), 100); err != nil {
		t.Fatal(err)
	}
	putNet(t, candidate(root, "job-main-s1100-d30"), 3, 1000)
	putNet(t, candidate(root, "job-main-s950-d30"), 4, 6000)
	var got []string
	for _, r := range decisions(t, root, "") {
		got = append(got, r.Candidate+" "+r.Verdict()+" "+r.Baseline)
	}
	if want := "job-main-s1100-d30 accepted job-main-s1000-d20,job-main-s950-d30 rejected "; strings.Join(got, ",") != want {
		t.Errorf("%q, want %q", got, want)
	}
	older, net := candidate(root, "job-main-s800-d10"), "job-main-s800-d10" // accepted, it plays, whatever copies do
	putNet(t, older, 5, 500)
	if r := decisions(t, root, "test_older=true"); len(r) != 1 || !r[0].Accepted {
		t.Fatalf("an older net that is to be tested: %+v", r)
	}
	if err := os.Chtimes(accepted(net), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if newest, err := setup.NewestNet(run.Dir{Root: root}, filepath.Join(root, "models")); err != nil || newest.Name != net {
		t.Errorf("self-play takes %v, %v", newest, err)
	}
}

// TestGoesOn stops a match after two games: the next start plays only the others.
func TestGoesOn(t *testing.T) {
	root := t.TempDir()
	putNet(t, candidate(root, "a"), 1, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	games := 0
	stop := monitor.SinkFunc(func(e monitor.Event) error {
		if g, ok := e.(*monitor.Gate); ok && g.Verdict == "running" {
			if games++; games == 2 {
				cancel()
			}
		}
		return nil
	})
	s, err := Run(ctx, options(t, root, "", stop))
	if !errors.Is(err, run.ErrInterrupted) || len(s.Results) != 0 {
		t.Fatalf("stopped: %v, %v", s, err)
	}
	holds(t, root, "modelstobetested", "a.safetensors")
	path := filepath.Join(root, "gatekeeper/a", LogName)
	before := filetest.Read(t, path)
	first := len(logged(t, root, "a"))
	filetest.Write(t, path, append(before[:len(before):len(before)], `{"number":`...)) // as a kill leaves it
	games = -1000
	r := decisions(t, root, "", stop)
	after, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(after, before) {
		t.Errorf("the log does not go on: %v", err)
	}
	if played := games + 1000; first < 2 || first+played != 6 || r[0].Games != 6 || len(logged(t, root, "a")) != 6 {
		t.Errorf("%d games before the stop, %d after it, %d counted", first, played, r[0].Games)
	}
}

// TestKilledBeforeTheResult: all games are there, more than decide by themselves;
// the result is about all of them.
func TestKilledBeforeTheResult(t *testing.T) {
	root := t.TempDir()
	putNet(t, candidate(root, "a"), 1, 1000)
	decisions(t, root, "")
	for _, name := range []string{GamesName, ResultName} {
		if err := os.Remove(filepath.Join(root, "gatekeeper/a", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(root, "models/a.safetensors"), candidate(root, "a")); err != nil {
		t.Fatal(err)
	}
	r := decisions(t, root, "required_win_prop=0.25") // three draws of six are enough
	if len(r) != 1 || !r[0].Accepted || r[0].Games != 6 || r[0].Pentanomial != (arena.Pentanomial{2: 3}) || len(logged(t, root, "a")) != 6 {
		t.Errorf("%+v", r[0])
	}
	holds(t, root, "gatekeeper/a", GamesName, LogName, ResultName)
}

// TestKilledBeforeTheMove: a decision that was not carried out is, without
// another game, whichever of the steps the kill came before.
func TestKilledBeforeTheMove(t *testing.T) {
	for _, moved := range []bool{false, true} {
		root := t.TempDir()
		putNet(t, candidate(root, "a"), 1, 1000)
		filetest.Write(t, filepath.Join(root, "modelstobetested/a.onnx"), "x")
		decisions(t, root, "")
		dir := filepath.Join(root, "gatekeeper/a")
		r, err := ReadResult(dir)
		if err != nil {
			t.Fatal(err)
		}
		r.Placed = ""
		if err := r.write(dir); err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Files { // back to where they were
			if moved && f.Name == "a.onnx" {
				continue
			}
			if err := os.Rename(filepath.Join(root, "models", f.Name), filepath.Join(root, "modelstobetested", f.Name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(filepath.Join(root, "selfplay/a")); err != nil {
			t.Fatal(err)
		}
		again := decisions(t, root, "required_win_prop=1")
		if len(again) != 1 || !again[0].Accepted || again[0].Ended != r.Ended || again[0].EloError != r.EloError {
			t.Errorf("the decision has changed: %+v", again)
		}
		holds(t, root, "modelstobetested")
		holds(t, root, "models", "a.onnx", "a.safetensors")
		holds(t, root, "selfplay", "a")
		holds(t, root, "gatekeeper/a", GamesName, LogName, ResultName)
	}
}

// TestAgain: a net that somebody puts back is tested again, and the earlier match
// is kept; so is one that was begun with other settings.
func TestAgain(t *testing.T) {
	root := t.TempDir()
	putNet(t, candidate(root, "a"), 1, 1000)
	decisions(t, root, "required_win_prop=1")
	if err := os.Rename(filepath.Join(root, "rejectedmodels/a.safetensors"), candidate(root, "a")); err != nil {
		t.Fatal(err)
	}
	if r := decisions(t, root, ""); len(r) != 1 || !r[0].Accepted || r[0].Games != 6 {
		t.Errorf("tested again: %+v", r)
	}
	holds(t, root, "gatekeeper/a", "games.1.pgn", GamesName, "match.1.jsonl", LogName, "result.1.json", ResultName)

	putNet(t, candidate(root, "b"), 2, 2000)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := monitor.SinkFunc(func(e monitor.Event) error {
		if _, ok := e.(*monitor.Gate); ok {
			cancel()
		}
		return nil
	})
	if _, err := Run(ctx, options(t, root, "", stop)); !errors.Is(err, run.ErrInterrupted) {
		t.Fatal(err)
	}
	if r := decisions(t, root, "temperature=1"); len(r) != 1 || r[0].Games != 6 {
		t.Errorf("other settings: %+v", r)
	}
	holds(t, root, "gatekeeper/b", GamesName, "match.1.jsonl", LogName, ResultName)
}

// TestGamesElsewhere: --pgn-output-dir moves the PGN of matches, and what ratings, status
// and clean-up read stays in the run; earlier games are kept there, too.
func TestGamesElsewhere(t *testing.T) {
	root, pgn := t.TempDir(), filepath.Join(t.TempDir(), "pgn")
	putNet(t, candidate(root, "a"), 1, 1000)
	o := options(t, root, "required_win_prop=1")
	o.Dirs.PGN = pgn
	for range 2 {
		if s, err := Run(t.Context(), o); err != nil || len(s.Results) != 1 || s.Results[0].Accepted {
			t.Fatalf("%+v, %v", s, err)
		}
		if err := os.Rename(filepath.Join(root, "rejectedmodels/a.safetensors"), candidate(root, "a")); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, root, "gatekeeper/a", "match.1.jsonl", LogName, "result.1.json", ResultName)
	holds(t, pgn, "a", "games.1.pgn", GamesName)
	played, err := Played(run.Dir{Root: root}.Gates())
	if err != nil || len(played) != 1 || played[0].Candidate != "a" {
		t.Errorf("matches of the run: %+v, %v", played, err)
	}
}

// TestBadNets: a damaged net and one whose name is taken are rejected without a
// match, and nothing is overwritten.
func TestBadNets(t *testing.T) {
	root := t.TempDir()
	putNet(t, candidate(root, "a"), 1, 1000)
	decisions(t, root, "")
	accepted := filetest.Read(t, filepath.Join(root, "models/a.safetensors"))
	for round := range 2 {
		putNet(t, candidate(root, "a"), 2, 2000)
		filetest.Write(t, candidate(root, "torn"), accepted[:len(accepted)/2])
		alarms := 0
		r := decisions(t, root, "", monitor.SinkFunc(func(e monitor.Event) error {
			if _, ok := e.(*monitor.Alarm); ok {
				alarms++
			}
			return nil
		}))
		if len(r) != 2 || r[0].Accepted || r[1].Accepted || r[0].Games+r[1].Games != 0 || alarms != 1 {
			t.Fatalf("round %d: %v, %d alarms", round, r, alarms)
		}
		if !strings.Contains(r[0].Reason, "torn.safetensors") || !strings.Contains(r[1].Reason, "accepted already") {
			t.Errorf("reasons %q, %q", r[0].Reason, r[1].Reason)
		}
	}
	holds(t, root, "rejectedmodels", "a.2.safetensors", "a.3.safetensors", "torn.2.safetensors", "torn.safetensors")
	for name, accepted := range map[string]bool{"a": true, "a.2": false, "a.3": false} { // the accepted net's own stays
		if r, err := ReadResult(filepath.Join(root, "gatekeeper", name)); err != nil || r.Candidate != name || r.Accepted != accepted {
			t.Errorf("result of %s: %+v, %v", name, r, err)
		}
	}
	if now, err := os.ReadFile(filepath.Join(root, "models/a.safetensors")); err != nil || !bytes.Equal(now, accepted) {
		t.Errorf("the accepted net has changed: %v", err)
	}
	damaged := filepath.Join(root, "models/b.safetensors")
	filetest.Write(t, damaged, accepted[:100])
	putNet(t, candidate(root, "c"), 3, time.Now().Unix()+1000)
	if _, err := Run(context.Background(), options(t, root, "")); err == nil || !strings.Contains(err.Error(), damaged) {
		t.Errorf("a damaged accepted net: %v", err)
	}
	holds(t, root, "modelstobetested", "c.safetensors")
}

// TestTakenAway: a net whose file is gone when its match ends is accepted nowhere, and
// the gatekeeper goes on with the next one.
func TestTakenAway(t *testing.T) {
	for _, settled := range []bool{false, true} { // by an earlier start, up to the move
		root := t.TempDir()
		putNet(t, candidate(root, "a"), 1, 2000)
		if settled {
			if r := decisions(t, root, ""); len(r) != 1 || !r[0].Accepted {
				t.Fatal(r)
			}
			if err := os.Rename(filepath.Join(root, "models/a.safetensors"), candidate(root, "a")); err != nil {
				t.Fatal(err)
			}
			r, err := ReadResult(filepath.Join(root, "gatekeeper/a"))
			if err != nil {
				t.Fatal(err)
			}
			if r.Placed = ""; r.write(filepath.Join(root, "gatekeeper/a")) != nil {
				t.Fatal("not written")
			}
		}
		putNet(t, candidate(root, "b"), 2, 1000)
		taken := false
		take := func() {
			if taken = true; os.Remove(candidate(root, "a")) != nil {
				t.Error("a is gone already")
			}
		}
		o := options(t, root, "", monitor.SinkFunc(func(e monitor.Event) error {
			if g, ok := e.(*monitor.Gate); ok && g.Candidate == "a" && !taken {
				take()
			}
			return nil
		}))
		if settled { // between the look and the move
			o.Log = slog.New(slogFunc(func(message string) {
				if strings.Contains(message, "decided about before") {
					take()
				}
			}))
		}
		s, err := Run(context.Background(), o)
		if err != nil || !taken || len(s.Results) != 1 || s.Results[0].Candidate != "b" || !s.Results[0].Accepted {
			t.Errorf("settled %v: %+v, %v", settled, s, err)
		}
		holds(t, root, "models", "b.safetensors")
		if r, err := ReadResult(filepath.Join(root, "gatekeeper/a")); err == nil && r.Placed != "" {
			t.Errorf("settled %v: a was placed in %s", settled, r.Placed)
		}
	}
}

// slogFunc hands the messages of a log to a function.
type slogFunc func(message string)

func (slogFunc) Enabled(context.Context, slog.Level) bool { return true }
func (f slogFunc) Handle(_ context.Context, r slog.Record) error {
	f(r.Message)
	return nil
}
func (f slogFunc) WithAttrs([]slog.Attr) slog.Handler { return f }
func (f slogFunc) WithGroup(string) slog.Handler      { return f }

// TestSequentialMatch: all games are drawn, which is nearer to 0 than to 400 Elo.
func TestSequentialMatch(t *testing.T) {
	root := t.TempDir()
	putNet(t, candidate(root, "a"), 1, 1000)
	r := decisions(t, root, "games=40 sprt.enabled=true sprt.elo1=400")
	if len(r) != 1 || r[0].Accepted || r[0].SPRT == nil || r[0].SPRT.Decision != arena.AcceptH0 || r[0].SPRT.Elo1 != 400 {
		t.Fatalf("%+v", r[0])
	}
	kept, err := ReadResult(filepath.Join(root, "gatekeeper/a"))
	if err != nil || kept.SPRT == nil || *kept.SPRT != *r[0].SPRT {
		t.Errorf("result.json: %+v, %v", kept, err)
	}
}

// TestOneGatekeeper: a second one is refused; one whose caller holds the run is not.
func TestOneGatekeeper(t *testing.T) {
	root := t.TempDir()
	locks := filepath.Join(root, "locks")
	if err := os.MkdirAll(locks, 0o755); err != nil {
		t.Fatal(err)
	}
	whole, err := fsx.Acquire(filepath.Join(locks, "run"), fsx.LockOptions{Command: "a cycle"})
	if err != nil {
		t.Fatal(err)
	}
	o := options(t, root, "")
	if _, err := Run(context.Background(), o); !isLocked(err) {
		t.Errorf("a run that somebody holds: %v", err)
	}
	o.Locked = true
	if _, err := Run(context.Background(), o); err != nil {
		t.Errorf("the holder's own gatekeeper: %v", err)
	}
	if err := whole.Release(); err != nil {
		t.Fatal(err)
	}
	other, err := fsx.Acquire(filepath.Join(locks, "gatekeeper"), fsx.LockOptions{Command: "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	if _, err := Run(context.Background(), options(t, root, "")); !isLocked(err) {
		t.Errorf("a second gatekeeper: %v", err)
	}
}

func isLocked(err error) bool {
	_, ok := errors.AsType[*fsx.LockedError](err)
	return ok
}
