package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

const (
	roomPrefix = "chessbrain-plugins-"
	roomLock   = "lock"

	// maxSocketPath is what every system takes for the path of a Unix socket;
	// socketTail is the room that names below a process's directory need:
	// "/plugin-dir" and "/plugin", each with up to ten digits.
	maxSocketPath = 103
	socketTail    = len("/9999999/plugin-dir1234567890/plugin1234567890")
)

// rooms is a private directory with a sub-directory for each process: its copy
// of the program and its socket. A flock in it, which ends with this process,
// tells later hosts what was left behind by one that was killed.
type rooms struct {
	mu   sync.Mutex
	dir  string // "" = not made yet
	lock *os.File
	next int
}

// add makes an empty directory for one process.
func (r *rooms) add() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == "" {
		if err := r.open(); err != nil {
			return "", fmt.Errorf("private directory for plugins: %w", err)
		}
	}
	r.next++
	dir := filepath.Join(r.dir, strconv.Itoa(r.next))
	return dir, os.Mkdir(dir, 0o700)
}

// open makes and locks the directory, and removes those whose owners are gone.
func (r *rooms) open() error {
	base := os.TempDir()
	if len(base)+len("/"+roomPrefix+"1234567890")+socketTail > maxSocketPath {
		base = "/tmp" // no socket would have room below such a long name
	}
	sweep(base)
	dir, err := os.MkdirTemp(base, roomPrefix) // 0700
	if err != nil {
		return err
	}
	// Locked under another name first: nobody finds the lock file without a lock.
	unborn := filepath.Join(dir, roomLock+".new")
	f, err := os.OpenFile(unborn, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err = flock(f); err == nil {
		err = os.Rename(unborn, filepath.Join(dir, roomLock))
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.RemoveAll(dir))
	}
	r.dir, r.lock = dir, f
	return nil
}

// sweep removes the directories of hosts that were killed. What cannot be
// removed stays: it is in nobody's way.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, roomPrefix+"*"))
	for _, dir := range dirs {
		f, err := os.OpenFile(filepath.Join(dir, roomLock), os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue // another user's, or just being made
		}
		if flock(f) == nil && mine(dir) {
			os.RemoveAll(dir)
		}
		f.Close()
	}
}

// mine says whether path is a directory of this user.
func mine(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// flock takes the lock of an open file, or fails at once.
func flock(f *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}

// close removes the directory. A later add makes a new one.
func (r *rooms) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == "" {
		return nil
	}
	err := errors.Join(os.RemoveAll(r.dir), r.lock.Close())
	r.dir, r.lock = "", nil
	return err
}
