package fsx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const helperEnv = "FSX_TEST_LOCK"

// TestMain lets the test binary play the second process: it takes the lock
// named in the environment, says "held" or "refused HOST PID", and keeps it
// until its input ends; or it writes a file until then.
func TestMain(m *testing.M) {
	path := os.Getenv(helperEnv)
	if os.Getenv(helperEnv+"_WRITE") != "" {
		WriteDir(OS, path, func(tmp string) error {
			return WriteFileFunc(OS, filepath.Join(tmp, "file"), func(io.Writer) error {
				fmt.Println("writing")
				bufio.NewReader(os.Stdin).ReadString('\n')
				return nil
			})
		})
		return
	}
	if path == "" {
		os.Exit(m.Run())
	}
	l, err := Acquire(path, LockOptions{Command: "helper", Shared: os.Getenv(helperEnv+"_SHARED") != ""})
	var locked *LockedError
	switch {
	case errors.As(err, &locked):
		fmt.Printf("refused %s %d\n", locked.Owner.Host, locked.Owner.PID)
		os.Exit(2)
	case err != nil:
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadString('\n')
	l.Release()
	os.Exit(0)
}

// TestAcquireWithin: a lock that is held is refused at once or after its holder has
// let go, as asked; the context ends the wait.
func TestAcquireWithin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "role")
	first, err := Acquire(path, LockOptions{Command: "first"})
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := AcquireWithin(t.Context(), path, LockOptions{}, 0); !errors.As(err, &locked) || locked.Owner.Command != "first" {
		t.Errorf("without a wait: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AcquireWithin(ctx, path, LockOptions{}, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	waited := make(chan error, 1)
	go func() {
		l, err := AcquireWithin(t.Context(), path, LockOptions{}, time.Hour)
		if err == nil {
			err = l.Release()
		}
		waited <- err
	}()
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("with a wait: %v", err)
	}
}

// second starts the helper and returns its first line and a way to end it:
// kill it, or let it release the lock.
func second(t *testing.T, path string, shared bool) (line string, end func(kill bool)) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), helperEnv+"="+path)
	if shared {
		cmd.Env = append(cmd.Env, helperEnv+"_SHARED=1")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("helper: %v", err)
	}
	return line, func(kill bool) {
		if kill {
			cmd.Process.Kill()
		}
		in.Close()
		cmd.Wait()
	}
}

// TestRemoveDead: what a living process is writing stays, what a killed one of this machine
// left goes at once, and what nobody knows of after an hour.
func TestRemoveDead(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	t.Setenv(helperEnv+"_WRITE", "1")
	if err := MkdirAll(OS, filepath.Join(deep, "c")); err != nil {
		t.Fatal(err)
	}
	_, end := second(t, filepath.Join(deep, "net"), false)
	own, err := MkdirTemp(OS, filepath.Join(dir, "own"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{filepath.Base(own): true, "a": true} // and whether it stays
	put := func(name string, ago time.Duration, stays bool) {
		names[name] = stays
		path, at := filepath.Join(dir, name), time.Now().Add(-ago)
		if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	put(".x.1-1-00000000.partial", time.Minute, true)                                             // of another machine
	put(".x.1-2-00000000.partial", 2*time.Hour, false)                                            //
	put(".x.1-3.partial", time.Minute, true)                                                      // of an earlier program
	put(".x.1-4.partial", 2*time.Hour, false)                                                     //
	put(fmt.Sprintf(".x.%d-5-%s.partial", os.Getppid(), machine()+boot()), 2*time.Hour, true)     // of one that lives
	put(fmt.Sprintf(".x.%d-99999-%s.partial", os.Getpid(), machine()+boot()), 2*time.Hour, false) // of one that had our number
	put(fmt.Sprintf(".x.%d-6-%s00000000.partial", os.Getppid(), machine()), time.Minute, false)   // of before this machine was started
	put(fmt.Sprintf(".x.%d-7-00000000%s.partial", os.Getppid(), boot()), time.Minute, true)       // of another machine
	put(".x.old.partial", 2*time.Hour, true)                                                      // of who knows its mark
	put("x.1-6.partial", 2*time.Hour, true)                                                       // no temporary name
	check := func(inDeep int) {
		t.Helper()
		if err := RemoveDead(OS, dir, 2); err != nil {
			t.Error(err)
		}
		for name, stays := range names {
			if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != stays {
				t.Errorf("%s: %v, stays: %v", name, err, stays)
			}
		}
		if entries, err := os.ReadDir(deep); err != nil || len(entries) != 1+inDeep {
			t.Errorf("below it are %v, %v", entries, err)
		}
	}
	check(1)
	end(true)
	if err := RemoveDead(OS, dir, 1); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(deep); len(entries) != 2 {
		t.Errorf("one level below it are %v", entries)
	}
	check(0)
	if err := RemoveDead(OS, filepath.Join(dir, "none"), 0); err != nil {
		t.Errorf("no directory: %v", err)
	}
}

func TestLockSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trainer.lock")
	l, err := Acquire(path, LockOptions{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if l.HeartbeatOnly() {
		t.Skip("this file system has no flock")
	}
	host, _ := os.Hostname()
	line, end := second(t, path, false)
	end(false)
	if want := fmt.Sprintf("refused %s %d\n", host, os.Getpid()); line != want {
		t.Errorf("second process says %q, want %q", line, want)
	}
	if err := l.SetSocket("/tmp/second.sock"); err != nil {
		t.Error(err)
	}
	owners, err := Owners(path)
	if err != nil || len(owners) != 1 || owners[0].Socket != "/tmp/second.sock" || owners[0].Command != "test" {
		t.Errorf("owners %+v, %v", owners, err)
	}
	if err := errors.Join(l.Release(), l.Release()); err != nil {
		t.Errorf("Release: %v", err)
	}
	line, end = second(t, path, false)
	if line != "held\n" {
		t.Errorf("after Release the second process says %q", line)
	}
	var locked *LockedError
	if _, err := Acquire(path, LockOptions{}); !errors.As(err, &locked) || locked.Owner.PID == os.Getpid() || locked.Owner.Command != "helper" {
		t.Errorf("the helper holds the lock, and Acquire says %v", err)
	}
	end(true) // SIGKILL: its owner file stays behind
	l, err = Acquire(path, LockOptions{Command: "test"})
	if err != nil {
		t.Fatalf("after the holder was killed: %v", err)
	}
	if owners, _ := Owners(path); len(owners) != 1 || owners[0].PID != os.Getpid() {
		t.Errorf("owners after taking over: %+v", owners)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// TestLockRemove: a lock whose file is removed with it is held by one at a time, whichever
// file the others have open, and leaves nothing.
func TestLockRemove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	owner := newOwner(LockOptions{}, time.Now(), false) // so that nobody waits for one to appear
	if err := owner.write(owner.file(path)); err != nil {
		t.Fatal(err)
	}
	var held atomic.Int32
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 5000 {
				l := &Lock{path: path, ownerPath: filepath.Join(dir, "none"), now: time.Now, stop: make(chan struct{})}
				if l.flock(false) != nil {
					continue // another holds it
				}
				if held.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				runtime.Gosched()
				held.Add(-1)
				if err := l.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v; want the owner's file alone", left, err)
	}
}

func TestLockShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.lock")
	l, err := Acquire(path, LockOptions{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	line, end := second(t, path, true)
	if line != "held\n" {
		t.Errorf("second shared holder says %q", line)
	}
	if owners, _ := Owners(path); len(owners) != 2 {
		t.Errorf("%d owners, want 2", len(owners))
	}
	var locked *LockedError
	if _, err := Acquire(path, LockOptions{}); !errors.As(err, &locked) {
		t.Errorf("exclusive beside shared: %v", err)
	}
	end(false)
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	l, err = Acquire(path, LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path, LockOptions{Shared: true}); !errors.As(err, &locked) || locked.Owner.PID != os.Getpid() {
		t.Errorf("shared beside exclusive: %v", err)
	}
	l.Release()
}

// TestLockHeartbeat: without flock the heartbeat decides, and an owner of
// another machine that has not written for 60 s is dead.
func TestLockHeartbeat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trainer.lock")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	opt := LockOptions{HeartbeatOnly: true, now: func() time.Time { return now }}
	foreign := Owner{Host: "elsewhere", PID: 77, BootID: "other", Started: now, Heartbeat: now, HeartbeatOnly: true}
	if err := foreign.write(foreign.file(path)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		age  time.Duration
		held bool
	}{{0, true}, {59 * time.Second, true}, {60 * time.Second, false}} {
		now = foreign.Heartbeat.Add(c.age)
		l, err := Acquire(path, opt)
		var locked *LockedError
		if errors.As(err, &locked) != c.held || (err != nil) != c.held {
			t.Errorf("heartbeat of %v ago: %v, want held = %v", c.age, err, c.held)
		}
		if c.held && locked != nil && (locked.Owner.Host != "elsewhere" || locked.Owner.PID != 77) {
			t.Errorf("holder %+v", locked.Owner)
		}
		if l != nil {
			if !l.HeartbeatOnly() {
				t.Error("the lock does not say that it rests on heartbeats")
			}
			os.Remove(l.ownerPath) // as another machine does that thinks this process dead
			if err := l.refresh(); !errors.Is(err, errLost) {
				t.Errorf("refresh of a lock that was taken over: %v", err)
			}
			l.Release()
		}
	}
}

// TestOwnerAlive: on this machine the process table and the boot id decide.
func TestOwnerAlive(t *testing.T) {
	now := time.Now()
	self := newOwner(LockOptions{}, now, false)
	if self.BootID == "" {
		t.Skip("no boot id on this system")
	}
	old := self
	old.Heartbeat = now.Add(-time.Hour)
	otherBoot := self
	otherBoot.BootID = "before"
	gone := self
	gone.PID = 1<<22 + 1 // above the largest process id of Linux
	elsewhere := func(ahead time.Duration) Owner {
		o := self
		o.Host, o.Heartbeat = "another", now.Add(ahead)
		return o
	}
	for name, c := range map[string]struct {
		owner Owner
		alive bool
	}{
		"this process": {self, true}, "suspended for an hour": {old, true},
		"before the machine started": {otherBoot, false}, "process gone": {gone, false},
		"elsewhere": {elsewhere(-time.Second), true}, "elsewhere, silent": {elsewhere(-2 * time.Minute), false},
		"elsewhere, clock ahead": {elsewhere(10 * time.Minute), true}, "elsewhere, from next year": {elsewhere(8760 * time.Hour), false},
	} {
		if got := c.owner.alive(now); got != c.alive {
			t.Errorf("%s: alive = %v, want %v", name, got, c.alive)
		}
	}
}
