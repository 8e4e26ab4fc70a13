package watch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/cycle"
)

// TestCalibrate groups positions by what their searches expected; games without a result and
// plies without a search say nothing.
func TestCalibrate(t *testing.T) {
	game := func(result string, values ...*record.WhiteView) Finished {
		return Finished{View: record.View{Result: result, Values: values}}
	}
	half, sure := &record.WhiteView{Win: 0.25, Draw: 0.5, Loss: 0.25}, &record.WhiteView{Win: 1}
	got := calibrate([]Finished{game("1-0", half, nil, sure), game("1/2-1/2", half), game("0-1", half, half), game("*", half)})
	if want := (Calibration{{0.5, 0.375, 4}, {1, 1, 1}}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestFollower reads metrics that grow, that end in half a line, that are cut back, and that
// are damaged; curves keep their ends and their means.
func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	f := &follower{path: path}
	if l, err := f.read(); err != nil || len(l.Curves) != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	var text bytes.Buffer
	step := func(n int64) {
		e := &monitor.Step{Step: n, LR: monitor.Number(n)}
		e.V, e.Type, e.Seq = monitor.SchemaVersion, "step", uint64(n)
		line, err := monitor.AppendJSON(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(line)
	}
	write := func(data []byte) {
		filetest.Write(t, path, data)
	}
	rates := func() [][2]float64 {
		t.Helper()
		l, err := f.read()
		if err != nil {
			t.Fatal(err)
		}
		return l.Curves["train/lr"]
	}
	for n := range int64(3) {
		step(n + 1)
	}
	write(text.Bytes()[:text.Len()-5])
	if got := rates(); len(got) != 2 || got[1] != [2]float64{2, 2} {
		t.Errorf("half a line: %v", got)
	}
	for n := int64(4); n <= 2*curvePoints+1; n++ {
		step(n)
	}
	write(text.Bytes())
	got := rates()
	var sum float64
	for _, p := range got[:len(got)-1] {
		sum += p[1]
	}
	if len(got) >= curvePoints || got[len(got)-1] != [2]float64{2*curvePoints + 1, 2*curvePoints + 1} || sum/float64(len(got)-1) != (2*curvePoints+1)/2. {
		t.Errorf("%d points, the last %v, mean %v", len(got), got[len(got)-1], sum/float64(len(got)-1))
	}
	text.Reset()
	step(1)
	write(text.Bytes())
	if got := rates(); len(got) != 1 {
		t.Errorf("cut back: %v", got)
	}
	write(append(text.Bytes(), "nonsense\n"...))
	if _, err := f.read(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("damage: %v", err)
	}
}

// TestPlayersMetrics: where processes of their own play, their metrics are shown with the
// trainer's.
func TestPlayersMetrics(t *testing.T) {
	dir := run.NewDir(t.TempDir(), "main", "job", "", "")
	s := New(Options{Dir: dir})
	c, err := s.course("")
	if err != nil {
		t.Fatal(err)
	}
	if l, err := s.readLearning(c); err != nil || len(l.Curves) > 0 {
		t.Errorf("nobody has written anything: %+v, %v", l, err)
	}
	e := &monitor.SelfPlay{Games: 9, Ends: map[string]int64{"checkmate": 9}, Rates: monitor.Rates{PositionsPerSecond: 77}}
	e.V, e.Type, e.Seq = monitor.SchemaVersion, "selfplay", 1
	line, err := monitor.AppendJSON(nil, e)
	path := filepath.Join(dir.Metrics, string(run.Player(2)), monitor.MetricsName)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, line, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.readLearning(c)
	if err != nil || l.Ends["checkmate"] != 9 || len(l.Curves["selfplay/positions_s"]) != 1 || l.Curves["selfplay/positions_s"][0] != [2]float64{9, 77} {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestTrainings shows each training of a run: served, of the one that is asked for, and saved,
// all of them.
func TestTrainings(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	own := runtest.Trainings(t, root, []string{"main", "wide", "tiny"}, func(i int) []monitor.Event {
		name := []string{"main", "wide", "tiny"}[i]
		begin, step, end := &monitor.Run{Phase: monitor.RunStart, Arch: name}, &monitor.Step{Step: 1, LR: monitor.Number(i + 1)}, &monitor.Run{Phase: monitor.RunDone}
		begin.Type, step.Type, end.Type = "run", "step", "run"
		return []monitor.Event{begin, step, end}
	})
	s := New(Options{Dir: own})
	address := serve(t, s)
	for question, want := range map[string]float64{"": 1, "?training=main": 1, "?training=tiny": 3, "?training=wide": 2} {
		var l Learning
		ask(t, address+"/api/learning"+question, &l)
		if got := l.Curves["train/lr"]; strings.Join(l.Trainings, " ") != "main tiny wide" || len(got) != 1 || got[0][1] != want || question != "" && "?training="+l.Training != question {
			t.Errorf("%q: training %s of %q, rate %v", question, l.Training, l.Trainings, got)
		}
		if l.Run.Arch != l.Training || l.Run.Phase != monitor.RunDone {
			t.Errorf("%q: it is described as %+v", question, l.Run)
		}
	}
	var status cycle.Status
	if ask(t, address+"/api/status", &status); len(status.Trainings) != 3 || len(status.Warnings) > 0 {
		t.Errorf("status has %+v, warnings %q", status.Trainings, status.Warnings)
	}
	if _, err := s.Learning("none"); err == nil || !strings.Contains(err.Error(), `training "none"`) {
		t.Errorf("another name: %v", err)
	}
	var page strings.Builder
	if err := s.Save(t.Context(), &page); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main", "tiny", "wide"} {
		if !strings.Contains(page.String(), `"/api/learning?training=`+name+`"`) && !strings.Contains(page.String(), `learning?training\u003d`+name) {
			t.Errorf("the saved page lacks training %s", name)
		}
	}
	// A run that is watched through another training shows that first.
	if l, err := New(Options{Dir: run.NewDir(root, "wide", "job", "", "")}).Learning(""); err != nil || strings.Join(l.Trainings, " ") != "wide main tiny" || l.Training != "wide" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestBegins watches a run that is about to begin: it says so, and goes on when it has.
func TestBegins(t *testing.T) {
	s := New(Options{Dir: run.NewDir(filepath.Join(t.TempDir(), "run"), "main", "job", "", "")})
	if _, err := s.Status(); err == nil {
		t.Error("no error without a run")
	}
	if games, err := s.Playing(); err != nil || len(games) != 0 {
		t.Errorf("%v, %v", games, err)
	}
}
