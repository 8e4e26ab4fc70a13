package gate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
)

// The child process: the test binary again, which is a gatekeeper of the run in the
// environment and writes a line for each event.
const childVar = "CHESSBRAIN_GATE_TEST_RUN"

// longer is a match of some time, in which games are won too.
const longer = "games=20 visits=4 max_plies=60 workers=2"

func TestMain(m *testing.M) {
	root, child := os.LookupEnv(childVar)
	if !child {
		os.Exit(m.Run())
	}
	e, err := resolveText(root, longer)
	if err == nil {
		printer := monitor.SinkFunc(func(ev monitor.Event) error {
			_, err := fmt.Println(ev.Head().Type)
			return err
		})
		_, err = Run(context.Background(), Options{Effective: e, Once: true, Command: "child", Version: "test", Log: discard(), Readers: []monitor.Sink{printer}})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestKill kills a gatekeeper again and again: in the end every net is where its
// result says, no game was played twice, and the result is that of all games.
func TestKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	root := t.TempDir()
	nets := []string{"n1", "n2", "n3"}
	for i, net := range nets {
		putNet(t, candidate(root, net), uint64(i), int64(1000-i)) // the newest first
	}
	kills := 0
	for ended := false; !ended; {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVar+"="+root)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		after := 2 + rng.IntN(12) // events, the start among them
		if kills == 12 {
			after = 1 << 30 // now to the end
		}
		lines, buf := 0, make([]byte, 256)
		for lines < after {
			n, err := out.Read(buf)
			lines += strings.Count(string(buf[:n]), "\n")
			if err != nil {
				break
			}
		}
		killed := lines >= after
		if killed {
			kills++
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
		err = cmd.Wait()
		if !killed && err != nil {
			t.Fatalf("%v: %s", err, stderr.String())
		}
		ended = !killed
	}
	t.Logf("%d kills", kills)
	checkKilled(t, root, nets)
}

// checkKilled holds the promises after kills.
func checkKilled(t *testing.T, root string, nets []string) {
	t.Helper()
	holds(t, root, "modelstobetested")
	for _, net := range nets {
		r, err := ReadResult(filepath.Join(root, "gatekeeper", net))
		if err != nil {
			t.Fatal(err)
		}
		to, other := "rejectedmodels", "models"
		if r.Accepted {
			to, other = other, to
		}
		_, errThere := os.Stat(filepath.Join(root, to, net+run.NetSuffix))
		_, errOther := os.Stat(filepath.Join(root, other, net+run.NetSuffix))
		_, errGames := os.Stat(filepath.Join(root, "selfplay", net))
		if errThere != nil || errOther == nil || r.Accepted != (errGames == nil) || r.Placed != to+"/"+net+run.NetSuffix {
			t.Errorf("%s: %+v; %v, %v, %v", net, r, errThere, errOther, errGames)
		}
		if r.Baseline == "" {
			continue // older than an accepted one
		}
		games := logged(t, root, net)
		points := 0.0
		for i := range games {
			points += float64(1+games[i].Result(0)) / 2
		}
		enough := points >= 10 || points+float64(20-len(games)) < 10
		if len(games) != r.Games || points != r.Points || !enough || r.Accepted != (points >= 10) {
			t.Errorf("%s: %d games and %g points, the result says %+v", net, len(games), points, r)
		}
	}
}
