//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// service is a process that is started again whenever it was killed.
type service struct {
	t    *testing.T
	dir  string
	args []string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

func (s *service) start() {
	s.t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command("chessbrain", s.args...)
	s.cmd.Dir, s.cmd.Stderr, s.cmd.Stdout = s.dir, log, log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, done := s.cmd, make(chan struct{})
	s.done = done
	go func() {
		cmd.Wait()
		close(done)
	}()
}

// end sends a signal and returns the exit code, -1 after a kill.
func (s *service) end(signal os.Signal) int {
	s.t.Helper()
	s.cmd.Process.Signal(signal)
	select {
	case <-s.done:
	case <-time.After(time.Minute):
		s.cmd.Process.Kill()
		s.t.Fatalf("%v does not end at %v; it said:\n%s", s.args, signal, s.said())
	}
	return s.cmd.ProcessState.ExitCode()
}

func (s *service) said() string {
	text, _ := os.ReadFile(s.log)
	return string(text)
}

// revive starts those that have given up, such as players whose run was away when they
// joined first.
func revive(services []*service) (any bool) {
	for _, s := range services {
		select {
		case <-s.done:
			s.start()
			any = true
		default:
		}
	}
	return any
}

// ordinals are the numbers of the games of a process below a run's directory.
func ordinals(t *testing.T, root, process string) map[uint64]int {
	t.Helper()
	numbers := map[uint64]int{}
	paths, err := filepath.Glob(filepath.Join(root, "selfplay", "*", process, "*"+replay.SealedSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		games, info, err := replay.ReadChunk(fsx.OS, path)
		if err != nil || info.Torn || len(info.Damage) > 0 {
			t.Fatalf("%s: %v, %+v", path, err, info)
		}
		for _, g := range games {
			numbers[g.Ordinal]++
		}
	}
	return numbers
}

// TestFleetKills kills the trainer, with the server in it, and the players of a real run at
// random moments. What players know to be delivered is in the run, the run has no game
// twice, and none that no player has. FLEET_KILLS=200 is the acceptance.
func TestFleetKills(t *testing.T) {
	t.Parallel()
	fleetKills(t, freeAddress(t), 2, func(string) bool { return true }, "--source", "dir", "--steps", "100000000", "--checkpoint-steps", "50")
}

// TestFleetKillsOfDirectory is TestFleetKills through a directory.
func TestFleetKillsOfDirectory(t *testing.T) {
	t.Parallel()
	fleetKills(t, "./mail", 1, func(string) bool { return true }, "--source", "dir", "--steps", "100000000", "--checkpoint-steps", "50")
}

// TestFleetKillsBeside is TestFleetKills of a trainer whose own workers play, too. Games of
// both kinds are counted, each once.
func TestFleetKillsBeside(t *testing.T) {
	t.Parallel()
	counted := func(root string) (own, theirs int) {
		info, _, err := run.ReadRunInfo(root)
		if err != nil {
			t.Fatal(err)
		}
		entries, _, err := run.ReadJournal(run.Dir{Root: root}.Journal())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, e := range entries {
			id, _ := e.GameID()
			joined := false
			for n := uint64(0); n < 20 && !joined; n++ { // a player that is killed before it knows its number gets another
				joined = id == record.GameID(info.Seed, run.FirstJoined+n, e.Ordinal)
			}
			switch {
			case seen[e.Game]:
				t.Fatalf("a game is counted twice: %+v", e)
			case id == record.GameID(info.Seed, 0, e.Ordinal):
				own++
			case joined:
				theirs++
			default:
				t.Fatalf("a game of nobody is counted: %+v", e)
			}
			seen[e.Game] = true
		}
		return own, theirs
	}
	enough := func(root string) bool {
		own, theirs := counted(root)
		return own > 0 && theirs > 0
	}
	dir := fleetKills(t, freeAddress(t), 1, enough, "--producer-workers", "1", "--episodes", "1000000", "--train-steps-per-episode", "1")
	own, theirs := counted(filepath.Join(dir, "run"))
	t.Logf("counted: %d games of the trainer's workers, %d of the player", own, theirs)
}

// freeAddress is one that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// fleetKills is the test of a trainer with those flags that listens there. It ends when all
// have been there for some seconds and the run has enough. It returns where the run lies.
func fleetKills(t *testing.T, listen string, players int, enough func(root string) bool, flags ...string) string {
	kills := 4
	if n, err := strconv.Atoi(os.Getenv("FLEET_KILLS")); err == nil {
		players, kills = 2*players, n
	}
	dir := t.TempDir()
	services := []*service{{t: t, dir: dir, log: filepath.Join(dir, "train.log"), args: slices.Concat([]string{"train", "run", "--listen", listen,
		"--lock-wait", "20s"}, flags, quickGames)}}
	services[0].start()
	t.Cleanup(func() {
		for _, s := range services {
			s.cmd.Process.Kill()
			<-s.done
		}
	})
	var link string
	for end := time.Now().Add(time.Minute); link == ""; time.Sleep(50 * time.Millisecond) {
		cmd := exec.Command("chessbrain", "fleet", "invite", "run", "all")
		cmd.Dir = dir
		if out, err := cmd.Output(); err == nil {
			link = strings.Fields(string(out))[3]
		} else if time.Now().After(end) {
			t.Fatalf("%v\n%s", err, services[0].said())
		}
	}
	for i := range players {
		s := &service{t: t, dir: dir, log: filepath.Join(dir, fmt.Sprintf("player%d.log", i)),
			args: []string{"selfplay", "--join", link, "--run-dir", fmt.Sprint("player", i), "--producer-workers", "1"}}
		s.start()
		services = append(services, s)
	}
	rng := rand.New(rand.NewPCG(1, uint64(kills)))
	for range kills {
		time.Sleep(time.Duration(200+rng.IntN(1500)) * time.Millisecond)
		s := services[rng.IntN(len(services))]
		select {
		case <-s.done: // it has given up: the run was away when it started
		default:
			s.end(syscall.SIGKILL)
		}
		s.start()
		revive(services)
	}
	end := time.Now().Add(2 * time.Minute)
	for quiet := 0; quiet < 40 || !enough(filepath.Join(dir, "run")); quiet++ { // all are there again, for so long
		if time.Now().After(end) {
			t.Fatalf("the run has not enough games\n%s", services[0].said())
		}
		if revive(services) {
			quiet = 0
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, s := range services[1:] {
		if code := s.end(syscall.SIGTERM); code != exitInterrupted {
			t.Errorf("%v: exit code %d\n%s", s.args, code, s.said())
		}
	}
	if code := services[0].end(syscall.SIGTERM); code != exitInterrupted {
		t.Errorf("%v: exit code %d\n%s", services[0].args, code, services[0].said())
	}
	all := 0
	for i := range players {
		root := filepath.Join(dir, fmt.Sprint("player", i))
		var mine struct{ Process uint64 }
		if there, err := run.ReadJSON(filepath.Join(root, "joined.json"), &mine); err != nil || !there {
			t.Fatalf("player %d: %v\n%s", i, err, services[i+1].said())
		}
		name := fmt.Sprint("p", mine.Process)
		var delivered run.Ordinals
		if _, err := run.ReadJSON(filepath.Join(root, "delivered.json"), &delivered); err != nil {
			t.Fatal(err)
		}
		taken, waiting := ordinals(t, filepath.Join(dir, "run"), name), ordinals(t, root, name)
		for n, times := range taken {
			if times != 1 {
				t.Errorf("the run has game %d of %s %d times", n, name, times)
			}
			if !delivered.Has(n) && waiting[n] == 0 {
				t.Errorf("the run has game %d of %s, the player knows nothing of it", n, name)
			}
		}
		for _, r := range delivered.Ranges {
			for n := r[0]; n < r[1]; n++ {
				if taken[n] == 0 {
					t.Errorf("game %d of %s was delivered, the run has it not", n, name)
				}
			}
		}
		if len(taken) == 0 {
			t.Errorf("the run has no game of %s", name)
		}
		all += len(taken)
	}
	t.Logf("%d games of %d players, %d kills", all, players, kills)
	cmd := exec.Command("chessbrain", "verify", "run", "--json")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	var report map[string]any
	if err != nil || json.Unmarshal(out, &report) != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if refused, err := filepath.Glob(filepath.Join(dir, "player*", "rejected", "*")); err != nil || len(refused) > 0 {
		t.Errorf("refused: %v, %v", refused, err)
	}
	return dir
}
