package prepare

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

// ReadShuffle reads the marker of the shuffle that dir means: its own where it holds
// one, else that of its newest finished one; nil where there is none. at is the
// shuffle's directory.
func ReadShuffle(dir string) (m *shuffle.Manifest, at string, err error) {
	m, err = shuffle.ReadManifest(fsx.OS, dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return m, dir, err
	}
	names, err := shuffle.List(fsx.OS, dir)
	if err != nil || len(names) == 0 {
		return nil, "", err
	}
	at = filepath.Join(dir, names[len(names)-1])
	m, err = shuffle.ReadManifest(fsx.OS, at)
	return m, at, err
}

// Mix makes one shuffle of several: below out a directory with the time now as
// its name, with the training files of each source (its files From to To-1, in
// their order) in an order of all files drawn with the seed, and all validation
// files. Files are linked, or copied where the file system has no links; rows are
// not shuffled anew, and a row that two sources hold is there twice. A part
// without a file is ErrNoInput. Shuffles that split games otherwise than the
// first are refused: a game could be on both sides. A mix that is there already
// is returned as it is. It works on the real file system.
func Mix(sources []Input, out string, seed uint64, now time.Time) (*shuffle.Manifest, error) {
	dir := filepath.Join(out, MixName(now))
	m, err := shuffle.ReadManifest(fsx.OS, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if m, err = writeMix(sources, dir, seed, now); err != nil {
			return nil, fmt.Errorf("mix: %w", err)
		}
	}
	return m, err
}

// writeMix writes a mix beside its place and renames it.
func writeMix(sources []Input, dir string, seed uint64, now time.Time) (*shuffle.Manifest, error) {
	m, from, err := planMix(sources, seed, now)
	if err != nil {
		return nil, err
	}
	temp := dir + ".tmp"
	if err := fsx.RemoveAll(fsx.OS, temp); err != nil { // what a stopped mix of this name left
		return nil, err
	}
	subs := []string{filepath.Join(temp, "train"), filepath.Join(temp, "val")}
	for _, sub := range subs {
		if err := fsx.MkdirAll(fsx.OS, sub); err != nil {
			return nil, err
		}
	}
	for file, source := range from {
		if err := fsx.LinkOrCopy(source, filepath.Join(temp, file)); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
	}
	for _, sub := range subs {
		if err := fsx.SyncDir(fsx.OS, sub); err != nil {
			return nil, err
		}
	}
	if err := replay.WriteJSON(fsx.OS, filepath.Join(temp, shuffle.MarkerName), m); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, dir); err != nil {
		return nil, err
	}
	return m, fsx.SyncDir(fsx.OS, filepath.Dir(dir))
}

// MixName is the name of the shuffle that Mix makes.
func MixName(now time.Time) string { return now.UTC().Format("20060102-150405") }

// planMix makes the marker of a mix, and says for each of its files which it is.
func planMix(sources []Input, seed uint64, now time.Time) (*shuffle.Manifest, map[string]string, error) {
	m, from := &shuffle.Manifest{}, map[string]string{}
	for i, in := range sources {
		have, dir, err := ReadShuffle(in.Dir)
		if err == nil && have == nil {
			err = fmt.Errorf("%w: %s holds no finished shuffle", ErrNoInput, in.Dir)
		}
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			m.Plan = have.Plan
			m.Inputs, m.InputDirs, m.Quarantine, m.RandomRows = nil, nil, nil, 0
		}
		if err := sameSplit(m, have, in.Dir, len(sources)); err != nil {
			return nil, nil, err
		}
		train, err := Part(have.Train, in)
		if err != nil {
			return nil, nil, err
		}
		m.InputDirs = append(m.InputDirs, dir)
		m.Train = append(m.Train, take(train, i, dir, from)...)
		m.Val = append(m.Val, take(have.Val, i, dir, from)...)
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d6978)) // "mix"
	rng.Shuffle(len(m.Train), func(i, j int) { m.Train[i], m.Train[j] = m.Train[j], m.Train[i] })
	m.TrainRows, m.HeldRows = shuffle.Rows(m.Train), shuffle.Rows(m.Val)
	m.Name, m.Created, m.Seed = MixName(now), now.UTC(), seed
	m.TrainFiles, m.ValFiles, m.BucketsPerFile = len(m.Train), len(m.Val), 1
	m.RealRows, m.Usable, m.Want, m.Used, m.ValRows = m.TrainRows, m.TrainRows, m.TrainRows, m.TrainRows, m.HeldRows
	m.KeepShare, m.Range = 1, [2]int64{0, m.TrainRows}
	return m, from, nil
}

// sameSplit refuses shuffles whose games could be on both sides of the split.
func sameSplit(m, have *shuffle.Manifest, dir string, sources int) error {
	if sources > 1 && have.Split != shuffle.SplitByGame {
		return fmt.Errorf("%s splits by %s: shuffle it again with --split %s, so that no game of it is held out by one shuffle and trained on from another",
			dir, have.Split, shuffle.SplitByGame)
	}
	if have.Validation != m.Validation || have.ShortTerm != m.ShortTerm {
		return fmt.Errorf("%s holds out %g of the games, with st-theta %g, the first shuffle %g and %g: shuffle it again with the same numbers",
			dir, have.Validation, have.ShortTerm, m.Validation, m.ShortTerm)
	}
	if have.Ahead != m.Ahead {
		return fmt.Errorf("%s and the first shuffle are not both made with --ahead: shuffle the other one again", dir)
	}
	return nil
}

// Part returns the files From to To-1 of a source's; without any it is
// ErrNoInput.
func Part[F any](files []F, in Input) ([]F, error) {
	taken, ok := part(files, in)
	if !ok {
		return nil, fmt.Errorf("%w: %s has %d files of rows, none of them number %d or more (from 0): take other ones with --skip-files or --shard-ranges",
			ErrNoInput, in.Dir, len(files), in.From)
	}
	return taken, nil
}

// take names the files of source number i in the mix.
func take(files []shuffle.OutFile, i int, dir string, from map[string]string) []shuffle.OutFile {
	var taken []shuffle.OutFile
	for _, f := range files {
		path := filepath.FromSlash(f.Name)
		source := filepath.Join(dir, path)
		f.Name = fmt.Sprintf("%s/s%03d_%s", filepath.Dir(path), i, filepath.Base(path))
		from[filepath.FromSlash(f.Name)] = source
		taken = append(taken, f)
	}
	return taken
}
