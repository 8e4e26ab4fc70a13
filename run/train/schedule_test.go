package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// fakeChunks is a data loader that has so many new chunks.
type fakeChunks struct {
	have, want int
	now        chan struct{} // TrainNow
	err        error         // of a wait that is not over at once
	asked      int           // chunks that a net waits for
}

func (f *fakeChunks) WaitForChunks(ctx context.Context, perNetwork int, report func(have, want int)) error {
	f.asked = perNetwork
	if perNetwork == 0 || f.have >= f.want {
		return nil
	}
	report(f.have, f.want)
	if f.err != nil {
		return f.err
	}
	select {
	case <-f.now:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fakeChunks) NewChunks() (have, want int) { return f.have, f.want }
func (f *fakeChunks) TrainNow()                   { f.now <- struct{}{} }

// newTestSchedule returns a pace whose clock goes on by a second at each look;
// said gets what it waits for.
func newTestSchedule(f *fakeChunks, steps int64, chunks int) (p *schedulePace, said chan string) {
	said = make(chan string, 100)
	clock := time.Unix(1000, 0)
	return &schedulePace{net: setup.Schedule{Steps: steps, Chunks: chunks}, source: f,
		rounds: rounds{Epochs: &setup.Epochs{PerExport: 1}, freePace: freePace{log: slog.New(slog.DiscardHandler)},
			waits: func(why string) { said <- why }, publish: func(monitor.Event) {}},
		during: func(wait func() error) error { return wait() },
		clock:  func() time.Time { clock = clock.Add(time.Second); return clock },
	}, said
}

// TestScheduleSteps: so many steps make a net; every second one is exported; the
// process ends after three.
func TestScheduleSteps(t *testing.T) {
	f := &fakeChunks{have: 5, want: 4}
	p, said := newTestSchedule(f, 3, 4)
	p.PerExport, p.Most = 2, 3
	var got strings.Builder
	for range 100 {
		err := p.Wait(t.Context())
		if err == io.EOF {
			got.WriteString("end")
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		save, export := p.After(nil)
		fmt.Fprintf(&got, "%v/%v ", save, export)
	}
	const want = "false/false false/false true/false false/false false/false true/true false/false false/false true/false end"
	if got.String() != want {
		t.Errorf("save/export:\n%s, want\n%s", got.String(), want)
	}
	if len(said) > 0 || f.asked != 4 {
		t.Errorf("waited for %d chunks, said %q", f.asked, <-said)
	}
	s := p.page()
	if s.Networks != 3 || s.FinishedHere != 3 || s.StepsDone != 0 || s.Waiting || s.NewChunks != 5 || s.ChunksToWait != 4 ||
		s.LastTrainingSeconds <= 0 || s.LastCycleSeconds <= s.LastTrainingSeconds || s.TrainingSeconds != 0 {
		t.Errorf("%+v", s)
	}
}

// TestScheduleWaits: it says what it has and needs, is told to begin, and ends
// when it is stopped.
func TestScheduleWaits(t *testing.T) {
	f := &fakeChunks{have: 3, want: 10, now: make(chan struct{})}
	p, said := newTestSchedule(f, 1, 10)
	begun := make(chan error)
	go func() {
		err := p.Wait(t.Context())
		begun <- err
	}()
	if why := <-said; !strings.Contains(why, "have 3, need 10") || !strings.Contains(why, "start-training-now") {
		t.Errorf("said %q", why)
	}
	if s := p.page(); !s.Waiting || s.NewChunks != 3 || s.ChunksToWait != 10 || s.CycleSeconds <= 0 {
		t.Errorf("while it waits: %+v", s)
	}
	if page := p.Status(); page["waiting"] != "new chunks: have 3, need 10" || page["new_chunks"] != int64(3) || page["chunks_to_wait"] != int64(10) {
		t.Errorf("page %v", page)
	}
	if err := p.StartNow(); err != nil {
		t.Error(err)
	}
	if err := <-begun; err != nil {
		t.Error(err)
	}
	if s := p.page(); s.Waiting || s.TrainingSeconds <= 0 {
		t.Errorf("while it trains: %+v", s)
	}
	if save, export := p.After(nil); !save || !export {
		t.Error(save, export)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-said
		cancel()
	}()
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after a stop: %v", err)
	}
}

// TestScheduleSupervised: without chunks_per_network it never waits, and says so
// to who wants it to begin.
func TestScheduleSupervised(t *testing.T) {
	f := &fakeChunks{want: 10}
	p, _ := newTestSchedule(f, 1, 0)
	if err := p.Wait(t.Context()); err != nil || f.asked != 0 {
		t.Error(err, f.asked)
	}
	if err := p.StartNow(); !errors.Is(err, errNeverWaits) {
		t.Error(err)
	}
	if page := p.Status(); page["new_chunks"] != nil {
		t.Errorf("page %v", page)
	}
}

// TestScheduleDataEnd: where no more data will come, the first net is an error and
// a later one the end.
func TestScheduleDataEnd(t *testing.T) {
	f := &fakeChunks{want: 10, err: fmt.Errorf("have 0 new chunks: %w", loader.ErrDataEnded)}
	p, _ := newTestSchedule(f, 2, 10)
	if err := p.Wait(t.Context()); !errors.Is(err, loader.ErrDataEnded) {
		t.Error(err)
	}
	p.now.Set(func(s *scheduleNow) { s.Networks = 1 })
	if err := p.Wait(t.Context()); err != io.EOF {
		t.Error(err)
	}
}

// TestScheduleSection: a training goes on in the middle of a net, without waiting
// for its chunks again; damaged state is refused and changes nothing.
func TestScheduleSection(t *testing.T) {
	p, _ := newTestSchedule(&fakeChunks{have: 5, want: 4}, 3, 4)
	for range 4 {
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.After(nil)
	}
	var state bytes.Buffer
	if err := p.Section().Save(&state); err != nil {
		t.Fatal(err)
	}
	if text := strings.TrimSpace(state.String()); text != `{"networks":1,"steps":1,"paid":true}` {
		t.Errorf("section %s", text)
	}
	again, said := newTestSchedule(&fakeChunks{want: 4, err: errors.New("it waits")}, 3, 4)
	if err := again.Section().Load(&state, scheduleVersion); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := again.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if save, _ := again.After(nil); save != (i == 1) {
			t.Error(i, save)
		}
	}
	if len(said) > 0 || again.page().Networks != 2 {
		t.Errorf("%+v", again.page())
	}
	for _, bad := range []string{"", "{", `{"networks":-1}`, `{"steps":-5}`, `[]`} {
		if err := again.Section().Load(strings.NewReader(bad), scheduleVersion); err == nil {
			t.Errorf("%q was loaded", bad)
		}
	}
	if err := again.Section().Load(strings.NewReader("{}"), 9); err == nil || again.page().Networks != 2 {
		t.Errorf("another version: %v, %+v", err, again.page())
	}
}

// watching is a data_loader section that waits for new games below a directory.
func watching(dir string) string {
	return fmt.Sprintf(`data_loader {
  stage { name: "files" file_path_provider { directory: %q poll_seconds: 0.05 } }
  stage { name: "reader" input: "files" chunk_source_reader {} }
  stage { name: "pool" input: "reader" shuffling_chunk_pool {} }
  stage { name: "unpack" input: "pool" chunk_unpacker {} }
  stage { name: "train" input: "unpack" tensor_generator { batch_size: 4 } }
  output: "train" }`, dir)
}

// TestTrainSchedule trains two nets by a schedule, in two processes: the first has
// its chunks, the second is told not to wait for them.
func TestTrainSchedule(t *testing.T) {
	games, dir := t.TempDir()+"/games", t.TempDir()+"/run"
	train(t, games, "") // eight games
	more := "--source=loader --steps-per-network=3 --chunks-per-network=6 --max-epochs-this-instance=1 " + watching(run.Dir{Root: games}.Selfplay())
	s, log := train(t, dir, more)
	if s.Steps != 3 || !strings.Contains(log, "the nets of this process are done") {
		t.Fatalf("%d steps, want 3\n%s", s.Steps, log)
	}

	var commands Live
	var page SchedulePage
	waiting := monitor.SinkFunc(func(e monitor.Event) error {
		if w, ok := e.(*monitor.Stage); ok && w.Name == "wait" {
			page = commands.Schedule()
			return commands.StartNow()
		}
		return nil
	})
	var text strings.Builder
	s, err := Train(t.Context(), Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more)), Command: "test", Version: "test", Log: runtest.LogTo(&text),
		Readers: []monitor.Sink{waiting}, Commands: func(c Live) { commands = c }})
	if err != nil || s.Steps != 6 {
		t.Fatalf("%v, %+v\n%s", err, s, text.String())
	}
	// 6 + 6 - 8 = 4 chunks: two more than it waits for have come before.
	if !page.Waiting || page.NewChunks != 0 || page.ChunksToWait != 4 || page.Networks != 1 || page.FinishedHere != 0 {
		t.Errorf("while it waits: %+v", page)
	}
	if stats := commands.Loader(); len(stats.Stages) != 5 {
		t.Errorf("stages %+v", stats.Stages)
	}
	if !strings.Contains(text.String(), "have 0, need 4") {
		t.Errorf("it waits without a word:\n%s", text.String())
	}
}

// TestStepGoal: events tell the step at which a training will end, whatever ends it, and from
// a restart on; where that is not known they tell none.
func TestStepGoal(t *testing.T) {
	games, out := t.TempDir()+"/games", t.TempDir()
	playAndShuffle(t, games, out, 8, 1000)
	dir := run.Dir{Root: games}.Selfplay()
	for more, known := range map[string]bool{
		"--data=" + dir + " --epochs=3 --grad-accum-steps=2":                                            true,
		"--source=dir --source-dir=" + dir + " --steps=9":                                               true,
		"--source=shuffled --samples-per-epoch=14 --max-epochs-this-instance=3 --source-dir=" + out:     true,
		epochs + " --source-dir=" + out:                                                                 false,
		"--source=loader --steps-per-network=3 --max-epochs-this-instance=2 " + graph(dir, "epochs: 0"): true,
	} {
		root := t.TempDir() + "/run"
		for _, limit := range []string{" --steps=2", ""} {
			var told []int64
			reader := monitor.SinkFunc(func(e monitor.Event) error {
				if s, ok := e.(*monitor.Step); ok {
					told = append(told, s.Steps)
				}
				return nil
			})
			s, log, err := tryTrain(t, t.Context(), root, more+limit, reader)
			if err != nil {
				t.Fatalf("%s%s: %v\n%s", more, limit, err, log)
			}
			want := s.Steps
			if !known && limit == "" {
				want = 0
			}
			if len(told) < 2 || slices.ContainsFunc(told[1:], func(n int64) bool { return n != want }) { // a loader knows nothing before its first row
				t.Errorf("%s%s: %d steps, told %d", more, limit, s.Steps, told)
			}
		}
	}
}

// TestStartNowElsewhere: what never waits says so.
func TestStartNowElsewhere(t *testing.T) {
	var commands Live
	_, err := Train(t.Context(), Options{Training: setup.TrainingOf(runtest.Resolve(t, t.TempDir(), "--episodes=1")), Command: "test", Version: "test", Log: runtest.LogTo(new(strings.Builder)),
		Commands: func(c Live) { commands = c }})
	if err != nil {
		t.Fatal(err)
	}
	if err := commands.StartNow(); !errors.Is(err, errNeverWaits) {
		t.Error(err)
	}
	if commands.Schedule != nil {
		t.Error("a run without a schedule has its page")
	}
	if commands.Loader != nil {
		t.Error("a run without data loader has its counters")
	}
}
