package fleet

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

var silent = slog.New(slog.DiscardHandler)

// Links say what is wrong with them.
func TestLinks(t *testing.T) {
	var m Members
	seed, err := m.Invite("a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	want := Link{Address: "[::1]:4222", Seed: seed, Pin: strings.Repeat("p", 32)}
	for _, link := range []Link{want, {Address: "a:1,[::1]:2,c:65535", Seed: seed, Pin: want.Pin}, {Address: "a:1", Seed: seed},
		{Address: "/shared/my mail/ü%/x", Seed: seed, Pin: want.Pin}, {Address: "C:/mail", Seed: seed, Pin: want.Pin}} {
		if got, err := ParseLink(link.String()); err != nil || got != link || len(got.Server()) != 64 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	good, noPin := want.String(), Link{Address: "/shared/mail", Seed: seed}.String()
	for text, says := range map[string]string{
		"":                                "no link of a fleet",
		"http://host:1/x":                 "no link of a fleet",
		"chessbrain://host/x":             "no HOST:PORT",
		"chessbrain://a:1,b:0/x":          "no HOST:PORT",
		"chessbrain://host:1/x":           "copy the whole link",
		"chessbrain:///x":                 "no link of a fleet",
		"chessbrain://mail/x":             "no HOST:PORT",
		"chessbrain://shared/mail/x":      "a relative path",
		"chessbrain://./mail/x":           "a relative path",
		"chessbrain:///shared/mail/x":     "copy the whole link",
		noPin:                             "copy the whole link",
		good[:len(good)-1]:                "copy the whole link",
		"chessbrain://host:1/%zz":         "copy the whole link",
		strings.Replace(good, "/", "", 1): "no link of a fleet",
	} {
		if _, err := ParseLink(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A link is for one server, and for a member that is not revoked.
func TestWhoMayJoin(t *testing.T) {
	s, opt, links := testServer(t, t.TempDir(), "a", "b")
	inbox, err := s.Inbox(handler{beat: func(Player, Beat) State { return State{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Close()
	refused := func(l Link, says string) {
		t.Helper()
		p, err := Dial(l, "one", false, silent)
		if err == nil {
			p.Close()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("joined: %v, want %q", err, says)
		}
	}
	other := links[0]
	other.Pin = strings.Repeat("x", 32)
	refused(other, "not the one that the link is for")
	stranger := Members{}
	if other.Seed, err = stranger.Invite("x", time.Now()); err != nil {
		t.Fatal(err)
	}
	other.Pin = links[0].Pin
	refused(other, "takes this link's key no more")
	other = links[0]
	other.Address = "127.0.0.1:1"
	refused(other, "reach the server at 127.0.0.1:1")

	p, err := Dial(links[0], "one", false, silent)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Beat(t.Context(), Beat{}); err != nil {
		t.Fatal(err)
	}
	if err := opt.Members.Revoke("a", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMembers(opt.Members); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := p.Beat(ctx, Beat{})
		cancel()
		if errors.Is(err, ErrNoMember) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a revoked member still has answers")
		}
	}
	refused(links[0], "takes this link's key no more")
	q, err := Dial(links[1], "one", false, silent)
	if err != nil {
		t.Fatalf("another member: %v", err)
	}
	q.Close()
	if err := opt.Members.Revoke("c", time.Now()); err == nil {
		t.Error("revoked a member that is none")
	}
	if seed, err := opt.Members.Invite("b", time.Now()); err != nil || seed != links[1].Seed {
		t.Errorf("invited again: %q, %v", seed, err)
	}
	if _, err := opt.Members.Invite("a", time.Now()); err == nil {
		t.Error("invited a member that was revoked")
	}
}

// TestCertificateOutOfDate: a certificate has ended, or has not begun by this clock.
func TestCertificateOutOfDate(t *testing.T) {
	for says, made := range map[string]time.Time{
		"expired on":                   time.Now().AddDate(-keyYears, 0, -1),
		"the clock of this machine or": time.Now().AddDate(0, 0, 2),
	} {
		dir := t.TempDir()
		key, err := NewKey(made)
		if err == nil {
			err = os.WriteFile(dir+"/tls.pem", key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _, links := testServer(t, dir, "a")
		if p, err := Dial(links[0], "one", false, silent); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("made on %s: joined %v, %v; want %q", made.Format(time.DateOnly), p != nil, err, says)
		}
	}
}

// A member can do what a Post does, and nothing else: neither read what others are told,
// nor speak for them, nor touch the mailbox or the nets.
func TestMembersAreKeptApart(t *testing.T) {
	s, _, links := testServer(t, t.TempDir(), "a", "b")
	inbox, err := s.Inbox(handler{})
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Close()
	if err := inbox.Publish(t.Context(), NewNetRef("n", []byte("net")), []byte("net")); err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.FromSeed([]byte(links[0].Seed))
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	denied := make(chan error, 8)
	nc, err := nats.Connect("tls://"+links[0].Address, nats.Nkey(key, pair.Sign), nats.Secure(links[0].tls()), nats.CustomInboxPrefix(inboxOf(key)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	expect := func(what string, err error) {
		t.Helper()
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-denied:
			if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s is allowed", what)
		}
	}
	other := Player{Member: "B", Instance: "one"}
	expect("speaking for another", nc.Publish(gamesSubject(other), []byte("x")))
	expect("asking for another", nc.Publish(askSubject(other), []byte("x")))
	expect("a verdict", nc.Publish(verdictSubject(Player{Member: key, Instance: "one"}), []byte("x")))
	for _, subject := range []string{verdictSubject(other), ">", ofAll("games"), "_INBOX.>"} {
		sub, err := nc.SubscribeSync(subject)
		expect("reading "+subject, err)
		if _, err := sub.NextMsg(50 * time.Millisecond); err == nil {
			t.Errorf("read a message of %s", subject)
		}
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(200*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), gamesStream); err == nil {
		t.Error("removed the mailbox")
	}
	<-denied
	if err := js.DeleteObjectStore(t.Context(), netsBucket); err == nil {
		t.Error("removed the nets")
	}
	<-denied
	if store, err := js.ObjectStore(t.Context(), netsBucket); err != nil {
		t.Error(err)
	} else if _, err := store.PutBytes(t.Context(), "x", []byte("x")); err == nil {
		t.Error("put a net into the store")
	}
}

// What the mailbox holds outlives the server, and a player goes on by itself, with the
// same key of the server, also where the store is gone.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		dir, h := t.TempDir(), handler{beat: func(Player, Beat) State { return State{} }}
		s, opt, links := testServer(t, dir, "a")
		inbox, err := s.Inbox(h)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Dial(links[0], "one", false, silent)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.Deliver(t.Context(), []byte("before"), 0); err != nil {
			t.Fatal(err)
		}
		inbox.Close()
		s.Close()
		opt.Address = links[0].Address
		if lost {
			opt.Dir = t.TempDir()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if err := p.Deliver(ctx, []byte("meanwhile"), 0); err == nil {
			t.Error("delivered to no server")
		}
		cancel()
		if s, err = Serve(opt); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if inbox, err = s.Inbox(h); err != nil {
			t.Fatal(err)
		}
		defer inbox.Close()
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for attempt := 1; ; attempt++ {
			if err = p.Deliver(ctx, []byte("after"), attempt); err == nil || ctx.Err() != nil {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"before", "after"}
		if lost {
			want = want[1:]
		}
		for _, text := range want {
			d, err := inbox.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if string(d.Data) != text {
				t.Errorf("got %q, want %q", d.Data, text)
			}
			if err := d.Commit(1); err != nil {
				t.Error(err)
			}
		}
		if v := <-p.Verdicts(); lost != (v.Sum == SumOf([]byte("after"))) {
			t.Errorf("verdict %+v", v)
		}
	}
}

// A server says why it cannot begin.
func TestServeRefuses(t *testing.T) {
	s, opt, _ := testServer(t, t.TempDir())
	opt.Address = "127.0.0.1:0"
	for address, says := range map[string]string{"nowhere": "want [HOST]:PORT", "127.0.0.1:http": "is no number"} {
		o := opt
		o.Address = address
		if _, err := Serve(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", address, err)
		}
	}
	o := opt
	o.Address = s.s.Addr().String()
	if _, err := Serve(o); err == nil || !strings.Contains(err.Error(), "give another address") {
		t.Errorf("a port in use: %v", err)
	}
	o.Key = []byte("none")
	if _, err := Serve(o); err == nil {
		t.Error("served without a key")
	}
}

// A player waits for a server that takes connections and says nothing, too.
func TestSilentServer(t *testing.T) {
	t.Parallel() // it waits for apiTime
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var m Members
	seed, err := m.Invite("a", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(writer(func(line []byte) {
		said.Write(line)
		l.Close()
	}), nil))
	p, err := Dial(Link{Address: l.Addr().String(), Seed: seed, Pin: strings.Repeat("x", 32)}, "one", true, log)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if !strings.Contains(said.String(), "goes on trying") {
		t.Error(said.String())
	}
}

// TestAnswersElsewhere: the run, which may publish all that there is, answers a member in its
// own inbox alone, and deletes no mailbox for it.
func TestAnswersElsewhere(t *testing.T) {
	s, _, links := testServer(t, t.TempDir(), "a")
	asked := make(chan struct{}, 2)
	inbox, err := s.Inbox(handler{beat: func(Player, Beat) State {
		asked <- struct{}{}
		return State{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer inbox.Close()
	post, err := Dial(links[0], "one", false, silent)
	if err != nil {
		t.Fatal(err)
	}
	defer post.Close()
	p := post.(*natsPost)
	if err := p.nc.PublishRequest(askSubject(p.player), "$JS.API.STREAM.DELETE."+gamesStream, []byte(`{"beat":{}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Beat(t.Context(), Beat{}); err != nil { // the run takes questions in order
		t.Fatal(err)
	}
	if len(asked) != 1 {
		t.Errorf("the run answered %d questions, want the second one alone", len(asked))
	}
	if err := p.Deliver(t.Context(), []byte("games"), 0); err != nil {
		t.Errorf("the mailbox is gone: %v", err)
	}
}
