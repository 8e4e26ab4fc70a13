package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/importer"
	"github.com/chessbrain/chessbrain/replay/loader"
	"github.com/chessbrain/chessbrain/run"
)

// Rescorers makes rescorers by name, such as *host.Host; their owner ends them.
type Rescorers interface {
	Rescorer(ctx context.Context, c stage.Choice) (stage.Rescorer, error)
}

// New returns the loader of a configuration; nothing of it runs yet but the
// programs among its rescorers. Faults of the graph are config errors with their
// place in the file, all at once.
func New(ctx context.Context, e *config.Effective, r Rescorers) (*loader.Loader, error) {
	c, err := Graph(ctx, e, r)
	if e.Config.GetTraining().GetData() != "" {
		c, err = dataGraph(e.Config)
	}
	if err != nil {
		return nil, err
	}
	l, err := loader.New(c, loader.Options{Seed: e.Config.GetSeed(), ShortTerm: e.Config.GetTraining().GetStTheta()})
	if err != nil {
		return nil, graphFault(e, err)
	}
	return l, nil
}

// graphFault gives each fault of the graph its place.
func graphFault(e *config.Effective, err error) error {
	var all config.Errors
	for _, one := range flatten(err) {
		bad, ok := errors.AsType[*loader.ConfigError](one)
		if !ok {
			return err
		}
		path, reason := "data_loader", bad.Reason
		if bad.Index >= 0 {
			path = fmt.Sprintf("data_loader.stage[%d]", bad.Index)
		}
		if bad.Stage != "" {
			reason = fmt.Sprintf("stage %q: %s", bad.Stage, reason)
		}
		all = append(all, &config.Error{Where: e.Origin(path), Field: path, Reason: reason, Remedy: bad.Remedy})
	}
	return all
}

// flatten returns the parts of a joined error.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var parts []error
	for _, part := range joined.Unwrap() {
		parts = append(parts, flatten(part)...)
	}
	return parts
}

// Graph returns the section data_loader as replay/loader takes it.
func Graph(ctx context.Context, e *config.Effective, r Rescorers) (loader.Config, error) {
	section := e.Config.GetDataLoader()
	c := loader.Config{Outputs: section.GetOutput()}
	for i, s := range section.GetStage() {
		one, err := stageOf(ctx, s, r)
		if programFailed(err) {
			return c, fmt.Errorf("data_loader stage %q: %w", s.GetName(), err)
		}
		if err != nil {
			path := fmt.Sprintf("data_loader.stage[%d]", i)
			return c, &config.Error{Where: e.Origin(path), Field: path, Reason: fmt.Sprintf("stage %q: %v", s.GetName(), err),
				Remedy: "chessbrain plugins list shows what rescorers there are"}
		}
		c.Stages = append(c.Stages, one)
	}
	return c, nil
}

// stageOf turns one stage over.
func stageOf(ctx context.Context, s *config.LoaderStage, r Rescorers) (loader.StageConfig, error) {
	c := loader.StageConfig{Name: s.GetName(), Inputs: s.GetInput(),
		Output: loader.QueueConfig{Capacity: int(s.GetQueue().GetCapacity()), Overflow: loader.Overflow(s.GetQueue().GetOverflow())}}
	named := slices.Concat(s.GetChunkSourceReader().GetRescorer(), s.GetChunkRescorer().GetRescorer())
	if k := s.GetPlugin(); k != nil {
		named = append(named, &config.Stage{Name: k.Name, Settings: k.GetSettings()})
	}
	rescorers, err := rescorersOf(ctx, named, r) // a stage is of one kind
	if err != nil {
		return c, err
	}
	if k := s.GetFilePathProvider(); k != nil {
		c.FilePathProvider = &loader.FilePathProvider{Directory: k.GetDirectory(), Watch: k.GetWatch(), PollSeconds: k.GetPollSeconds()}
	}
	if k := s.GetChunkSourceReader(); k != nil {
		c.ChunkSourceReader = &loader.ChunkSourceReader{Threads: int(k.GetThreads()), Rescorers: rescorers}
	}
	if k := s.GetChunkSourceSplitter(); k != nil {
		c.ChunkSourceSplitter = &loader.ChunkSourceSplitter{}
		for _, o := range k.GetOutput() {
			c.ChunkSourceSplitter.Outputs = append(c.ChunkSourceSplitter.Outputs, loader.SplitOutput{Name: o.GetName(), Weight: o.GetWeight()})
		}
	}
	if k := s.GetShufflingChunkPool(); k != nil {
		c.ShufflingChunkPool = &loader.ShufflingChunkPool{ChunkPoolSize: int(k.GetChunkPoolSize()), Threads: int(k.GetThreads()),
			Epochs: int(k.GetEpochs()), HanseSampling: k.GetHanseSampling(), HanseSamplingThreshold: int(k.GetHanseSamplingThreshold()),
			HanseSamplingGamma: k.GetHanseSamplingGamma(), PositionWeight: weightOf(k.GetPositionWeight()), StoreMiB: int(k.GetStoreMib())}
	}
	if k := s.GetSimpleChunkExtractor(); k != nil {
		c.SimpleChunkExtractor = &loader.SimpleChunkExtractor{Epochs: int(k.GetEpochs())}
	}
	if k := s.GetChunkRescorer(); k != nil {
		c.ChunkRescorer = &loader.ChunkRescorer{Threads: int(k.GetThreads()), Rescorers: rescorers}
	}
	if k := s.GetPlugin(); k != nil {
		c.Plugin = &loader.Plugin{Threads: int(k.GetThreads()), Batch: int(k.GetBatch()), Rescorer: rescorers[0]}
	}
	if k := s.GetChunkUnpacker(); k != nil {
		c.ChunkUnpacker = &loader.ChunkUnpacker{Threads: int(k.GetThreads()), PositionSamplingRate: k.GetPositionSamplingRate(),
			PositionCount: int(k.GetPositionCount()), Prefetch: int(k.GetPrefetch()), PositionWeight: weightOf(k.GetPositionWeight())}
	}
	if k := s.GetShufflingFrameSampler(); k != nil {
		c.ShufflingFrameSampler = &loader.ShufflingFrameSampler{Threads: int(k.GetThreads()), ReservoirSizePerThread: int(k.GetReservoirSizePerThread())}
	}
	if s.GetJoinPositions() != nil {
		c.JoinPositions = &loader.JoinPositions{}
	}
	if k := s.GetTensorGenerator(); k != nil {
		c.TensorGenerator = &loader.TensorGenerator{Threads: int(k.GetThreads()), BatchSize: int(k.GetBatchSize())}
	}
	return c, nil
}

func weightOf(w *config.PositionWeight) loader.PositionWeight {
	p := loader.PositionWeight{Enabled: w.GetEnabled()}
	p.QWeight, p.PolicyScale, p.Alpha = w.GetQWeight(), w.GetPolScale(), w.GetAlpha()
	p.Beta, p.Gamma, p.Tau = w.GetBeta(), w.GetGamma(), w.GetTau()
	return p
}

// rescorersOf makes the rescorers that a stage names.
func rescorersOf(ctx context.Context, stages []*config.Stage, r Rescorers) ([]stage.Rescorer, error) {
	var made []stage.Rescorer
	for _, s := range stages {
		one, err := r.Rescorer(ctx, stage.Choice{Name: s.GetName(), Settings: s.GetSettings()})
		if err != nil {
			return nil, err
		}
		if batch, ok := one.(stage.BatchRescorer); ok {
			one = ending{batch}
		}
		made = append(made, one)
	}
	return made, nil
}

// ending is a rescorer whose end is the loader's, too: no chunk is to blame for
// it.
type ending struct{ stage.BatchRescorer }

func (e ending) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	out, err := e.BatchRescorer.Rescore(ctx, g)
	return out, ended(err)
}

func (e ending) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	out, err := e.BatchRescorer.RescoreBatch(ctx, games)
	return out, ended(err)
}

func ended(err error) error {
	if errors.Is(err, host.ErrGivenUp) || errors.Is(err, host.ErrClosed) {
		return fmt.Errorf("%w: %w", loader.ErrStop, err)
	}
	return err
}

// Loader is the loader of a configuration with the programs that it uses.
type Loader struct {
	*loader.Loader
	stages *Stages
}

// OpenLoader builds the loader of a configuration; dir is the run directory, or
// "". It must be closed. Faults are config errors (exit code 2).
func OpenLoader(ctx context.Context, e *config.Effective, dir string, log *slog.Logger) (*Loader, error) {
	s, err := OpenKinds(ctx, e, dir, log)
	if err != nil {
		return nil, err
	}
	l, err := New(ctx, e, s.Host())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Loader{l, s}, nil
}

// Close ends the loader and its programs.
func (l *Loader) Close() error { return errors.Join(l.Loader.Close(), l.stages.Close()) }

// dataFiles looks at a data set: its PGN files, which are imported before they are trained
// on; none where it has files that the loader reads. It reads up to the first game that can
// be trained on.
func dataFiles(path string) (pgn []string, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // WalkDir follows no links
	}
	others, games := false, false
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
			if games {
				_, err = os.Stat(at)
			} else {
				games, err = importer.HasGame(at)
			}
		case loader.Reads(name):
			others, games = true, games || chunksOf(at) > 0
		}
		return err
	})
	switch {
	case err != nil:
	case len(pgn) > 0 && others:
		err = fmt.Errorf("%s holds PGN files and other games: which of them may be the same, nobody knows", path)
	case len(pgn) == 0 && !others:
		if _, err = os.Stat(path); err == nil { // a link may lead nowhere
			err = fmt.Errorf("there are no games in %s", path)
		}
	case !games && len(pgn) > 0:
		err = fmt.Errorf("no game of %s can be trained on: chessbrain import-pgn says why", path)
	case !games:
		err = fmt.Errorf("no game of %s can be trained on", path)
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
	held := heldShare(files, t.GetValidation().GetShare())
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

// heldShare is the share of a data set that is held out: the one that is asked for, or of
// a set so small that it would hold nothing out, that of the game nearest to it. A game
// that was trained on is never held out later, as the set grows: the share only falls then.
func heldShare(files *loader.FilePathProvider, asked float64) float64 {
	if asked == 0 {
		return 0
	}
	nearest, n := 0.0, 0
	found := errors.New("there is one")
	err := filepath.WalkDir(files.Directory, func(path string, d fs.DirEntry, err error) error {
		key, failed := filepath.Rel(files.Directory, path)
		if err != nil || failed != nil || !d.Type().IsRegular() || files.File != "" && key != files.File {
			return nil // what cannot be read is the loader's to tell
		}
		for i := range chunksOf(path) {
			n++
			at := float64(loader.ChunkHash(filepath.ToSlash(key), i)>>11) / (1 << 53) // as the splitter places it
			if nearest = max(nearest, at); nearest >= 1-asked {
				return found
			}
		}
		return nil
	})
	if err != nil || n < 2 {
		return asked
	}
	return 1 - nearest + 1e-12 // rounding
}

// chunksOf is how many games a file of a data set holds, 0 where it is none.
func chunksOf(path string) int {
	if replay.IsChunk(filepath.Base(path)) {
		_, info, _ := replay.ReadChunk(fsx.OS, path)
		return info.Games
	}
	source, err := lc0.OpenSource(path)
	if err != nil {
		return 0
	}
	return source.Len()
}
