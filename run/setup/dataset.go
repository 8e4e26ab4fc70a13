package setup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run"
)

// dataFiles looks at a data set: its PGN files, which are imported before they are trained
// on; none where it has files that the loader reads.
func dataFiles(path string) (pgn []string, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // WalkDir follows no links
	}
	others := false
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case at != path && strings.HasPrefix(name, "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case d.IsDir():
		case isPGN(strings.ToLower(name)):
			pgn = append(pgn, at)
		default:
			others = others || loader.Reads(name)
		}
		return nil
	})
	switch {
	case err != nil:
	case len(pgn) > 0 && others:
		err = fmt.Errorf("%s holds PGN files and other games: which of them may be the same, nobody knows", path)
	case len(pgn) == 0 && !others:
		err = fmt.Errorf("there are no games in %s", path)
	}
	return pgn, err
}

func isPGN(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".bz2"), ".pgn")
}

// PGNFiles are the files of the training's data set that are imported into the run before
// they are trained on; empty where the loader reads what there is, or without a data set.
func (t *Training) PGNFiles() ([]string, error) {
	if t.Data == "" {
		return nil, nil
	}
	return dataFiles(t.Data)
}

// dataGraph is the loader of a data set: each position as often as it is asked for, in
// random order, but those of the games held out, which come alike at each start.
func dataGraph(c *config.Config) (g loader.Config, err error) {
	mix := func(positions int) *loader.ShufflingFrameSampler { // of some 300 bytes each
		return &loader.ShufflingFrameSampler{Threads: 1, ReservoirSizePerThread: positions}
	}
	t := c.GetTraining()
	files := &loader.FilePathProvider{Directory: t.GetData()}
	pgn, err := dataFiles(files.Directory)
	if info, failed := os.Stat(files.Directory); failed == nil && !info.IsDir() {
		files.Directory, files.File = filepath.Split(files.Directory)
		files.Directory = filepath.Clean(files.Directory)
	}
	if len(pgn) > 0 {
		files = &loader.FilePathProvider{Directory: run.Dir{Root: c.GetRunDir()}.Imported()}
	}
	queue := loader.QueueConfig{Capacity: 4}
	batches := &loader.TensorGenerator{Threads: 1, BatchSize: int(t.GetBatchSize())}
	unpack := &loader.ChunkUnpacker{Threads: 1, PositionSamplingRate: 1}
	held := t.GetValidation().GetShare()
	stages := []loader.StageConfig{
		{Name: "files", FilePathProvider: files},
		{Name: "reader", Inputs: []string{"files"}, ChunkSourceReader: &loader.ChunkSourceReader{Threads: 1}},
		{Name: "split", Inputs: []string{"reader"}, ChunkSourceSplitter: &loader.ChunkSourceSplitter{
			Outputs: []loader.SplitOutput{{Name: "train", Weight: 1 - held}, {Name: "validation", Weight: held}}}},
		{Name: "pool", Inputs: []string{"split.train"}, ShufflingChunkPool: &loader.ShufflingChunkPool{ChunkPoolSize: 1e9, Threads: 1, Epochs: int(t.GetEpochs())}},
		{Name: "unpack", Inputs: []string{"pool"}, ChunkUnpacker: unpack},
		{Name: "mix", Inputs: []string{"unpack"}, ShufflingFrameSampler: mix(200_000)},
		{Name: "train", Inputs: []string{"mix"}, TensorGenerator: batches},
		{Name: "held_out", Inputs: []string{"split.validation"}, SimpleChunkExtractor: &loader.SimpleChunkExtractor{Epochs: 1}, Fresh: true},
		{Name: "unpack_held_out", Inputs: []string{"held_out"}, ChunkUnpacker: unpack, Fresh: true},
		{Name: "mix_held_out", Inputs: []string{"unpack_held_out"}, ShufflingFrameSampler: mix(20_000), Fresh: true},
		{Name: "validation", Inputs: []string{"mix_held_out"}, TensorGenerator: batches, Fresh: true},
	}
	for i := range stages {
		stages[i].Output = queue
	}
	return loader.Config{Stages: stages, Outputs: []string{"train", "validation"}}, err
}
