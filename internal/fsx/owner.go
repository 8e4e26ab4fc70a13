package fsx

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chessbrain/chessbrain/internal/spawn"
)

// Owner says who holds a lock. It stands as JSON in <lock>.owner.<host>-<pid>-<n>.
type Owner struct {
	Host          string    `json:"host"`
	PID           int       `json:"pid"`
	BootID        string    `json:"boot_id,omitempty"` // changes when the machine starts; empty = not known
	Command       string    `json:"command"`
	Started       time.Time `json:"started"`
	Heartbeat     time.Time `json:"heartbeat"` // rewritten every 10 s; stale after 60 s
	Socket        string    `json:"socket,omitempty"`
	Shared        bool      `json:"shared"`
	HeartbeatOnly bool      `json:"heartbeat_only,omitempty"` // no flock behind it
	Number        uint64    `json:"number"`                   // tells locks of one process apart
}

// ownerMark follows the lock's name in the names of its owner files.
const ownerMark = ".owner."

var ownerCounter atomic.Uint64

// newOwner describes this process.
func newOwner(o LockOptions, now time.Time, heartbeatOnly bool) Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Owner{Host: host, PID: os.Getpid(), BootID: bootID(), Command: o.Command, Started: now, Heartbeat: now,
		Shared: o.Shared, HeartbeatOnly: heartbeatOnly, Number: ownerCounter.Add(1)}
}

// bootID changes with every start of the machine; empty where not known, as beside Linux.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// machine tells the machines, and containers, of a shared directory apart, and boot the
// starts of each: within one the number of a process means something.
var (
	machine = sync.OnceValue(func() string {
		host, _ := os.Hostname()
		space, _ := os.Readlink("/proc/self/ns/pid")
		return hash(host + space)
	})
	boot = sync.OnceValue(func() string { return hash(bootID()) })
)

func hash(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// file is the path of the owner file for the lock at path.
func (o *Owner) file(path string) string {
	host := strings.NewReplacer("/", "_", "\x00", "_").Replace(o.Host)
	return filepath.Clean(path) + fmt.Sprintf("%s%s-%d-%d", ownerMark, host, o.PID, o.Number)
}

// write replaces the owner file. It need not outlast a crash: after one nobody holds the
// lock.
func (o *Owner) write(file string) error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return WriteUnsynced(file, append(data, '\n'))
}

// alive says whether the owner may still be running. On this machine the
// process table knows; elsewhere the heartbeat decides. One from the far future
// was written under a wrong clock: it would hold the lock until then.
func (o *Owner) alive(now time.Time) bool {
	host, err := os.Hostname()
	if err == nil && host == o.Host && o.BootID != "" {
		if boot := bootID(); boot != "" && boot != o.BootID {
			return false // the machine was started again since
		} else if boot == o.BootID && !o.HeartbeatOnly {
			return !spawn.Gone(o.PID)
		}
	}
	age := now.Sub(o.Heartbeat)
	return age < heartbeatStale && age > -heartbeatAhead
}

// readOwners returns the owners whose files lie beside the lock, in the order
// of their start. A file that is no owner file is left out.
func readOwners(path string) ([]Owner, error) {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var owners []Owner
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(path)+ownerMark) {
			continue
		}
		file := filepath.Join(dir, e.Name())
		data, err := ReadFile(OS, file)
		if errors.Is(err, os.ErrNotExist) {
			continue // released since
		}
		if err != nil {
			return nil, err
		}
		var o Owner
		if json.Unmarshal(data, &o) == nil && o.file(path) == file {
			owners = append(owners, o)
		}
	}
	slices.SortFunc(owners, func(a, b Owner) int { return a.Started.Compare(b.Started) })
	return owners, nil
}
