package retain

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Sections of a checkpoint that refer to games or shuffles.
const (
	shuffleSection    = "shuffle_source.section"
	windowSection     = "window.section"
	validationSection = "validation.section"
)

// training is where one training of the run keeps its checkpoints.
type training struct {
	checkpoints string
	journal     string
	atWork      bool // a process holds its lock
}

// trainings lists those that the run has, or has a lock of.
func (g *collector) trainings() ([]training, error) {
	names, err := fsx.Dirs(fsx.OS, g.dir.Trainings())
	if err != nil {
		return nil, err
	}
	names = append(names, g.dir.Training)
	locks, err := fsx.Entries(fsx.OS, g.dir.Locks())
	if err != nil {
		return nil, err
	}
	for _, e := range locks {
		if name, ok := strings.CutPrefix(e.Name(), string(run.Trainer(""))); ok && !strings.Contains(name, ".owner.") && !strings.HasSuffix(name, ".sock") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var all []training
	for _, name := range slices.Compact(names) {
		t := training{g.dir.CheckpointsOf(name), run.NewDir(g.dir.Root, name, "", "", "").Journal(), false}
		if name == g.dir.Training {
			t.checkpoints = g.dir.Checkpoints
		}
		owners, err := fsx.Owners(g.dir.Lock(run.Trainer(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("who trains: %w", err)
		}
		t.atWork = len(owners) > 0
		all = append(all, t)
	}
	return all, nil
}

// neededShuffles are those that trainers need.
type neededShuffles struct {
	names map[string]bool
	from  string // this one and all newer ones, too
}

func (n *neededShuffles) has(name string) bool { return n.names[name] || name >= n.from }

// noShuffle sorts behind the names of all shuffles, which begin with a digit.
const noShuffle = "~"

// neededShuffles finds the shuffles that trainings would go on from: those of their
// current checkpoints and of the newest ones, which take the place of a damaged one.
// A trainer at work is at that of its current checkpoint or a newer one.
func (g *collector) neededShuffles() (*neededShuffles, error) {
	trainings, err := g.trainings()
	if err != nil {
		return nil, err
	}
	n := &neededShuffles{names: map[string]bool{}, from: noShuffle}
	for _, t := range trainings {
		current, err := checkpoint.Current(fsx.OS, t.checkpoints)
		if err != nil {
			return nil, err
		}
		names, err := checkpoint.List(fsx.OS, t.checkpoints)
		if err != nil {
			return nil, err
		}
		names = names[max(0, len(names)-g.fallBack):]
		if current != "" && !slices.Contains(names, current) {
			names = append(names, current)
		}
		at := ""
		for _, name := range names {
			section, err := readSection(t.checkpoints, name, shuffleSection)
			if err != nil {
				return nil, err
			}
			saved, _ := shuffle.SavedShuffles(bytes.NewReader(section)) // nobody goes on from a damaged one
			for _, s := range saved {
				n.names[s] = true
				if name == current && (at == "" || s < at) {
					at = s
				}
			}
		}
		if t.atWork { // one that has not saved yet may be at any
			n.from = min(n.from, at)
		}
	}
	return n, nil
}

// readSection reads a section of a checkpoint; nil is one that its training does not
// have, or that was removed meanwhile.
func readSection(dir, checkpoint, section string) ([]byte, error) {
	data, err := fsx.ReadFile(fsx.OS, filepath.Join(dir, checkpoint, section))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return data, nil
}

// neededGames returns the games that the journal and the windows of checkpoints
// name.
func (g *collector) neededGames() (map[[16]byte]bool, error) {
	ids := map[[16]byte]bool{}
	trainings, err := g.trainings()
	if err != nil {
		return nil, err
	}
	for _, t := range append(trainings, training{journal: run.Dir{Root: g.dir.Root}.Journal()}) {
		entries, _, err := run.ReadJournal(t.journal)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if id, ok := e.GameID(); ok {
				ids[id] = true
			}
		}
	}
	for _, t := range trainings {
		names, err := checkpoint.List(fsx.OS, t.checkpoints)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			for _, section := range []string{windowSection, validationSection} {
				data, err := readSection(t.checkpoints, name, section)
				if err != nil {
					return nil, err
				}
				if data == nil {
					continue
				}
				_, games, err := replay.ReadWindowSection(bytes.NewReader(data))
				if err != nil {
					return nil, fmt.Errorf("%s: %w; nothing is removed while it is not known which games it needs",
						filepath.Join(t.checkpoints, name, section), err)
				}
				for _, id := range games {
					ids[id] = true
				}
			}
		}
	}
	return ids, nil
}
