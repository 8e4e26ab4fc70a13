package cycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// Process is one holder of a role's lock.
type Process struct {
	Role    string          `json:"role"` // name of the lock: trainer-main, selfplay-p1, gatekeeper, ...
	Host    string          `json:"host"`
	PID     int             `json:"pid"`
	Command string          `json:"command"`
	Started time.Time       `json:"started"`
	Page    json.RawMessage `json:"page,omitempty"`  // what it answers to status
	Error   string          `json:"error,omitempty"` // why it does not
}

// askFor is how long a process has to answer.
const askFor = 2 * time.Second

// readProcesses returns who holds the locks in dir now, by role and start, and asks
// each over its control socket, all at the same time.
func readProcesses(ctx context.Context, dir string) ([]Process, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", err)
	}
	var all []Process
	var sockets []string
	last := ""
	for _, e := range entries { // sorted by name, so a role's owners are together
		role, _, ok := strings.Cut(e.Name(), ".owner.")
		if !ok || role == last || strings.HasPrefix(role, ".") {
			continue
		}
		last = role
		owners, err := fsx.Owners(filepath.Join(dir, role))
		if err != nil {
			return nil, fmt.Errorf("read locks: %w", err)
		}
		for _, o := range owners {
			all = append(all, Process{Role: role, Host: o.Host, PID: o.PID, Command: o.Command, Started: o.Started.UTC()})
			sockets = append(sockets, o.Socket)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var group errgroup.Group
	for i := range all {
		if sockets[i] == "" {
			continue
		}
		group.Go(func() error {
			err := run.Send(ctx, sockets[i], "status", func(m run.Message) error { all[i].Page = m.Payload; return nil })
			if err == nil && all[i].Page == nil {
				err = context.DeadlineExceeded
			}
			if err != nil {
				all[i].Error = fmt.Sprintf("does not answer (on another machine, or busy): %v", err)
			}
			return nil
		})
	}
	return all, group.Wait()
}

// pageOf decodes the page of the first process whose role has the prefix; false
// where none answers.
func (s *Status) pageOf(prefix string, page any) bool {
	for _, p := range s.Processes {
		if strings.HasPrefix(p.Role, prefix) && p.Page != nil && json.Unmarshal(p.Page, page) == nil {
			return true
		}
	}
	return false
}

// holds says whether somebody holds a role whose name has the prefix.
func (s *Status) holds(prefix string) bool {
	for _, p := range s.Processes {
		if strings.HasPrefix(p.Role, prefix) {
			return true
		}
	}
	return false
}
