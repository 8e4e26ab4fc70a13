package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/chessbrain/chessbrain/internal/fsx"
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
	if runtime.GOOS != "windows" && len(base)+len("/"+roomPrefix+"1234567890")+socketTail > maxSocketPath {
		base = "/tmp" // no socket would have room below such a long name
	}
	sweep(base)
	dir, err := os.MkdirTemp(base, roomPrefix) // 0700
	if err != nil {
		return err
	}
	lock := filepath.Join(dir, roomLock)
	f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	err = fsx.TryLock(f, false)
	if _, gone := os.Stat(lock); gone != nil || errors.Is(err, fsx.ErrHeld) { // another host swept it before it had its lock
		return errors.Join(f.Close(), r.open())
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
		f, err := os.OpenFile(filepath.Join(dir, roomLock), os.O_RDWR|noFollow, 0)
		if err != nil {
			continue // another user's, or just being made
		}
		if fsx.TryLock(f, false) == nil && mine(dir) {
			os.RemoveAll(dir)
		}
		f.Close()
	}
}

// close removes the directory. A later add makes a new one.
func (r *rooms) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == "" {
		return nil
	}
	err := errors.Join(r.lock.Close(), os.RemoveAll(r.dir)) // Windows removes no open file
	r.dir, r.lock = "", nil
	return err
}
