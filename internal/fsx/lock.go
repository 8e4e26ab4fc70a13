package fsx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	heartbeatEvery = 10 * time.Second
	heartbeatStale = 60 * time.Second
	heartbeatAhead = time.Hour // clocks of two machines differ by less
)

// LockOptions say who takes a lock and how.
type LockOptions struct {
	Shared  bool   // several shared holders, or one exclusive
	Command string // for the message that others see, e.g. "chessbrain train"

	// HeartbeatOnly leaves flock out, as for a network file system whose flock
	// is not to be trusted. A holder that is suspended for more than a minute
	// loses the lock.
	HeartbeatOnly bool

	now func() time.Time // nil = time.Now
}

// Lock is a held lock. Safe for concurrent use.
type Lock struct {
	path      string // the lock file
	ownerPath string
	file      *os.File // carries the flock; nil in heartbeat mode
	now       func() time.Time

	mu    sync.Mutex
	owner Owner

	stop  chan struct{}
	beats sync.WaitGroup
	lost  chan struct{}
	once  sync.Once
}

// Acquire takes the lock at path without waiting. Its directory must exist. If
// another process (or another Lock of this one) holds it, the error is a
// *LockedError. Where the file system has no flock, the owners' heartbeats
// decide: Lock.HeartbeatOnly says so. The lock ends with Release, or with the
// process.
func Acquire(path string, o LockOptions) (*Lock, error) {
	now := o.now
	if now == nil {
		now = time.Now
	}
	l := &Lock{path: path, now: now, stop: make(chan struct{}), lost: make(chan struct{})}
	if !o.HeartbeatOnly {
		if err := l.flock(o.Shared); err != nil {
			return nil, err
		}
	}
	l.owner = newOwner(o, now(), l.file == nil)
	l.ownerPath = l.owner.file(path)
	if err := l.enter(); err != nil {
		if l.file != nil {
			l.file.Close()
		}
		return nil, err
	}
	l.beats.Go(l.beat)
	return l, nil
}

// retryEvery is how often a lock that is held is tried again.
const retryEvery = time.Second

// AcquireWithin is Acquire that waits for a lock that is held, but no longer than
// the given time; 0 = not at all. ctx ends the wait with its error.
func AcquireWithin(ctx context.Context, path string, o LockOptions, wait time.Duration) (*Lock, error) {
	deadline := time.Now().Add(wait)
	for {
		l, err := Acquire(path, o)
		if _, held := errors.AsType[*LockedError](err); !held || !time.Now().Before(deadline) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryEvery):
		}
	}
}

// flock opens and locks the lock file, again where Remove took it away meanwhile: others
// would lock a new one. It leaves l.file nil where flock is not supported.
func (l *Lock) flock(shared bool) error {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if err = TryLock(f, shared); err == nil && samePlace(f, l.path) {
		l.file = f
		return nil
	}
	closeErr := f.Close()
	if err == nil {
		return l.flock(shared)
	}
	switch err {
	case ErrHeld:
		return &LockedError{Path: l.path, Owner: holder(l.path, shared, l.now())}
	case ErrNoLocks:
		return closeErr
	}
	return fmt.Errorf("lock %s: %w", l.path, err)
}

// samePlace says whether path still names the open file f.
func samePlace(f *os.File, path string) bool {
	opened, err := f.Stat()
	named, there := os.Stat(path)
	return err == nil && there == nil && os.SameFile(opened, named)
}

// enter writes the owner file and looks for owners that stand against it. It
// writes first and looks second: of two that come at once at least one sees
// the other, and whoever sees another gives way.
func (l *Lock) enter() error {
	var others []Owner
	err := l.owner.write(l.ownerPath)
	if err == nil {
		others, err = readOwners(l.path)
	}
	if err != nil {
		os.Remove(l.ownerPath)
		return fmt.Errorf("lock %s: %w", l.path, err)
	}
	for _, other := range others {
		if other.file(l.path) == l.ownerPath || l.owner.Shared && other.Shared {
			continue
		}
		// Under flock only a heartbeat-only owner can still be there; all else
		// is the remains of a process that was killed.
		if (l.file == nil || other.HeartbeatOnly) && other.alive(l.now()) {
			os.Remove(l.ownerPath)
			return &LockedError{Path: l.path, Owner: other}
		}
		os.Remove(other.file(l.path))
	}
	return nil
}

// beat rewrites the owner file until Release.
func (l *Lock) beat() {
	ticks := time.Tick(heartbeatEvery)
	for {
		select {
		case <-l.stop:
			return
		case <-ticks:
			if errors.Is(l.refresh(), errLost) {
				close(l.lost)
				return
			}
		}
	}
}

var errLost = errors.New("the owner file is gone")

// refresh writes the owner file with a new heartbeat. A full disk is not a
// reason to give the lock up, so only a file that someone removed counts.
func (l *Lock) refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := os.Stat(l.ownerPath); errors.Is(err, os.ErrNotExist) && l.file == nil {
		return errLost
	}
	l.owner.Heartbeat = l.now()
	return l.owner.write(l.ownerPath)
}

// SetSocket puts the path of the control socket into the owner file.
func (l *Lock) SetSocket(path string) error {
	l.mu.Lock()
	l.owner.Socket = path
	l.mu.Unlock()
	return l.refresh()
}

// HeartbeatOnly says that no flock stands behind this lock: it rests on
// heartbeats, and the user should be told.
func (l *Lock) HeartbeatOnly() bool { return l.file == nil }

// Lost is closed when a heartbeat-only lock was taken over by someone who
// thought this process dead: it must stop writing.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Release gives the lock up; its file stays. A second Release does nothing.
func (l *Lock) Release() error { return l.release(false) }

// Remove is Release that leaves no file. The lock must not be a shared one.
func (l *Lock) Remove() error { return l.release(true) }

func (l *Lock) release(remove bool) error {
	var err error
	l.once.Do(func() {
		close(l.stop)
		l.beats.Wait()
		err = os.Remove(l.ownerPath)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		stays := remove && os.Remove(l.path) != nil // Windows removes no open file
		if l.file != nil {
			err = errors.Join(err, l.file.Close())
		}
		if stays {
			os.Remove(l.path) // fails where the next one has it open
		}
	})
	return err
}

// holder returns an owner that keeps others from taking the lock. The owner
// file is written after the flock, so a short moment without one is waited out.
func holder(path string, shared bool, now time.Time) Owner {
	for range 20 {
		owners, err := alive(path, now)
		if err != nil {
			break
		}
		for _, o := range slices.Backward(owners) {
			if !shared || !o.Shared {
				return o
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return Owner{}
}

// Owners returns those who hold the lock at path now, as far as their owner
// files say: for status commands and to find a control socket.
func Owners(path string) ([]Owner, error) { return alive(path, time.Now()) }

func alive(path string, now time.Time) ([]Owner, error) {
	all, err := readOwners(path)
	return slices.DeleteFunc(all, func(o Owner) bool { return !o.alive(now) }), err
}
