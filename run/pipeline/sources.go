package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/replay/shuffle"
	"github.com/chessbrain/chessbrain/run/setup"
)

// existing is where the existing shuffle lies.
func (o *Options) existing() string {
	return cmp.Or(o.Existing, filepath.Join(o.Base, "processed", "shuffled"))
}

// sources are what a run takes beside its own games.
type sources struct {
	games    []prepare.Input // for the step Process
	shuffled []prepare.Input // for training
}

// sources looks at the existing shuffle and the data directories. One that is not
// there, or holds neither games nor a finished shuffle, is prepare.ErrNoInput:
// training on what is left would go unnoticed. An existing shuffle that nobody
// named may be missing.
func (o *Options) sources() (*sources, error) {
	s := &sources{}
	if _, err := os.Stat(o.existing()); o.Existing != "" || !errors.Is(err, fs.ErrNotExist) {
		if err := o.addSource(s, 1, o.existing()); err != nil {
			return nil, fmt.Errorf("--existing-shuffled-data-dir: %w", err)
		}
		if len(s.games) > 0 {
			return nil, fmt.Errorf("--existing-shuffled-data-dir: %w: %s holds games and no finished shuffle; name it with --data-dirs", prepare.ErrNoInput, o.existing())
		}
	}
	for i, dir := range o.DataDirs {
		if err := o.addSource(s, 2+i, dir); err != nil {
			return nil, fmt.Errorf("--data-dirs: %w", err)
		}
	}
	if n := 2 + len(o.DataDirs); len(o.Ranges) > n {
		return nil, fmt.Errorf("--shard-ranges: %d ranges for %d sources (the new data, --existing-shuffled-data-dir, --data-dirs)", len(o.Ranges), n)
	}
	return s, nil
}

// addSource adds source number i by what it holds.
func (o *Options) addSource(s *sources, i int, dir string) error {
	in, err := o.part(i, dir)
	if err != nil {
		return err
	}
	m, _, err := prepare.ReadShuffle(dir)
	if err != nil {
		return err
	}
	if m != nil {
		s.shuffled = append(s.shuffled, in)
		_, err := prepare.Part(m.Train, in)
		return err
	}
	if _, err := prepare.ListInputs(fsx.OS, []prepare.Input{in}); err != nil {
		return fmt.Errorf("%w (and no finished shuffle; --skip-files and --shard-ranges say which files are taken)", err)
	}
	s.games = append(s.games, in)
	return nil
}

// checkSplit refuses shuffles that split games otherwise than the run will: a game
// that one holds out could be trained on from another. It says so before the games
// are played, not when they are mixed.
func (s *sources) checkSplit(w setup.Window) error {
	for _, in := range s.shuffled {
		m, _, err := prepare.ReadShuffle(in.Dir)
		if err != nil {
			return err
		}
		if m == nil {
			return fmt.Errorf("%w: the finished shuffle of %s is gone", prepare.ErrNoInput, in.Dir)
		}
		if err := w.CheckShuffle(in.Dir, m); err != nil {
			return err
		}
		if share, theta := w.HeldOut, w.ShortTerm; m.Validation != share || m.ShortTerm != theta || m.Split != shuffle.SplitByGame {
			return fmt.Errorf("%s splits by %s and holds out %g of it, with st-theta %g; this run by %s, %g and %g "+
				"(training.validation.share, training.st_theta): shuffle it again, or run with its numbers",
				in.Dir, m.Split, m.Validation, m.ShortTerm, shuffle.SplitByGame, share, theta)
		}
	}
	return nil
}

// games says which directory of games a step takes: what the step before it in
// this run made, else SelfPlayDir; "" where there is neither.
func (o *Options) games(step string) string {
	dir := o.SelfPlayDir
	for _, before := range []string{SelfPlay, Preprocess, Process} {
		if before == step {
			break
		}
		if o.runs(before) {
			dir = o.Dir(before)
		}
	}
	return dir
}

// checkInputs says which step would have no input.
func (o *Options) checkInputs(s *sources) error {
	for _, step := range []string{Preprocess, Process, Shuffle} {
		if !o.runs(step) {
			continue
		}
		dir := o.games(step)
		switch {
		case dir == "" && !(step == Process && len(s.games) > 0):
			return fmt.Errorf("%w for step %s: no step before it runs and --selfplay-dir names no directory of games", prepare.ErrNoInput, step)
		case dir == o.SelfPlayDir && dir != "":
			if _, err := prepare.ListInputs(fsx.OS, []prepare.Input{{Dir: dir}}); err != nil {
				return fmt.Errorf("step %s: --selfplay-dir: %w", step, err)
			}
		}
	}
	if len(s.games) > 0 && !o.runs(Process) {
		return fmt.Errorf("--data-dirs: %s holds games, which only the step %s takes, and that does not run", s.games[0].Dir, Process)
	}
	if o.runs(Train) && !o.runs(Shuffle) && len(s.shuffled) == 0 {
		return fmt.Errorf("%w for step %s: the step %s does not run, and neither %s nor --data-dirs holds a finished shuffle",
			prepare.ErrNoInput, Train, Shuffle, o.existing())
	}
	return nil
}
