package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"
)

// handler answers players as tests want it.
type handler struct {
	join   func(Player, Hello) Welcome
	beat   func(Player, Beat) State
	lease  func(Player) Task
	finish func(Player, Outcome)
}

func (h handler) Join(p Player, x Hello) Welcome { return h.join(p, x) }
func (h handler) Beat(p Player, x Beat) State    { return h.beat(p, x) }
func (h handler) Lease(p Player) Task            { return h.lease(p) }
func (h handler) Finish(p Player, o Outcome)     { h.finish(p, o) }

// Opened is an inbox with two players.
type Opened struct {
	Inbox Inbox
	Posts [2]Post
}

// TestConformance holds the implementations of this package against the promises.
func TestConformance(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, h Handler) *Opened{"nats": openNATS, "cluster": openCluster, "directory": openDirectory} {
		t.Run(name, func(t *testing.T) { Conform(t, open) })
	}
}

// Conform holds an implementation against what Post and Inbox promise.
func Conform(t *testing.T, open func(t *testing.T, h Handler) *Opened) {
	asked, finished := make(chan Player, 8), make(chan Outcome, 1)
	h := handler{
		lease: func(p Player) Task {
			asked <- p
			return Task{ID: 1<<63 + 1, Nets: [2]NetRef{{Name: "a"}, {SHA256: "b"}}, Match: json.RawMessage(`{"x":1}`), Games: []int{3, 7}}
		},
		finish: func(p Player, o Outcome) {
			asked <- p
			finished <- o
		},
		join: func(p Player, h Hello) Welcome {
			asked <- p
			return Welcome{Job: "j", Process: 1001, Seed: 1<<63 + 1, Config: "version: 1\n", Refused: CheckProtocol(h, "v1")}
		},
		beat: func(p Player, b Beat) State {
			asked <- p
			return State{Net: NetRef{Name: b.Net, SHA256: "x", Bytes: b.Games}, Drain: b.Waiting == 7}
		},
	}
	x := open(t, h)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	t.Run("answers", func(t *testing.T) {
		w, err := x.Posts[0].Join(ctx, Hello{Protocol: Protocol})
		must(err)
		if w.Seed != 1<<63+1 || w.Process != 1001 || w.Config != "version: 1\n" || w.Refused != "" {
			t.Errorf("welcome %+v", w)
		}
		w, err = x.Posts[1].Join(ctx, Hello{Protocol: Protocol + 1, Version: "v9"})
		must(err)
		if !strings.Contains(w.Refused, "v9") {
			t.Errorf("a player of another protocol is told %q", w.Refused)
		}
		s, err := x.Posts[1].Beat(ctx, Beat{Net: "n", Games: 5, Waiting: 7})
		must(err)
		if s != (State{Net: NetRef{Name: "n", SHA256: "x", Bytes: 5}, Drain: true}) {
			t.Errorf("state %+v", s)
		}
		if a, b, c := <-asked, <-asked, <-asked; a.Member == b.Member || b != c {
			t.Errorf("the run was asked by %v, %v, %v", a, b, c)
		}
	})

	t.Run("tasks", func(t *testing.T) {
		task, err := x.Posts[0].Lease(ctx)
		must(err)
		if want := h.lease(<-asked); !reflect.DeepEqual(task, want) {
			t.Errorf("task %+v, want %+v", task, want)
		}
		want := Outcome{ID: task.ID, Games: json.RawMessage(`[1,2]`), Failed: "why"}
		must(x.Posts[1].Finish(ctx, want))
		if got := <-finished; !reflect.DeepEqual(got, want) {
			t.Errorf("outcome %+v, want %+v", got, want)
		}
		if <-asked == <-asked {
			t.Error("the run takes two players for one")
		}
	})

	t.Run("nets", func(t *testing.T) {
		first := []byte("net 0")
		for i := range KeptNets + 1 {
			file := fmt.Appendf(nil, "net %d", i)
			if i == KeptNets {
				file = bytes.Repeat([]byte("large"), 1<<20)
			}
			r := NewNetRef(fmt.Sprint("n", i), file)
			must(x.Inbox.Publish(ctx, r, file))
			must(x.Inbox.Publish(ctx, r, file)) // again: no harm
			got, err := x.Posts[i%2].Fetch(ctx, r)
			must(err)
			if !bytes.Equal(got, file) {
				t.Errorf("net %d differs", i)
			}
			if err := x.Inbox.Publish(ctx, r, []byte("another")); err == nil {
				t.Error("a net was published under the hash of another")
			}
		}
		if _, err := x.Posts[0].Fetch(ctx, NewNetRef("n0", first)); !errors.Is(err, ErrNoNet) {
			t.Errorf("an old net: %v", err)
		}
		again := NewNetRef("again", []byte("again"))
		for i := range 2 * KeptNets { // nets of matches do not drive out the one to play with, nor one that is stored again
			must(x.Inbox.Store(ctx, again, []byte("again")))
			file := fmt.Appendf(nil, "match %d", i)
			r := NewNetRef("m", file)
			must(x.Inbox.Store(ctx, r, file))
			_, err := x.Posts[0].Fetch(ctx, r)
			must(err)
		}
		_, err := x.Posts[0].Fetch(ctx, again)
		must(err)
		_, err = x.Posts[0].Fetch(ctx, NewNetRef(fmt.Sprint("n", KeptNets), bytes.Repeat([]byte("large"), 1<<20)))
		must(err)
	})

	next := func() *Delivery {
		t.Helper()
		d, err := x.Inbox.Next(ctx)
		must(err)
		return d
	}
	t.Run("verdicts", func(t *testing.T) {
		data := [][]byte{[]byte("a"), []byte("b"), bytes.Repeat([]byte{7}, MaxChunk)}
		for i, c := range data {
			must(x.Posts[i%2].Deliver(ctx, c, 0))
		}
		players := map[string]Player{}
		for range data {
			d := next()
			players[d.Sum()] = d.Player
			if string(d.Data) == "b" {
				must(d.Reject("it is b"))
			} else {
				must(d.Commit(len(d.Data)))
			}
		}
		if players[SumOf(data[0])] != players[SumOf(data[2])] || players[SumOf(data[0])] == players[SumOf(data[1])] {
			t.Errorf("chunks came from %v", players)
		}
		if v := <-x.Posts[1].Verdicts(); v != (Verdict{Sum: SumOf(data[1]), Rejected: "it is b"}) {
			t.Errorf("verdict %+v", v)
		}
		for range 2 {
			if v := <-x.Posts[0].Verdicts(); v.Rejected != "" || v.Sum == SumOf(data[0]) != (v.Games == 1) {
				t.Errorf("verdict %+v", v)
			}
		}
		if err := x.Posts[0].Deliver(ctx, make([]byte, MaxChunk+1), 0); err == nil {
			t.Error("a chunk was taken that is too large")
		}
	})

	t.Run("again", func(t *testing.T) { // a verdict that was lost is asked for by another delivery
		for attempt := range 3 {
			must(x.Posts[0].Deliver(ctx, []byte("again"), attempt))
			d := next()
			must(d.Commit(0))
			if v := <-x.Posts[0].Verdicts(); v.Sum != SumOf([]byte("again")) {
				t.Errorf("verdict %+v", v)
			}
		}
	})

	t.Run("full", func(t *testing.T) { // the mailbox refuses, and takes more when something was taken out
		var err error
		sent := 0
		for ; err == nil && sent < 1000; sent++ {
			chunk := make([]byte, MaxChunk/2)
			chunk[0], chunk[1] = byte(sent), byte(sent>>8)
			err = x.Posts[0].Deliver(ctx, chunk, 0)
		}
		if !errors.Is(err, ErrFull) {
			t.Fatalf("after %d chunks: %v", sent, err)
		}
		for range sent - 1 {
			must(next().Commit(1))
		}
		for err = ErrFull; errors.Is(err, ErrFull); {
			err = x.Posts[0].Deliver(ctx, []byte("small"), 0)
		}
		must(err)
		must(next().Commit(1))
	})

	t.Run("ends", func(t *testing.T) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := x.Inbox.Next(ended); err == nil {
			t.Error("a delivery from an empty mailbox")
		}
		must(x.Inbox.Close())
	})
}

// testServer starts a server with members a, b, ..., whose links it returns.
func testServer(t *testing.T, dir string, members ...string) (*Server, ServerOptions, []Link) {
	t.Helper()
	key, err := ReadKey(dir + "/tls.pem")
	if err != nil {
		t.Fatal(err)
	}
	pin, err := Pin(key)
	if err != nil {
		t.Fatal(err)
	}
	opt := ServerOptions{Address: "127.0.0.1:0", Dir: dir, Key: key, Mailbox: 20 << 20, Log: slog.New(slog.DiscardHandler)}
	var links []Link
	for _, name := range members {
		seed, err := opt.Members.Invite(name, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, Link{Seed: seed, Pin: pin})
	}
	s, err := Serve(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for i := range links {
		links[i].Address = fmt.Sprintf("127.0.0.1:%d", s.Port())
	}
	return s, opt, links
}

func openNATS(t *testing.T, h Handler) *Opened {
	s, opt, links := testServer(t, t.TempDir(), "a", "b")
	inbox, err := s.Inbox(h)
	if err != nil {
		t.Fatal(err)
	}
	x := &Opened{Inbox: inbox}
	for i := range x.Posts {
		link, err := ParseLink(links[i].String())
		if err != nil {
			t.Fatal(err)
		}
		if x.Posts[i], err = Dial(link, "one", false, opt.Log); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Posts[i].Close() })
	}
	return x
}
