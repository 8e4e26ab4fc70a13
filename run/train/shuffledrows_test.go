package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// shuffleGames writes a shuffle of the games below in, as of a time.
func shuffleGames(t *testing.T, in, out string, now time.Time) *shuffle.Manifest {
	t.Helper()
	s := shuffle.DefaultSettings()
	s.Window.MinRows, s.Validation, s.RowsPerFile = 1, 0.3, 40
	m, err := shuffle.Run(t.Context(), shuffle.Options{InputDirs: []string{in}, OutputDir: out, Settings: s, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAnswersWhileItWaits: a training that waits for the first shuffle says so on
// its control socket; the socket is there still when it waits for a newer one, and
// stop ends either wait.
func TestAnswersWhileItWaits(t *testing.T) {
	games := t.TempDir() + "/games"
	train(t, games, "")
	flags := strings.ReplaceAll(epochs, "--stop-when-train-bucket-limited=true", "") + " --source-dir="
	for _, stopAt := range []int{1, 2} { // in the first wait, in that for a newer shuffle
		dir, out := t.TempDir()+"/run", t.TempDir()
		send := func(command string) (answer run.Message, err error) {
			owners, err := fsx.Owners(filepath.Join(dir, "locks", "trainer-main"))
			if err != nil || len(owners) != 1 {
				return answer, fmt.Errorf("%v, %w", owners, err)
			}
			err = run.Send(t.Context(), owners[0].Socket, run.Message{Type: command}, func(m run.Message) error { answer = m; return nil })
			return answer, err
		}
		pauses := 0
		pause := func(ctx context.Context) error {
			pauses++
			var page Page
			m, err := send("status")
			if err != nil || json.Unmarshal(m.Payload, &page) != nil || page.Stage != "waiting" || page.Job != "run" || page.Pace["waiting"] == nil {
				t.Errorf("wait %d: status %s, %v", pauses, m.Payload, err)
			}
			if _, err := send("checkpoint-now"); pauses == 1 && (err == nil || !strings.Contains(err.Error(), "waits for its first rows")) {
				t.Errorf("a checkpoint of nothing: %v", err)
			}
			if pauses < stopAt {
				shuffleGames(t, run.Dir{Root: games}.Selfplay(), out, time.Unix(1000, 0))
				return nil
			}
			if m, err := send("stop"); err != nil || m.Type != "ok" {
				t.Fatalf("wait %d: stop: %v %+v", pauses, err, m)
			}
			<-ctx.Done()
			return ctx.Err()
		}
		if _, log, err := pacedTrain(t, t.Context(), dir, flags+out, pause); !errors.Is(err, run.ErrInterrupted) || pauses != stopAt {
			t.Errorf("%v after %d waits, want a stop in wait %d\n%s", err, pauses, stopAt, log)
		}
		if _, err := send("status"); err == nil {
			t.Error("the socket outlives the training")
		}
	}
}

// TestSourceShuffled: a run over a shuffle that is stopped in between comes to
// the same weights, a newer shuffle is taken up, and without one it says so.
func TestSourceShuffled(t *testing.T) {
	games := t.TempDir() + "/games"
	train(t, games, "")
	out := t.TempDir()
	m := shuffleGames(t, run.Dir{Root: games}.Selfplay(), out, time.Unix(1000, 0))
	const rows = "--source=shuffled --source-dir="
	whole, parts := t.TempDir()+"/whole", t.TempDir()+"/parts"
	s, log := train(t, whole, rows+out+" --steps=30")
	if s.Steps != 30 || s.Last == nil || s.Last.Rows != int(m.HeldRows) || !strings.Contains(log, m.Name) {
		t.Fatalf("%+v\n%s", s, log)
	}
	if !strings.Contains(s.Net, "-s120-d") || strings.HasSuffix(s.Net, "-d0.safetensors") {
		t.Errorf("net %s does not name its rows", s.Net)
	}
	for _, steps := range []string{"7", "19", "30"} {
		train(t, parts, rows+out+" --steps="+steps)
	}
	d, _ := jobOf(t, whole)
	p, _ := jobOf(t, parts)
	a, _ := filepath.Glob(filepath.Join(d.Checkpoints, "*_step00000030", setup.NetFile))
	b, _ := filepath.Glob(filepath.Join(p.Checkpoints, "*_step00000030", setup.NetFile))
	if len(a) != 1 || len(b) != 1 || netID(t, a[0]) != netID(t, b[0]) {
		t.Errorf("30 steps at once and in three parts differ: %v, %v", a, b)
	}

	newer := shuffleGames(t, run.Dir{Root: games}.Selfplay(), out, time.Unix(2000, 0))
	if _, log = train(t, parts, rows+out+" --steps=40"); !strings.Contains(log, newer.Name) {
		t.Errorf("the newer shuffle %s is not in the log:\n%s", newer.Name, log)
	}

	if _, _, err := tryTrain(t, t.Context(), t.TempDir()+"/none", rows+t.TempDir()); !errors.Is(err, shuffle.ErrNone) {
		t.Errorf("without a shuffle: %v", err)
	}
}
