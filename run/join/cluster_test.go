package join

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/testing/natstest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// TestGhostsOfCluster is TestGhosts through three NATS servers that stand for themselves,
// with the files that fleet cluster writes. One of them, a process of its own, is killed in
// the middle and comes back later. The run's host ends in between.
func TestGhostsOfCluster(t *testing.T) {
	number, chunks, games, faults, patience := 6, 8, 5, 30, time.Second
	if many, err := strconv.Atoi(os.Getenv("FLEET_PLAYERS")); err == nil {
		number, games, faults, patience = many, 25, many*11/50, 10*time.Second
	}
	dir := t.TempDir() + "/run"
	e := runtest.Resolve(t, dir, "--resign-q=-1")
	first, _, closeFirst := openHostOf(t, e, "127.0.0.1:0") // makes the run and its first member
	closeFirst()
	all := natstest.Addresses(t, 3, 2000)
	out := t.TempDir()
	names, err := DirOf(dir).WriteCluster(all, out)
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".conf") })
	killed := names[2]
	kill := natstest.StartProcess(t, killed)
	for _, name := range names[:2] {
		natstest.Start(t, name)
	}
	open := HostOptions{Effective: e, NATS: all}
	link, log, closeHost := startHost(t, open)
	if link.Address != all || link.Seed != first.Seed || link.Pin != first.Pin {
		t.Fatalf("link %+v, was %+v", link, first)
	}
	g := startGhosts(t, dir, link, number, chunks, games, float64(faults)/float64(number*chunks), patience)
	g.await(0.3)
	kill()
	g.await(0.6)
	closeHost()
	_, log, closeHost = startHost(t, open)
	g.await(0.8)
	natstest.StartProcess(t, killed)
	g.finish(dir, log, closeHost)
}
