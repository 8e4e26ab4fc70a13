package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/chessbrain/chessbrain/internal/testing/natstest"
)

// testCluster is three servers of the files that Config writes.
type testCluster struct {
	Cluster
	t     *testing.T
	dir   string
	nodes [3]*server.Server
}

// startCluster starts a cluster with members a, b, ..., whose links it returns.
func startCluster(t *testing.T, members ...string) (*testCluster, []Link) {
	t.Helper()
	c, links := makeCluster(t, members...)
	for i := range c.nodes {
		c.start(i)
	}
	c.ready()
	return c, links
}

// makeCluster is startCluster before any server runs.
func makeCluster(t *testing.T, members ...string) (*testCluster, []Link) {
	t.Helper()
	c := &testCluster{t: t, dir: t.TempDir()}
	c.Mailbox, c.Log = 20<<20, silent
	key, err := NewKey(time.Now())
	if err == nil {
		c.Pin, err = Pin(key)
	}
	if err == nil {
		key, err = Certify(key, []string{"127.0.0.1"}, time.Now())
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, "tls.pem"), key, 0o600)
	}
	var m Members
	if err = errors.Join(err, m.MakeOwn()); err != nil {
		t.Fatal(err)
	}
	c.Seed = m.Own
	c.Addresses = natstest.Addresses(t, len(c.nodes), routeOffset)
	var links []Link
	for _, name := range members {
		seed, err := m.Invite(name, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, Link{Address: c.Addresses, Seed: seed, Pin: c.Pin})
	}
	for i := range c.nodes {
		text, err := c.Config(i, "tls.pem", m)
		if err == nil {
			err = os.WriteFile(c.file(i), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c, links
}

func (c *testCluster) file(i int) string {
	return filepath.Join(c.dir, fmt.Sprintf("node%d.conf", i+1))
}

func (c *testCluster) start(i int) {
	c.t.Helper()
	c.nodes[i] = natstest.Start(c.t, c.file(i))
}

func (c *testCluster) stop(i int) {
	c.nodes[i].Shutdown()
	c.nodes[i].WaitForShutdown()
}

// ready waits until the cluster has a leader that knows all of it.
func (c *testCluster) ready() {
	c.t.Helper()
	for end := time.Now().Add(startTime); ; time.Sleep(10 * time.Millisecond) {
		for _, n := range c.nodes {
			if n.JetStreamIsLeader() && len(n.JetStreamClusterPeers()) == len(c.nodes) {
				return
			}
		}
		if time.Now().After(end) {
			c.t.Fatal("the cluster has no leader")
		}
	}
}

func openCluster(t *testing.T, h Handler) *Opened {
	c, links := startCluster(t, "a", "b")
	inbox, pinned, err := c.Inbox(h)
	if err != nil || !pinned {
		t.Fatal(err, pinned)
	}
	x := &Opened{Inbox: inbox}
	for i := range x.Posts {
		if x.Posts[i], err = Dial(links[i], "one", false, silent); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Posts[i].Close() })
	}
	return x
}

// One server of three ends, and later all come back with nothing stored: players go on
// delivering, and what was taken out of the mailbox is all that they delivered.
func TestClusterFails(t *testing.T) {
	t.Parallel() // it waits for servers
	c, links := startCluster(t, "a")
	inbox, _, err := c.Inbox(handler{beat: func(Player, Beat) State { return State{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Close()
	file := []byte("a net")
	ref := NewNetRef("n", file)
	if err := inbox.Publish(t.Context(), ref, file); err != nil {
		t.Fatal(err)
	}
	nets, err := inbox.(*natsInbox).js.Stream(t.Context(), netsStream)
	if err != nil || nets.CachedInfo().Config.AllowDirect {
		t.Errorf("a server that lags may say that a new net is not there: %v", err)
	}
	post, err := Dial(links[0], "one", false, silent)
	if err != nil {
		t.Fatal(err)
	}
	defer post.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	seen := make(chan string, 1000)
	go func() {
		for {
			d, err := inbox.Next(ctx)
			if err != nil {
				return
			}
			if err := d.Commit(1); err != nil {
				t.Error(err)
			}
			seen <- string(d.Data)
		}
	}()
	// deliver delivers as a courier does: again, until the verdict has come.
	deliver := func(text string) {
		t.Helper()
		for attempt := 0; ; attempt++ {
			_ = post.Deliver(ctx, []byte(text), attempt)
			select {
			case v := <-post.Verdicts():
				if v.Sum == SumOf([]byte(text)) {
					return
				}
			case <-time.After(2 * time.Second):
			case <-ctx.Done():
				t.Fatalf("no verdict on %q", text)
			}
		}
	}
	fetch := func() {
		t.Helper()
		for {
			got, err := post.Fetch(ctx, ref)
			if err == nil && string(got) == string(file) {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("net: %q, %v", got, err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	number := 0
	batch := func() {
		for range 20 {
			deliver(fmt.Sprint("chunk ", number))
			number++
		}
		fetch()
	}
	batch()
	for i, n := range c.nodes {
		if n.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, gamesStream) {
			c.stop(i) // the one that has the mailbox in hand
			batch()
			c.start(i)
			c.ready()
			break
		}
	}
	batch()
	for i := range c.nodes {
		c.stop(i)
	}
	for i := range c.nodes {
		if err := os.RemoveAll(filepath.Join(c.dir, fmt.Sprintf("node%d", i+1))); err != nil {
			t.Fatal(err)
		}
		c.start(i)
	}
	c.ready()
	batch()
	got := map[string]bool{}
	for len(got) < number {
		select {
		case text := <-seen:
			got[text] = true
		case <-ctx.Done():
			t.Fatalf("%d of %d chunks came", len(got), number)
		}
	}
}

// A run that begins before all of its servers do waits for them.
func TestClusterBegins(t *testing.T) {
	t.Parallel()
	c, _ := makeCluster(t, "a")
	c.start(0)
	c.start(1)
	waits := make(chan struct{})
	var once sync.Once
	c.Log = slog.New(slog.NewTextHandler(writer(func(line []byte) {
		if strings.Contains(string(line), "not ready") {
			once.Do(func() { close(waits) })
		}
	}), nil))
	ready := make(chan error, 1)
	go func() {
		inbox, _, err := c.Inbox(handler{})
		if err == nil {
			err = inbox.Close()
		}
		ready <- err
	}()
	select {
	case <-waits:
	case err := <-ready:
		t.Fatalf("two servers of three keep no game three times: %v", err)
	}
	c.start(2)
	if err := <-ready; err != nil {
		t.Error(err)
	}
}

// writer is an io.Writer of what is done with each of its lines.
type writer func([]byte)

func (w writer) Write(line []byte) (int, error) {
	w(line)
	return len(line), nil
}

// Servers that are not the run's, or do not know it, are told apart.
func TestClusterRefused(t *testing.T) {
	c, _ := startCluster(t, "a")
	var m Members
	if err := m.MakeOwn(); err != nil {
		t.Fatal(err)
	}
	stranger := c.Cluster
	stranger.Seed = m.Own
	if _, _, err := stranger.Inbox(handler{}); err == nil || !strings.Contains(err.Error(), "do not know the run's key") {
		t.Errorf("a key that they do not know: %v", err)
	}
	stranger = c.Cluster
	stranger.Pin = strings.Repeat("x", 32)
	if _, _, err := stranger.Inbox(handler{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("servers that nobody knows: %v", err)
	}
	stranger.Addresses = "127.0.0.1:64000"
	if _, err := stranger.Config(0, "k", Members{}); err == nil || !strings.Contains(err.Error(), "2000 above") {
		t.Errorf("no port for routes: %v", err)
	}
}
