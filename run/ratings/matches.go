package ratings

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/catalogue"
)

const (
	logSuffix = ".jsonl"
	pgnSuffix = ".pgn"
)

// matches returns all matches whose logs lie in the run.
func (s *scanner) matches() ([]catalogue.Match, error) {
	tested, err := fsx.Dirs(fsx.OS, s.dir.Gates())
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{s.dir.Matches(): catalogue.RatingMatch} // with the kind of their matches
	for _, name := range tested {
		dirs[filepath.Join(s.dir.Gates(), name)] = catalogue.GateMatch
	}
	var all []catalogue.Match
	for dir, kind := range dirs {
		entries, err := fsx.Entries(fsx.OS, dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := s.ctx.Err(); err != nil {
				return nil, err
			}
			if e.IsDir() || !strings.HasSuffix(e.Name(), logSuffix) {
				continue
			}
			m, err := s.match(kind, filepath.Join(dir, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue // put aside meanwhile
			}
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b catalogue.Match) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// match reads one log, or takes over what the old catalogue says of it.
func (s *scanner) match(kind, path string) (m catalogue.Match, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return m, err
	}
	m = catalogue.Match{Path: s.dir.Shorten(path), Kind: kind, Bytes: info.Size(), Modified: info.ModTime().UTC()}
	for _, old := range s.old.Matches {
		if old.Path == m.Path && old.Bytes == m.Bytes && old.Modified.Equal(m.Modified) && old.Problem == "" {
			return old, nil
		}
	}
	h, games, err := arena.ReadLog(fsx.OS, path)
	if corrupt, ok := errors.AsType[*arena.CorruptError](err); ok {
		if m.Problem = corrupt.Error(); m.Bytes > 0 {
			s.log.Warn("a match's log cannot be read; its games do not count", "error", err)
		}
		return m, nil
	}
	if err != nil {
		return m, err
	}
	a, b := &h.Players[0], &h.Players[1]
	m.Player1, m.Player2, m.SHA1, m.SHA2 = identity(a), identity(b), a.SHA256, b.SHA256
	m.Settings, m.Program, m.Began = settingsOf(&h), h.Program, h.Began.UTC()
	sum := arena.Summarise(games)
	m.Wins, m.Draws, m.Losses, m.Pairs = sum.Wins, sum.Draws, sum.Losses, sum.Pentanomial
	for i := range games {
		m.Plies += int64(len(games[i].Moves))
	}
	m.Ends = record.EndCounts(sum.Ends)
	return m, nil
}

// RandomMover is the name of the player of uniformly random moves. It is not the
// gatekeeper's "random", which are random weights with a search.
const RandomMover = "random-mover"

// identity is a player's name in the catalogue. A log of chessbrain match calls the
// random mover "random", as the gatekeeper calls random weights.
func identity(p *arena.LogPlayer) string {
	if p.Name == arena.Random().Name() && p.NetID == "" && p.SHA256 == "" {
		return RandomMover
	}
	return p.Name
}

// settingsOf says how both players search.
func settingsOf(h *arena.LogHeader) string {
	a, b := h.Players[0].Settings, h.Players[1].Settings
	if a == b {
		return a
	}
	return cmp.Or(a, "none") + "; " + cmp.Or(b, "none")
}

// finite returns a pointer to x, nil where it is infinite or no number.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// published returns the files that trainers published, by the lists that they
// keep (train/<training>/published.json).
func (s *scanner) published() []catalogue.Published {
	var all []catalogue.Published
	trainings, err := fsx.Dirs(fsx.OS, s.dir.Trainings())
	if err != nil {
		s.log.Warn("the lists of published files cannot be read", "error", err)
	}
	for _, training := range trainings {
		nets, _, err := run.ReadPublished(run.Dir{Root: s.dir.Root, Training: training})
		if err != nil {
			s.log.Warn("a list of published files cannot be read", "error", err)
			continue
		}
		for _, n := range nets {
			for _, f := range n.Files {
				all = append(all, catalogue.Published{Training: training, Path: f.Path, NetID: n.NetID, Exporter: n.Exporter, Bytes: f.Bytes})
			}
		}
	}
	return all
}
