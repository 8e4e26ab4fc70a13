package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
)

// settle makes a decision durable and carries it out: for an accepted net the
// directory of its games, then its files go to models/ or rejectedmodels/, the
// net file last. After a kill in between the next start finds the result and
// settles it again.
func (g *gatekeeper) settle(candidate *run.NetFile, r *Result) error {
	err := g.process.Held()
	if err != nil {
		return err
	}
	dir := g.matchDir(r.Candidate)
	if r.Files == nil {
		if r.Files, err = filesOf(candidate); err != nil {
			return err
		}
		if err := r.write(dir); err != nil {
			return err
		}
	}
	to := g.dirs.Rejected
	if r.Accepted {
		to = g.dirs.Accepted
		if err := fsx.MkdirAll(fsx.OS, filepath.Join(g.dirs.SelfPlay, r.Candidate)); err != nil {
			return fmt.Errorf("make the directory of the net's games: %w", err)
		}
		if err := g.makeNewest(candidate); err != nil {
			return err
		}
	}
	name, err := freeName(to, r.Candidate)
	if err != nil {
		return err
	}
	for _, f := range r.Files {
		if err := move(filepath.Join(g.dirs.Test, f.Name), filepath.Join(to, name+strings.TrimPrefix(f.Name, r.Candidate))); err != nil {
			return fmt.Errorf("move %s, which is %s: %w", r.Candidate, r.verdict(), err)
		}
	}
	r.Placed = relative(g.root, filepath.Join(to, name+run.NetSuffix))
	if err := r.write(dir); err != nil {
		return err
	}
	g.settled(r)
	return nil
}

// makeNewest gives a net that was accepted although it is older than the newest
// accepted one a later time, so that self-play takes it.
func (g *gatekeeper) makeNewest(candidate *run.NetFile) error {
	newest, err := newestAccepted(g.dirs.Accepted)
	if err != nil || newest == nil || newest.Older(candidate) {
		return err
	}
	later := newest.Written.Add(time.Second)
	if err := os.Chtimes(candidate.Path, later, later); err != nil {
		return fmt.Errorf("make the accepted net the newest: %w", err)
	}
	return nil
}

// freeName returns the net's name, or, where a net file of that name is in dir,
// the name with a number behind it.
func freeName(dir, net string) (string, error) {
	for n := 1; ; n++ {
		name := net
		if n > 1 {
			name = fmt.Sprintf("%s.%d", net, n)
		}
		_, err := fsx.OS.Stat(filepath.Join(dir, name+run.NetSuffix))
		if errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", fmt.Errorf("place a net: %w", err)
		}
	}
}

// rename gives a candidate a name that no net had yet.
func (g *gatekeeper) rename(candidate *run.NetFile) error {
	files, err := filesOf(candidate)
	if err != nil {
		return err
	}
	for n := 2; ; n++ {
		name, free := fmt.Sprintf("%s.%d", candidate.Name, n), true
		for _, path := range []string{g.matchDir(name), filepath.Join(g.dirs.Test, name+run.NetSuffix),
			filepath.Join(g.dirs.Accepted, name+run.NetSuffix), filepath.Join(g.dirs.Rejected, name+run.NetSuffix)} {
			taken, err := there(path)
			if err != nil {
				return err
			}
			free = free && !taken
		}
		if !free {
			continue
		}
		for _, f := range files {
			to := filepath.Join(g.dirs.Test, name+strings.TrimPrefix(f.Name, candidate.Name))
			if err := move(filepath.Join(g.dirs.Test, f.Name), to); err != nil {
				return fmt.Errorf("rename net %s: %w", candidate.Name, err)
			}
		}
		candidate.Name, candidate.Path = name, filepath.Join(g.dirs.Test, name+run.NetSuffix)
		return nil
	}
}

// move renames a file or directory, durably. One that is not there was moved
// before a kill.
func move(from, to string) error {
	err := fsx.OS.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.EXDEV) {
		return fmt.Errorf("%w: let both directories lie on one file system", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(fsx.SyncDir(fsx.OS, filepath.Dir(to)), fsx.SyncDir(fsx.OS, filepath.Dir(from)))
}
