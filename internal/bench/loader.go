package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/replay/loader"
)

// Modes of the loader.
const (
	LoaderRL = "rl" // hanse sampling over a window, one position of each chunk
	LoaderSL = "sl" // all positions of all chunks, mixed in a reservoir
)

const (
	// MaxLoaderGames bounds the games that Loader makes.
	MaxLoaderGames = 1 << 20
	loaderBatch    = 1024
	loaderWindows  = 5
)

// LoaderOptions says what Loader measures.
type LoaderOptions struct {
	Mode     string        // LoaderRL or LoaderSL
	Games    int           // to make, 1..MaxLoaderGames; not read with Dir
	Dir      string        // of chunk files (.games, .gz, .tar); "" = games are made
	StoreMiB int           // memory for transcoded chunks
	Frames   int           // of the reservoir of LoaderSL
	Duration time.Duration // CPU time of all windows of each measurement, about
}

// Validate says what is out of range; the error wraps ErrOptions.
func (o LoaderOptions) Validate() error {
	switch {
	case o.Mode != LoaderRL && o.Mode != LoaderSL:
		return fmt.Errorf("%w: unknown mode %q, want %s or %s", ErrOptions, o.Mode, LoaderRL, LoaderSL)
	case o.StoreMiB < 1:
		return fmt.Errorf("%w: a store of %d MiB, want 1 or more", ErrOptions, o.StoreMiB)
	case o.Frames < 1 || o.Frames > 1<<30:
		return fmt.Errorf("%w: a reservoir of %d frames, want 1 to %d", ErrOptions, o.Frames, 1<<30)
	case o.Dir == "":
		return cmp.Or(inRange("games", o.Games, 1, MaxLoaderGames), checkDuration(o.Duration))
	}
	if info, err := os.Stat(o.Dir); err != nil {
		return fmt.Errorf("%w: %w", ErrOptions, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%w: %s is not a directory", ErrOptions, o.Dir)
	}
	return checkDuration(o.Duration)
}

// LoaderResult is the speed of one way through the loader. Rates are medians of
// windows of the process's CPU time: all goroutines, queues and garbage
// collection are in them.
type LoaderResult struct {
	Mode   string `json:"mode"`
	Source string `json:"source"` // "store": chunks transcoded before; "files": read each time
	Files  string `json:"files"`  // "own games", "leela v6" or the directory
	Clock  string `json:"clock"`  // Clock

	Chunks           int     `json:"chunks"`
	PliesPerChunk    float64 `json:"positions_per_chunk"`        // 0 = not known
	RowsPerCPUSecond float64 `json:"positions_per_cpu_s"`        // as encoding.TrainBatch
	SlowestWindow    float64 `json:"positions_per_cpu_s_low"`    //
	FastestWindow    float64 `json:"positions_per_cpu_s_high"`   //
	PlanesPerSecond  float64 `json:"positions_per_cpu_s_planes"` // and the 112 planes written as float32
	StoreBytes       float64 `json:"store_bytes_per_position"`   // 0 = no store
	ReservoirBytes   float64 `json:"reservoir_bytes_per_frame"`  // packed; 0 = no reservoir
	HeapBytes        float64 `json:"heap_bytes_per_position"`    // heap after a collection, less that before, by positions that are held
	StartSeconds     float64 `json:"start_cpu_s"`                // until the first batch, or until the store is full
	StartRate        float64 `json:"transcoded_per_cpu_s"`       // positions read and transcoded until then, a CPU-second; 0 = no store
	Quarantined      uint64  `json:"quarantined"`                // files and chunks that cannot be used
}

// Loader measures the loader on chunk files: with LoaderRL hanse sampling from
// the store, with LoaderSL all positions from the store and straight from files.
// Without Dir it makes its games (random legal play of 80 to 160 plies with
// plausible policies) as our own files and as Leela's V6 tars: with LoaderRL it
// transcodes both, with LoaderSL the own ones, and reads the tars straight. Made
// files are removed.
func Loader(ctx context.Context, o LoaderOptions) ([]LoaderResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	own, v6, names := o.Dir, o.Dir, [2]string{o.Dir, o.Dir}
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "chessbrain-bench-")
		if err != nil {
			return nil, fmt.Errorf("make games: %w", err)
		}
		defer os.RemoveAll(dir)
		if err := makeLoaderGames(dir, o.Games); err != nil {
			return nil, err
		}
		own, v6, names = filepath.Join(dir, "games"), filepath.Join(dir, "v6"), [2]string{"own games", "leela v6"}
	}
	store, err := o.measure(ctx, own, names[0], true)
	if err != nil || o.Mode == LoaderRL && own == v6 {
		return []LoaderResult{store}, err
	}
	other, err := o.measure(ctx, v6, names[1], o.Mode == LoaderRL)
	return []LoaderResult{store, other}, err
}

// config is the graph that is measured: one goroutine a stage.
func (o *LoaderOptions) config(dir string, store bool) loader.Config {
	pool := &loader.ShufflingChunkPool{ChunkPoolSize: MaxLoaderGames, Threads: 1}
	unpacker := &loader.ChunkUnpacker{Threads: 1, PositionSamplingRate: 1, Prefetch: 1}
	if store {
		pool.StoreMiB = o.StoreMiB
	}
	if o.Mode == LoaderRL {
		pool.HanseSampling, pool.HanseSamplingGamma = true, 1
		unpacker.PositionCount, unpacker.Prefetch = 1, 64
	}
	queue := loader.QueueConfig{Capacity: 64, Overflow: loader.Block}
	stages := []loader.StageConfig{
		{Name: "files", FilePathProvider: &loader.FilePathProvider{Directory: dir, PollSeconds: 1}},
		{Name: "reader", ChunkSourceReader: &loader.ChunkSourceReader{Threads: 1}},
		{Name: "pool", ShufflingChunkPool: pool},
		{Name: "unpacker", ChunkUnpacker: unpacker},
	}
	if o.Mode == LoaderSL {
		stages = append(stages, loader.StageConfig{Name: "mixer", ShufflingFrameSampler: &loader.ShufflingFrameSampler{Threads: 1, ReservoirSizePerThread: o.Frames}})
	}
	stages = append(stages, loader.StageConfig{Name: "batches", TensorGenerator: &loader.TensorGenerator{Threads: 1, BatchSize: loaderBatch}})
	for i := range stages {
		if stages[i].Output = queue; i > 0 {
			stages[i].Inputs = []string{stages[i-1].Name}
		}
	}
	last := &stages[len(stages)-1]
	last.Output.Capacity = 2
	if !store {
		stages[2].Output.Capacity = 2 // an inflated chunk has a megabyte
	}
	return loader.Config{Stages: stages, Outputs: []string{last.Name}}
}

// measure runs the graph over dir.
func (o *LoaderOptions) measure(ctx context.Context, dir, files string, store bool) (r LoaderResult, err error) {
	r = LoaderResult{Mode: o.Mode, Source: "files", Files: files, Clock: Clock}
	if store {
		r.Source = "store"
	}
	before := heap()
	l, err := loader.New(o.config(dir, store), loader.Options{Seed: positionSeed})
	if err != nil {
		return r, err
	}
	defer l.Close()
	run := &loaderRun{o: o, loader: l, batch: encoding.NewTrainBatch(loaderBatch), planes: make([]float32, encoding.NumPlanes*encoding.NumSquares)}
	start := busyTime()
	if err := run.start(ctx, store); err != nil {
		return r, err
	}
	s := counters(l)
	r.StartSeconds = perSecond(busyTime() - start)
	if n := s["pool.store_positions"]; n > 0 {
		r.StartRate = n / r.StartSeconds
	}
	var plain, planes []float64
	for range loaderWindows {
		if err := run.window(ctx, &plain, false); err != nil {
			return r, err
		}
		if err := run.window(ctx, &planes, true); err != nil {
			return r, err
		}
	}
	s = counters(l)
	r.HeapBytes = max(0, heap()-before) / max(1, s["pool.store_positions"]+s["mixer.reservoir_frames"])
	r.SlowestWindow, r.RowsPerCPUSecond, r.FastestWindow = spread(plain)
	_, r.PlanesPerSecond, _ = spread(planes)
	r.Chunks = int(s["pool.chunks_in_pool"])
	r.StoreBytes = s["pool.store_bytes"] / max(1, s["pool.store_positions"])
	r.PliesPerChunk = s["pool.store_positions"] / max(1, s["pool.store_chunks"])
	if n := s["mixer.reservoir_frames"]; n > 0 {
		r.ReservoirBytes = s["mixer.reservoir_bytes"] / n
	}
	if !store {
		r.PliesPerChunk = s["unpacker.frames"] / max(1, s["unpacker.chunks_unpacked"])
	}
	r.Quarantined = l.Stats().Quarantined
	return r, nil
}

// loaderRun is a measurement under way.
type loaderRun struct {
	o      *LoaderOptions
	loader *loader.Loader
	batch  *encoding.TrainBatch
	planes []float32 // of one position
}

// start takes the first batch, and with a supervised store as many as fill it.
func (r *loaderRun) start(ctx context.Context, store bool) error {
	err := r.next(ctx)
	for err == nil && r.o.Mode == LoaderSL && store && counters(r.loader)["pool.passes"] < 1 {
		err = r.next(ctx)
	}
	return err
}

func (r *loaderRun) next(ctx context.Context) error {
	r.batch.Reset()
	if err := r.loader.Next(ctx, r.batch); err != nil {
		if q := r.loader.Stats().Quarantine; len(q) > 0 {
			return fmt.Errorf("%w (first of the chunks that cannot be used: %s: %s)", err, q[0].Name, q[0].Error)
		}
		return fmt.Errorf("no positions: %w", err)
	}
	return nil
}

// window appends the rate of a window to rates.
func (r *loaderRun) window(ctx context.Context, rates *[]float64, planes bool) error {
	least := max(r.o.Duration/(2*loaderWindows), 1)
	start, rows := busyTime(), 0
	for {
		if err := r.next(ctx); err != nil {
			return err
		}
		rows += r.batch.N
		for i := 0; planes && i < r.batch.N; i++ {
			encoding.ExpandPlanes(r.planes, &r.batch.Masks[i], &r.batch.Scalars[i])
		}
		if d := busyTime() - start; d >= least {
			*rates = append(*rates, float64(rows)/perSecond(d))
			return nil
		}
	}
}

// counters returns a loader's counters by stage and name.
func counters(l *loader.Loader) map[string]float64 {
	all := map[string]float64{}
	for _, s := range l.Stats().Stages {
		for _, c := range s.Counters {
			all[s.Name+"."+c.Name] = c.Value
		}
	}
	return all
}

// heap returns the bytes of the heap that are in use after a collection.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
