package join

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/chessbrain/chessbrain/internal/testing/runtest"
)

// TestGhostsOfCluster is TestGhosts through three NATS servers that stand for themselves,
// with the files that fleet cluster writes. One of them ends in the middle, and so does
// the run's host.
func TestGhostsOfCluster(t *testing.T) {
	number, chunks, games, faults, patience := 6, 8, 5, 30, time.Second
	if many, err := strconv.Atoi(os.Getenv("FLEET_PLAYERS")); err == nil {
		number, games, faults, patience = many, 25, many*11/50, 10*time.Second
	}
	dir := t.TempDir() + "/run"
	e := runtest.Resolve(t, dir, "--resign-q=-1")
	first, _, closeFirst := openHostOf(t, e, "127.0.0.1:0") // makes the run and its first member
	closeFirst()
	var addresses []string
	for range 3 {
		addresses = append(addresses, freeAddress(t))
	}
	all := strings.Join(addresses, ",")
	out := t.TempDir()
	if _, err := DirOf(dir).WriteCluster(all, out); err != nil {
		t.Fatal(err)
	}
	nodes := make([]*server.Server, len(addresses))
	for i := range nodes {
		path := filepath.Join(out, fmt.Sprintf("node%d.conf", i+1))
		text, err := os.ReadFile(path)
		if err == nil { // servers take names as their working directory has them
			text = bytes.ReplaceAll(text, []byte(`_file: "`), []byte(`_file: "`+out+"/"))
			text = bytes.Replace(text, []byte(`store_dir: "`), []byte(`store_dir: "`+out+"/"), 1)
			err = os.WriteFile(path, text, 0o600)
		}
		var o *server.Options
		if err == nil {
			o, err = server.ProcessConfigFile(path)
		}
		if err == nil {
			o.NoSigs, o.NoLog = true, true
			nodes[i], err = server.NewServer(o)
		}
		if err != nil {
			t.Fatal(err)
		}
		nodes[i].Start()
		t.Cleanup(nodes[i].Shutdown)
	}
	for !nodes[0].JetStreamIsCurrent() {
		time.Sleep(10 * time.Millisecond)
	}
	open := HostOptions{Effective: e, NATS: all}
	link, log, closeHost := startHost(t, open)
	if link.Address != all || link.Seed != first.Seed || link.Pin != first.Pin {
		t.Fatalf("link %+v, was %+v", link, first)
	}
	g := startGhosts(t, dir, link, number, chunks, games, float64(faults)/float64(number*chunks), patience)
	g.await(0.3)
	nodes[1].Shutdown()
	g.await(0.6)
	closeHost()
	_, log, closeHost = startHost(t, open)
	g.finish(dir, log, closeHost)
}

// freeAddress is one of which the port for the servers themselves is free, too.
func freeAddress(t *testing.T) string {
	for {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		port := l.Addr().(*net.TCPAddr).Port + 2000
		if other, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			other.Close()
			return l.Addr().String()
		}
	}
}
