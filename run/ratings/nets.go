package ratings

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
	"github.com/chessbrain/chessbrain/run/gate"
	"github.com/chessbrain/chessbrain/run/setup"
)

// nets returns all nets, oldest first.
func (s *scanner) nets() ([]catalogue.Net, error) {
	var nets []catalogue.Net
	// A net moves down this list, so that one which moves while it is read is seen once or
	// twice, not never.
	for _, d := range []struct{ dir, state string }{
		{s.dir.Candidates(), catalogue.Candidate}, {s.dir.ModelsExtra(), catalogue.Extra},
		{s.dir.Rejected(), catalogue.Rejected}, {s.dir.Models(), catalogue.Accepted},
	} {
		entries, err := fsx.Entries(fsx.OS, d.dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := s.ctx.Err(); err != nil {
				return nil, err
			}
			name, path := strings.TrimSuffix(e.Name(), run.NetSuffix), filepath.Join(d.dir, e.Name())
			switch {
			case e.IsDir():
				path = filepath.Join(path, "net"+run.NetSuffix) // of an exporter of several files
			case name == e.Name():
				continue
			}
			n, err := s.net(name, d.state, path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // moved on, or a directory without a net
			}
			if err != nil {
				return nil, err
			}
			nets = slices.DeleteFunc(nets, func(o catalogue.Net) bool { return o.Name == n.Name && o.SHA256 == n.SHA256 })
			nets = append(nets, n)
		}
	}
	nets, err := s.gateResults(nets)
	if err != nil {
		return nil, err
	}
	setParents(nets)
	files, turn := make([]run.NetFile, len(nets)), map[string]int{}
	for i, n := range nets {
		files[i] = run.NetFile{Name: n.Name, Written: n.Modified}
	}
	run.SortNets(s.dir, files)
	for i, f := range files {
		turn[f.Name] = -i
	}
	slices.SortStableFunc(nets, func(a, b catalogue.Net) int {
		return cmp.Or(cmp.Compare(turn[a.Name], turn[b.Name]), a.Modified.Compare(b.Modified), cmp.Compare(a.Samples, b.Samples), cmp.Compare(a.Name, b.Name))
	})
	return nets, nil
}

// net reads one net file, or takes over what the old catalogue says of it.
func (s *scanner) net(name, state, path string) (n catalogue.Net, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return n, err
	}
	n = catalogue.Net{Name: name, State: state, Path: s.dir.Shorten(path), Bytes: info.Size(), Modified: info.ModTime().UTC()}
	for _, old := range s.old.Nets {
		if old.Path == n.Path && old.Bytes == n.Bytes && old.Modified.Equal(n.Modified) && old.Problem == "" {
			old.State, old.Gate, old.Parent = state, catalogue.Gate{}, ""
			return old, nil
		}
	}
	net, meta, sha, err := setup.ReadHashedNet(path)
	if n.SHA256 = sha; err != nil && sha == "" {
		return n, err
	}
	if err != nil {
		n.Problem = err.Error()
		s.log.Warn("a net cannot be read", "path", path, "error", err)
		return n, nil
	}
	n.NetID, n.Arch, n.Params = net.ID(), net.Arch.String(), int64(net.Len())
	n.Job, n.Weights, n.Program = meta["job"], meta["weights"], meta["program"]
	for key, field := range map[string]*int64{"step": &n.Step, "samples": &n.Samples, "rows": &n.Rows} {
		*field, _ = strconv.ParseInt(meta[key], 10, 64) // 0 where the file does not say
	}
	return n, nil
}

// gateResults adds what the gatekeeper decided, and the nets whose files are gone
// since.
func (s *scanner) gateResults(nets []catalogue.Net) ([]catalogue.Net, error) {
	tested, err := fsx.Dirs(fsx.OS, s.dir.Gates())
	if err != nil {
		return nil, err
	}
	for _, name := range tested {
		r, err := gate.ReadResult(filepath.Join(s.dir.Gates(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the match is under way
		}
		if err != nil {
			s.log.Warn("a decision of the gatekeeper cannot be read", "net", name, "error", err)
			continue
		}
		at := slices.IndexFunc(nets, func(n catalogue.Net) bool { return n.SHA256 == r.CandidateSHA256 && n.State != catalogue.Extra })
		if at < 0 {
			at = len(nets)
			nets = append(nets, catalogue.Net{Name: r.Candidate, State: r.Verdict(), SHA256: r.CandidateSHA256, NetID: r.CandidateNetID, Modified: r.Ended})
			_, nets[at].Samples, nets[at].Rows, _ = run.ParseNetName(r.Candidate)
		}
		g := &nets[at].Gate
		*g = catalogue.Gate{Decision: r.Verdict(), Baseline: r.Baseline, Games: r.Games, Points: r.Points, Reason: r.Reason, Ended: r.Ended.UTC()}
		if r.Games > 0 {
			g.Elo, g.Error = finite(float64(r.Elo)), finite(float64(r.EloError))
		}
	}
	return nets, nil
}

// setParents names for each net the one before it of its job and training.
func setParents(nets []catalogue.Net) {
	lines := map[string][]*catalogue.Net{}
	for i := range nets {
		if line, _, _, ok := run.ParseNetName(nets[i].Name); ok {
			lines[line] = append(lines[line], &nets[i])
		}
	}
	for _, line := range lines {
		slices.SortFunc(line, func(a, b *catalogue.Net) int {
			_, sa, ra, _ := run.ParseNetName(a.Name)
			_, sb, rb, _ := run.ParseNetName(b.Name)
			return cmp.Or(cmp.Compare(sa, sb), cmp.Compare(ra, rb), a.Modified.Compare(b.Modified), cmp.Compare(a.SHA256, b.SHA256))
		})
		for i := 1; i < len(line); i++ {
			if line[i-1].Name != line[i].Name {
				line[i].Parent = line[i-1].Name
			} else {
				line[i].Parent = line[i-1].Parent
			}
		}
	}
}
