package train

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// train runs to the end in this process and returns the log.
func train(t testing.TB, dir, more string) (*Summary, string) {
	t.Helper()
	s, log, err := tryTrain(t, context.Background(), dir, more)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	return s, log
}

func tryTrain(t testing.TB, ctx context.Context, dir, more string, readers ...monitor.Sink) (*Summary, string, error) {
	t.Helper()
	var log strings.Builder
	s, err := Train(ctx, Options{Training: setup.TrainingOf(runtest.Resolve(t, dir, more)), Command: "test", Version: "test", Log: runtest.LogTo(&log), Readers: readers})
	return s, log.String(), err
}

// job is the job id of a run in dir.
func jobOf(t testing.TB, dir string) (run.Dir, string) {
	t.Helper()
	d, info, err := setup.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d, info.Job
}

// checkRun holds a finished run against the promises: the journal has the asked
// episodes, each game once and on disk; the window and the validation set are
// apart; every step stands in the metrics once. It returns the weights' id.
func checkRun(t testing.TB, dir string, episodes, steps int64) string {
	t.Helper()
	d, _ := jobOf(t, dir)
	ids := journalIDs(t, d)
	if int64(len(ids)) != episodes {
		t.Fatalf("journal has %d games, want %d", len(ids), episodes)
	}
	onDisk := map[string]int{}
	if _, err := replay.WalkGames(context.Background(), fsx.OS, d.Selfplay(), func(_ string, g *record.Game) error {
		onDisk[fmt.Sprintf("%x", g.ID)]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if onDisk[id] != 1 {
			t.Errorf("game %s is on disk %d times", id, onDisk[id])
		}
	}
	c, err := checkpoint.Load(fsx.OS, d.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 || c.Manifest.Step != steps {
		t.Errorf("checkpoint of step %d, want %d; warnings %v", c.Manifest.Step, steps, c.Warnings)
	}
	checkWindows(t, c)
	checkMetrics(t, d, episodes, steps)
	return c.Manifest.NetID
}

func checkWindows(t testing.TB, c *checkpoint.Checkpoint) {
	t.Helper()
	for name, held := range map[string]bool{"window": false, "validation": true} {
		f, err := c.Open(name + ".section")
		if err != nil {
			t.Fatal(err)
		}
		_, ids, err := replay.ReadWindowSection(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if record.IsValidation(id, 0.3) != held {
				t.Errorf("game %x is in the %s", id, name)
			}
		}
	}
}

// checkMetrics wants every episode and every step exactly once, in order.
func checkMetrics(t testing.TB, d run.Dir, episodes, steps int64) {
	t.Helper()
	f, err := os.Open(filepath.Join(d.Learning, monitor.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	step, episode := int64(0), int64(0)
	_, err = monitor.Replay(f, func(e monitor.Event) error {
		switch e := e.(type) {
		case *monitor.Step:
			if step++; e.Step != step {
				return fmt.Errorf("step %d stands where %d should", e.Step, step)
			}
		case *monitor.Episode:
			if episode++; e.Episode != episode {
				return fmt.Errorf("episode %d stands where %d should", e.Episode, episode)
			}
		}
		return nil
	})
	if err != nil || step != steps || episode != episodes {
		t.Errorf("metrics hold %d steps and %d episodes, want %d and %d: %v", step, episode, steps, episodes, err)
	}
}

// journalIDs returns the games of the journal, and fails where one is there
// twice or out of order.
func journalIDs(t testing.TB, d run.Dir) []string {
	t.Helper()
	entries, _, err := run.ReadJournal(d.Journal())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	seen := map[string]bool{}
	for i, e := range entries {
		if e.Episode != int64(i)+1 || seen[e.Game] {
			t.Fatalf("journal line %d: %+v, seen before: %v", i+1, e, seen[e.Game])
		}
		seen[e.Game] = true
		ids = append(ids, e.Game)
	}
	return ids
}

// netID reads a net file's id.
func netID(t testing.TB, path string) string {
	t.Helper()
	net, err := setup.ReadNet(path)
	if err != nil {
		t.Fatal(err)
	}
	return net.ID()
}

// The child process: the test binary again, which trains with the configuration
// in the environment and prints every event on standard output.
const (
	childVar = "CHESSBRAIN_LOOP_TEST_CONFIG"
	childDir = "CHESSBRAIN_LOOP_TEST_RUN"

	childStuck = "CHESSBRAIN_LOOP_TEST_STUCK" // set: the first step never ends
)

func TestMain(m *testing.M) {
	if arg, ok := os.LookupEnv(pluginVar); ok {
		pluginMain(arg)
	}
	if text, ok := os.LookupEnv(childVar); ok {
		os.Exit(childMain(os.Getenv(childDir), text))
	}
	os.Exit(m.Run())
}

// childMain trains as cmd/chessbrain does, with the same signals and codes.
func childMain(dir, text string) int {
	e, err := runtest.ResolveText(dir, text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt)
	go func() {
		<-signals
		cancel()
		fmt.Println(`{"type":"interrupted"}`)
		<-signals
		run.ExitNow(130)
	}()
	_, stuck := os.LookupEnv(childStuck)
	printer := monitor.SinkFunc(func(ev monitor.Event) error {
		line, err := monitor.AppendJSON(nil, ev)
		if err == nil {
			_, err = os.Stdout.Write(line)
		}
		if _, ok := ev.(*monitor.Step); ok && stuck {
			select {}
		}
		return err
	})
	_, err = Train(ctx, Options{Training: setup.TrainingOf(e), Command: "child", Version: "test", Log: runtest.LogTo(os.Stderr), Readers: []monitor.Sink{printer}})
	var locked *fsx.LockedError
	switch {
	case errors.Is(err, run.ErrInterrupted):
		return 5
	case errors.As(err, &locked):
		return 2
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// tempOf is the temporary name that a process of this machine gives a file of some name.
func tempOf(t testing.TB, file string, process int) string {
	t.Helper()
	made, err := fsx.MkdirTemp(fsx.OS, filepath.Join(t.TempDir(), file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(filepath.Base(made), fmt.Sprint(file, ".", os.Getpid(), "-"), fmt.Sprint(file, ".", process, "-"), 1)
}

// child is a running child process.
type child struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr strings.Builder
}

// event is the part of an event that tests look at.
type event struct {
	Type    string `json:"type"`
	Phase   string `json:"phase"`
	Action  string `json:"action"`
	Step    int64  `json:"step"`
	Episode int64  `json:"episode"`
	GameID  string `json:"game_id"`
}

func startChild(t testing.TB, dir, more string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), childVar+"="+more, childDir+"="+dir, "GOMAXPROCS=2")
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 1<<20)
	t.Cleanup(func() { c.cmd.Process.Kill(); c.cmd.Wait() })
	return c
}

// next returns the next event; ok = false at the end of the process.
func (c *child) next(t testing.TB) (e event, ok bool) {
	t.Helper()
	if !c.lines.Scan() {
		return e, false
	}
	if err := json.Unmarshal(c.lines.Bytes(), &e); err != nil {
		return e, false // cut off by the kill
	}
	return e, true
}

// wait reads to the end and returns the exit code, -1 after a kill.
func (c *child) wait(t testing.TB, each func(event)) int {
	t.Helper()
	for e, ok := c.next(t); ok; e, ok = c.next(t) {
		if each != nil {
			each(e)
		}
	}
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *child) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}
