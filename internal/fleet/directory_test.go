package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// testDirectory returns how to open a directory, again and again, and links of members a,
// b, ...
func testDirectory(t *testing.T, dir string, h Handler, log *slog.Logger, members ...string) (open func() Inbox, links []Link) {
	t.Helper()
	key, err := NewKey(time.Now())
	must(t, err)
	pin, err := Pin(key)
	must(t, err)
	var m Members
	for _, name := range members {
		seed, err := m.Invite(name, time.Now())
		must(t, err)
		links = append(links, Link{Address: filepath.ToSlash(dir), Seed: seed, Pin: pin})
	}
	return func() Inbox {
		t.Helper()
		inbox, err := OpenDirectory(DirectoryOptions{Dir: dir, Key: key, Command: "test", Log: log}, h)
		must(t, err)
		t.Cleanup(func() { inbox.Close() })
		return inbox
	}, links
}

func openDirectory(t *testing.T, h Handler) *Opened {
	open, links := testDirectory(t, filepath.Join(t.TempDir(), "my mail"), h, silent, "a", "b")
	x := &Opened{Inbox: open()}
	for i := range x.Posts {
		link, err := ParseLink(links[i].String())
		if err != nil {
			t.Fatal(err)
		}
		if x.Posts[i], err = dialDirectory(link, "one", 20<<20, false, silent); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Posts[i].Close() })
	}
	return x
}

// beats answers beats, and notes who sent them.
func beats(from *[]string) handler {
	var mu sync.Mutex
	return handler{beat: func(p Player, b Beat) State {
		mu.Lock()
		defer mu.Unlock()
		*from = append(*from, p.Instance+" "+b.Net)
		return State{Net: NetRef{Name: b.Net}}
	}}
}

func dialDir(t *testing.T, link Link, instance string) *dirPost {
	t.Helper()
	p, err := Dial(link, instance, false, silent)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p.(*dirPost)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// takes takes the next delivery, which must be one with that content.
func takes(t *testing.T, inbox Inbox, want string) {
	t.Helper()
	d, err := inbox.Next(t.Context())
	must(t, err)
	if string(d.Data) != want {
		t.Errorf("got %.20q, want %q", d.Data, want)
	}
	must(t, d.Commit(1))
}

// TestDirectoryForgeries: whoever may write into the directory speaks for nobody whose link
// it has not, and what is no message harms nobody.
func TestDirectoryForgeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said, asked := t.TempDir(), &strings.Builder{}, []string{}
		open, links := testDirectory(t, dir, beats(&asked), slog.New(slog.NewTextHandler(said, nil)), "a", "b")
		inbox := open()
		a, b := dialDir(t, links[0], "one"), dialDir(t, links[1], "two")
		write := func(path string, data []byte) {
			t.Helper()
			must(t, os.WriteFile(filepath.Join(dir, path), data, 0o600))
		}
		read := func(path string) []byte {
			t.Helper()
			data, err := os.ReadFile(filepath.Join(dir, path))
			must(t, err)
			return data
		}
		inbox.Close() // what comes now is read later, all at once
		beat := []byte(`{"beat":{"net":"forged"}}`)
		must(t, b.seal(asks, a.player.fileName("x1"), beat, b.sign)) // b speaks for a
		must(t, b.seal(asks, b.player.fileName("x2"), beat, b.sign)) // good, but moved to other places:
		write("asks/"+b.player.fileName("x3"), read("asks/"+b.player.fileName("x2")))
		write("asks/"+a.player.fileName("x4"), read("asks/"+b.player.fileName("x2")))
		write("chunks/"+b.player.fileName("x2"), read("asks/"+b.player.fileName("x2")))
		question := b.player.fileName(chunkName(beat)) // a chunk that reads as a question
		must(t, b.seal(chunks, question, beat, b.sign))
		must(t, os.Rename(filepath.Join(dir, chunks, question), filepath.Join(dir, asks, question)))
		other := Player{Member: b.player.Member, Instance: "a/../b"}
		must(t, b.seal(chunks, b.player.fileName("x5"), []byte("x"), b.sign)) // its name is no chunk's
		for name, data := range map[string]string{
			"README": "x", "..x": "x", "x.y.z": "x", a.player.fileName("e"): "", a.player.fileName("f"): "\x40", a.player.fileName("g"): "\xff", a.player.fileName("h"): strings.Repeat("\x00", 100),
			strings.Replace(other.fileName("x"), "/", "", 2): "x", a.player.fileName(strings.Repeat("n", 90)): "x", "U" + strings.Repeat("A", 55) + ".i.n": "x",
		} {
			write("asks/"+name, []byte(data))
			write("chunks/"+name, []byte(data))
		}
		huge, err := os.Create(filepath.Join(dir, "chunks", a.player.fileName("huge")))
		must(t, err)
		must(t, errors.Join(huge.Truncate(1<<40), huge.Close()))
		secret := filepath.Join(t.TempDir(), "secret")
		must(t, os.WriteFile(secret, read("asks/"+b.player.fileName("x2")), 0o600))
		must(t, os.Symlink(secret, filepath.Join(dir, "asks", b.player.fileName("x6"))))
		must(t, os.MkdirAll(filepath.Join(dir, "asks", a.player.fileName("folder"), "in"), 0o700))
		must(t, os.MkdirAll(filepath.Join(dir, "chunks", a.player.fileName("empty")), 0o700))

		must(t, a.Deliver(t.Context(), []byte("good"), 0))
		inbox = open()
		s, err := a.Beat(t.Context(), Beat{Net: "n"})
		must(t, err)
		if s.Net.Name != "n" {
			t.Errorf("answer %+v", s)
		}
		takes(t, inbox, "good")
		if v := <-a.Verdicts(); v.Sum != SumOf([]byte("good")) {
			t.Errorf("verdict %+v", v)
		}
		time.Sleep(time.Minute)
		if want := []string{"one n", "two forged"}; !slices.Equal(slices.Sorted(slices.Values(asked)), want) {
			t.Errorf("the run was asked %q, want %q", asked, want)
		}
		for folder, want := range map[string][]string{asks: {"..x", a.player.fileName("folder")}, chunks: {"..x"}} {
			var names []string
			entries, err := os.ReadDir(filepath.Join(dir, folder))
			must(t, err)
			for _, e := range entries {
				names = append(names, e.Name())
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s has %q, want %q", folder, names, want)
			}
		}
		must(t, errors.Join(os.RemoveAll(filepath.Join(dir, "asks", "..x")), os.Remove(secret))) // both are still there
		if n := strings.Count(said.String(), "level=WARN"); n != 2 {
			t.Errorf("%d warnings, want one for each folder:\n%s", n, said)
		}

		// What others say in the run's name.
		must(t, b.Deliver(t.Context(), []byte("b's"), 0))
		sum := SumOf([]byte("b's"))
		must(t, a.seal(verdicts, b.player.fileName(sum), []byte(`{"sum":"`+sum+`"}`), a.sign))
		time.Sleep(10 * time.Second)
		select {
		case v := <-b.Verdicts():
			t.Errorf("a forged verdict: %+v", v)
		default:
		}
		takes(t, inbox, "b's")
		if v := <-b.Verdicts(); v.Sum != sum || v.Games != 1 {
			t.Errorf("verdict %+v", v)
		}
		must(t, inbox.Close())
		go func() { // an answer of b to a's question
			for {
				if names, err := a.list(asks); err != nil || len(names) > 1 { // the folder is there
					i := slices.IndexFunc(names, func(name string) bool {
						return strings.HasPrefix(name, a.player.fileName("")) && !strings.HasSuffix(name, "folder")
					})
					b.seal(answers, names[i], []byte(`{"refused":"forged"}`), b.sign)
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		if s, err := a.Beat(t.Context(), Beat{}); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("a forged answer: %+v, %v", s, err)
		}
		if names, err := a.list(answers); err != nil || strings.Contains(strings.Join(names, " "), a.player.fileName("")) {
			t.Errorf("answers %q, %v", names, err)
		}
	})
}

// TestDirectoryIsHeld: one process has a directory at a time, and one run for ever. What waits
// there outlives it.
func TestDirectoryIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new", "mail")
		var asked []string
		open, links := testDirectory(t, dir, beats(&asked), silent, "a")
		if _, err := Dial(links[0], "one", false, silent); err == nil || !strings.Contains(err.Error(), "is "+links[0].Address+" mounted here") {
			t.Errorf("no directory: %v", err)
		}
		if _, err := Dial(links[0], "a b", true, silent); err == nil {
			t.Error("a player's name is none")
		}
		patient, err := Dial(links[0], "patient", true, silent)
		must(t, err)
		defer patient.Close()
		if _, err := patient.Beat(t.Context(), Beat{}); !errors.Is(err, ErrNoAnswer) {
			t.Errorf("no directory: %v", err)
		}
		inbox := open()
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if _, err := patient.Beat(t.Context(), Beat{}); err != nil {
			t.Errorf("a player that was patient: %v", err)
		}
		other, err := NewKey(time.Now())
		must(t, err)
		if _, err := OpenDirectory(DirectoryOptions{Dir: dir, Key: other, Log: silent}, handler{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is held by process %d", os.Getpid())) {
			t.Errorf("a second inbox: %v", err)
		}
		p := dialDir(t, links[0], "one")
		nets := KeptNets + 2
		net := func(i int) (NetRef, []byte) {
			file := fmt.Append(nil, "the net ", i)
			return NewNetRef("n", file), file
		}
		for i := range nets {
			r, file := net(i)
			must(t, inbox.Publish(t.Context(), r, file))
			path := filepath.Join(dir, "nets", r.SHA256+netSuffix)
			made := time.Now().Add(time.Duration(i) * time.Second) // of the file system's clock
			must(t, os.Chtimes(path, made, made))
		}
		must(t, p.Deliver(t.Context(), []byte("waits"), 0))
		d, err := inbox.Next(t.Context()) // that nobody settles
		must(t, err)
		must(t, inbox.Close())
		if _, err := inbox.Next(t.Context()); err == nil {
			t.Error("a delivery of a closed inbox")
		}
		if _, err := OpenDirectory(DirectoryOptions{Dir: dir, Key: other, Log: silent}, handler{}); err == nil || !strings.Contains(err.Error(), "is another run's") {
			t.Errorf("another run: %v", err)
		}
		wrong := links[0]
		wrong.Pin = strings.Repeat("x", 32)
		if _, err := Dial(wrong, "one", true, silent); !errors.Is(err, errOtherKey) || !errors.Is(wrong.Reach(), errOtherKey) {
			t.Errorf("a link of another run: %v", err)
		}
		began := time.Now()
		inbox = open()
		takes(t, inbox, string(d.Data))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("after a restart a chunk comes after %v", took)
		}
		for i := range nets { // those that were kept stay until newer ones come
			r, _ := net(i)
			if _, err := p.Fetch(t.Context(), r); errors.Is(err, ErrNoNet) != (i < nets-KeptNets) || err != nil && !errors.Is(err, ErrNoNet) {
				t.Errorf("net %d: %v", i, err)
			}
		}
		r, file := net(nets)
		must(t, inbox.Store(t.Context(), r, file))
		r, _ = net(nets - KeptNets)
		if _, err := p.Fetch(t.Context(), r); !errors.Is(err, ErrNoNet) {
			t.Errorf("an old net after a newer one came: %v", err)
		}
		r, _ = net(nets - 1)
		must(t, os.WriteFile(filepath.Join(dir, "nets", r.SHA256+netSuffix), []byte("net X"), 0o600))
		if _, err := p.Fetch(t.Context(), r); err == nil || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("a net that was altered: %v", err)
		}
	})
}

// TestDirectoryIsAway: a directory that goes away and comes back, and folders that somebody
// removes.
func TestDirectoryIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, said := filepath.Join(t.TempDir(), "mail"), &strings.Builder{}
		var asked []string
		open, links := testDirectory(t, dir, beats(&asked), slog.New(slog.NewTextHandler(said, nil)), "a")
		inbox := open()
		file := []byte("net")
		r := NewNetRef("n", file)
		must(t, inbox.Publish(t.Context(), r, file))
		p := dialDir(t, links[0], "one")
		must(t, os.Rename(dir, dir+"2"))
		began := time.Now()
		if _, err := p.Beat(t.Context(), Beat{}); !errors.Is(err, ErrNoAnswer) || time.Since(began) > time.Second {
			t.Errorf("asked in no directory: %v, after %v", err, time.Since(began))
		}
		if err := p.Deliver(t.Context(), []byte("x"), 0); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("delivered into no directory: %v", err)
		}
		time.Sleep(10 * time.Minute)
		if _, err := os.Stat(dir); err == nil {
			t.Error("the inbox made a directory that was away")
		}
		must(t, os.Rename(dir+"2", dir))
		all := func(chunk string) {
			t.Helper()
			if _, err := p.Beat(t.Context(), Beat{}); err != nil {
				t.Error(err)
			}
			must(t, p.Deliver(t.Context(), []byte(chunk), 0))
			takes(t, inbox, chunk)
			if v := <-p.Verdicts(); v.Sum != SumOf([]byte(chunk)) {
				t.Errorf("verdict %+v", v)
			}
			_, err := p.Fetch(t.Context(), r)
			must(t, err)
		}
		all("one")
		for _, folder := range []string{asks, answers, chunks, verdicts, nets} {
			must(t, os.RemoveAll(filepath.Join(dir, folder)))
		}
		must(t, os.Remove(filepath.Join(dir, keyFile)))
		time.Sleep(10 * time.Second)
		all("two")
		must(t, os.RemoveAll(filepath.Join(dir, answers)))
		must(t, os.RemoveAll(filepath.Join(dir, verdicts)))
		time.Sleep(2 * time.Minute)
		all("three")
		for _, text := range []string{"cannot be read; players wait", "fleet is back"} {
			if n := strings.Count(said.String(), text); n != 2 { // one each for the two folders
				t.Errorf("%q was said %d times\n%s", text, n, said)
			}
		}
	})
}

// TestDirectoryTimes: what is not settled comes again, what nobody answers is taken back, and
// what nobody takes is removed.
func TestDirectoryTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var asked []string
		open, links := testDirectory(t, dir, beats(&asked), silent, "a")
		inbox := open()
		p := dialDir(t, links[0], "one")
		must(t, p.Deliver(t.Context(), []byte("x"), 0))
		first, err := inbox.Next(t.Context())
		must(t, err)
		began := time.Now()
		second, err := inbox.Next(t.Context())
		must(t, err)
		if d := time.Since(began); second.Sum() != first.Sum() || d < ackWait || d > ackWait+5*time.Second {
			t.Errorf("a chunk that is not settled comes after %v", d)
		}
		must(t, second.Reject("no"))
		must(t, first.Commit(1)) // late: the file is gone
		<-p.Verdicts()
		p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 10*ackWait)
		defer cancel()
		if d, err := inbox.Next(ctx); err == nil {
			t.Errorf("a chunk that was settled comes again: %q", d.Data)
		}

		must(t, os.WriteFile(filepath.Join(dir, answers, p.player.fileName("x")), nil, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, verdicts, p.player.fileName("x")), nil, 0o600))
		files := func(folder string) int {
			names, err := p.list(folder)
			must(t, err)
			return len(names)
		}
		for _, step := range []struct {
			wait              time.Duration
			answers, verdicts int
		}{{keptAnswer - time.Minute, 1, 1}, {3 * time.Minute, 0, 1}, {keptVerdict - 15*time.Minute, 0, 1}, {5 * time.Minute, 0, 0}} {
			if time.Sleep(step.wait); files(answers) != step.answers || files(verdicts) != step.verdicts {
				t.Errorf("after %v more: %d answers and %d verdicts, want %d and %d", step.wait, files(answers), files(verdicts), step.answers, step.verdicts)
			}
		}

		must(t, inbox.Close())
		began = time.Now()
		if _, err := p.Beat(t.Context(), Beat{}); !errors.Is(err, ErrNoAnswer) || time.Since(began) < answerTime || time.Since(began) > answerTime+time.Second || files(asks) > 0 {
			t.Errorf("no inbox: %v after %v, %d questions", err, time.Since(began), files(asks))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Beat(short, Beat{}); !errors.Is(err, ErrNoAnswer) || files(asks) > 0 {
			t.Errorf("no time: %v", err)
		}
		late := make(chan error)
		go func() { // the run comes while a player waits
			_, err := p.Beat(t.Context(), Beat{})
			late <- err
		}()
		time.Sleep(time.Second)
		must(t, os.RemoveAll(filepath.Join(dir, asks))) // with its question
		must(t, os.Mkdir(filepath.Join(dir, asks), 0o700))
		time.Sleep(answerTime / 2)
		open()
		if err := <-late; err != nil {
			t.Errorf("the run came: %v", err)
		}
	})
}
