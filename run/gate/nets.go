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
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// filesOf lists a candidate's files: its net file last, before it what an
// exporter wrote beside it under the same name (<net>.onnx, or a directory <net>).
func filesOf(candidate *run.NetFile) ([]File, error) {
	dir, own := filepath.Split(candidate.Path)
	entries, err := fsx.OS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list files of a net: %w", err)
	}
	var names []string
	for _, e := range entries {
		beside := e.Name() == candidate.Name || strings.HasPrefix(e.Name(), candidate.Name+".")
		if beside && !strings.HasSuffix(e.Name(), run.NetSuffix) {
			names = append(names, e.Name())
		}
	}
	var files []File
	for _, name := range append(names, own) {
		info, err := fsx.OS.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("list files of a net: %w", err)
		}
		files = append(files, File{name, info.Size()})
	}
	return files, nil
}

// side is one of the two nets of a match.
type side struct {
	name   string
	sha256 string // of its file, hexadecimal; empty for random weights
	net    *nn.Net
}

func readSide(f *run.NetFile) (*side, error) {
	s := &side{name: f.Name}
	var err error
	if s.net, _, s.sha256, err = setup.ReadHashedNet(f.Path); err == nil {
		err = s.net.CheckFinite()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return s, nil
}

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
	name, err := freeName(r.Candidate, 1, func(name string) []string {
		return []string{filepath.Join(to, name+run.NetSuffix)}
	})
	if err != nil {
		return err
	}
	if err := moveAll(r.Files, g.dirs.Test, r.Candidate, to, name); err != nil {
		return fmt.Errorf("move %s, which is %s: %w", r.Candidate, r.Verdict(), err)
	}
	r.Placed = run.Dir{Root: g.root}.Shorten(filepath.Join(to, name+run.NetSuffix))
	if err := r.write(dir); err != nil {
		return err
	}
	g.settled(r)
	return nil
}

// makeNewest gives the file of a net that was accepted a later time than that of the newest
// accepted one: a name may have no samples, and other runs do not see this one's decisions.
func (g *gatekeeper) makeNewest(candidate *run.NetFile) error {
	newest, err := setup.NewestNet(run.Dir{Root: g.root}, g.dirs.Accepted)
	if err != nil || newest == nil || newest.Written.Before(candidate.Written) {
		return err
	}
	later := newest.Written.Add(time.Second)
	if err := os.Chtimes(candidate.Path, later, later); err != nil {
		return fmt.Errorf("make the accepted net the newest: %w", err)
	}
	return nil
}

// freeName returns the net's name or, where something is in one of the places that the
// name has, the name with a number behind it. Numbers below first are left out.
func freeName(net string, first int, places func(name string) []string) (string, error) {
	for n := first; ; n++ {
		name, taken := net, false
		if n > 1 {
			name = fmt.Sprintf("%s.%d", net, n)
		}
		for _, path := range places(name) {
			is, err := fsx.Exists(path)
			if err != nil {
				return "", fmt.Errorf("place a net: %w", err)
			}
			taken = taken || is
		}
		if !taken {
			return name, nil
		}
	}
}

// rename gives a candidate a name that no net had yet.
func (g *gatekeeper) rename(candidate *run.NetFile) error {
	files, err := filesOf(candidate)
	if err != nil {
		return err
	}
	name, err := freeName(candidate.Name, 2, func(name string) []string {
		file := name + run.NetSuffix
		return []string{filepath.Join(g.dirs.Test, file), filepath.Join(g.dirs.Accepted, file),
			filepath.Join(g.dirs.Rejected, file), g.matchDir(name)} // a net of the name may be gone, and its match there
	})
	if err != nil {
		return err
	}
	if err := moveAll(files, g.dirs.Test, candidate.Name, g.dirs.Test, name); err != nil {
		return fmt.Errorf("rename net %s: %w", candidate.Name, err)
	}
	candidate.Name, candidate.Path = name, filepath.Join(g.dirs.Test, name+run.NetSuffix)
	return nil
}

// moveAll moves the files of a net, which gets another name, durably. One that is not
// there was moved before a kill, but for the net file, which is the last.
func moveAll(files []File, from, net, to, name string) error {
	for i, f := range files {
		err := fsx.OS.Rename(filepath.Join(from, f.Name), filepath.Join(to, name+strings.TrimPrefix(f.Name, net)))
		switch {
		case errors.Is(err, fs.ErrNotExist) && i < len(files)-1:
			continue
		case errors.Is(err, syscall.EXDEV):
			return fmt.Errorf("%w: let both directories lie on one file system", err)
		case err == nil:
			err = errors.Join(fsx.SyncDir(fsx.OS, to), fsx.SyncDir(fsx.OS, from))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
