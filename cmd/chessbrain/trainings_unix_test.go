//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/slow"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// TestTrainingsKilled holds that three trainings of a run, each killed at random moments
// while self-play and shuffles go on, keep every step in their metrics once, and that no
// file of one has anything of another. TRAININGS_SECONDS=1200 is the acceptance.
func TestTrainingsKilled(t *testing.T) {
	t.Parallel()
	seconds := 5
	if slow.On {
		seconds = 20
	}
	if n, err := strconv.Atoi(os.Getenv("TRAININGS_SECONDS")); err == nil {
		seconds = n
	}
	dir := t.TempDir()
	finished := func(args ...string) {
		t.Helper()
		cmd := exec.Command("chessbrain", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	games := 0
	play := func(more int) { // and shuffle, beside the trainings
		t.Helper()
		games += more
		finished("selfplay", "--run-dir", "r", "--net", "16x1", "--mcts-simulations", "2", "--max-plies", "40", "--max-games-total", fmt.Sprint(games))
		finished("shuffle", "--input-dir", "r/selfplay", "--output-dir", "r/shuffled", "--min-rows", "100")
	}
	play(40)
	trainings := []*oneOfThree{
		{name: "main", arch: "16x1", mode: "main", batch: 64},
		{name: "wide", arch: "24x2", mode: "extra", batch: 48},
		{name: "tiny", arch: "sparse64", mode: "trainonly", batch: 96},
	}
	for _, o := range trainings {
		o.service = service{t: t, dir: dir, log: filepath.Join(dir, o.name+".log"), args: []string{"train", "r", "--source", "shuffled",
			"--training-name", o.name, "--net", o.arch, "--export-mode", o.mode, "--batch-size", fmt.Sprint(o.batch), "--swa-period", "5",
			"--samples-per-epoch", fmt.Sprint(20 * o.batch), "--epochs-per-export", "20", "--log-every", "0.2", "--lock-wait", "20s"}}
		o.start()
		t.Cleanup(func() { o.end(syscall.SIGKILL) })
		if o.mode == "main" { // self-play goes by the first one
			o.stepped()
		}
	}
	rng := rand.New(rand.NewPCG(3, uint64(seconds)))
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for kill := 0; time.Now().Before(end) || kill < len(trainings); kill++ {
		time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
		o := trainings[kill%len(trainings)]
		if code := o.end(syscall.SIGKILL); code != -1 {
			t.Fatalf("training %s ended with %d:\n%s", o.name, code, o.said())
		}
		o.kills++
		o.start()
		if rng.IntN(8) == 0 {
			play(5)
		}
	}
	for _, o := range trainings {
		o.stepped()
		if code := o.end(syscall.SIGTERM); code != exitInterrupted {
			t.Errorf("training %s ended with %d:\n%s", o.name, code, o.said())
		}
	}
	finished("verify", "r")
	finished("report", "r")
	for _, o := range trainings {
		o.check(filepath.Join(dir, "r"), trainings)
	}
}

// oneOfThree is a training of TestTrainingsKilled.
type oneOfThree struct {
	service
	name, arch, mode string
	batch            int64
	kills            int
	before           int // bytes that processes before the newest one have said
}

// start begins another process, which stepped waits for.
func (o *oneOfThree) start() {
	o.t.Helper()
	o.before = len(o.said())
	o.service.start()
}

// stepped waits until the newest process has told of a step.
func (o *oneOfThree) stepped() {
	o.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(o.said()[o.before:], "\nstep "); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			o.t.Fatalf("training %s takes no step:\n%s", o.name, o.said())
		}
	}
}

// check wants whole metrics of the training, its own net everywhere, and nothing of others in
// its files.
func (o *oneOfThree) check(root string, all []*oneOfThree) {
	t := o.t
	t.Helper()
	metrics := filepath.Join(root, "metrics", "r", "trainer-"+o.name)
	log := "train-" + o.name + "_"
	if o.name == "main" { // whose nets play: it has the run's places
		metrics, log = filepath.Dir(metrics), "train_"
	}
	saved, err := checkpoint.Load(fsx.OS, filepath.Join(root, "train", o.name, "checkpoints"))
	if err != nil {
		t.Fatal(err)
	}
	want := nntest.Named(o.arch)
	in, err := os.Open(filepath.Join(metrics, monitor.MetricsName))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	step, seq, starts := int64(0), uint64(0), 0
	if _, err := monitor.Replay(in, func(e monitor.Event) error {
		if head := e.Head(); head.Seq != seq+1 {
			return fmt.Errorf("event %d follows event %d", head.Seq, seq)
		}
		seq++
		switch e := e.(type) {
		case *monitor.Step:
			if step++; e.Step != step || e.Samples != step*o.batch {
				return fmt.Errorf("step %d with %d samples stands where step %d of %d rows should", e.Step, e.Samples, step, o.batch)
			}
		case *monitor.Run:
			if e.Command == "" { // how a process ended
				break
			}
			if starts++; e.Arch != want.String() || !strings.Contains(e.Command, "--training-name "+o.name+" ") {
				return fmt.Errorf("a start of %s: %s", e.Arch, e.Command)
			}
		}
		return nil
	}); err != nil || step != saved.Manifest.Step || step == 0 || starts == 0 {
		t.Errorf("training %s: metrics have %d steps, the checkpoint %d: %v", o.name, step, saved.Manifest.Step, err)
	}

	var others []string
	for _, other := range all {
		if other != o {
			others = append(others, "--training-name "+other.name, "r-"+other.name+"-s", "train/"+other.name, "trainer-"+other.name)
		}
	}
	files := 0
	handed := map[string]string{"main": "toexport/", "extra": "toexport_extra/"}[o.mode]
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := filepath.ToSlash(path[len(root)+1:])
		switch {
		case strings.HasPrefix(rel, "train/"+o.name+"/"), filepath.Dir(path) == metrics, strings.HasPrefix(rel, "logs/"+log),
			handed != "" && strings.HasPrefix(rel, handed):
		default:
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, word := range others {
			if strings.Contains(rel, word) || bytes.Contains(data, []byte(word)) {
				t.Errorf("%s of training %s has %q", rel, o.name, word)
			}
		}
		if filepath.Ext(path) == ".safetensors" {
			if net, err := setup.ReadNet(path); err != nil || !net.Arch.Equal(want) {
				t.Errorf("%s of training %s: %v, a net %s", rel, o.name, err, net.Arch)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("training %s: %d kills, %d steps, %d events, %d starts in the metrics, %d files", o.name, o.kills, step, seq, starts, files)
}
