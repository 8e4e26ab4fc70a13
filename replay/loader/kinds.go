package loader

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// Options is what a graph gets from outside its configuration.
type Options struct {
	FS        fsx.FS  // nil = fsx.OS
	Seed      uint64  // of everything random
	ShortTerm float64 // theta of encoding.TargetST (record.Replayer.ShortTerm), [0,1]; 0 = unknown
}

// kind is a kind of stage: what it is called, what goes in and out, and how it
// is made.
type kind struct {
	name     string // as the field of StageConfig in the textproto
	in, out  Type
	manyIn   bool                                 // several inputs are allowed
	chosen   func(*StageConfig) bool              // does the config choose this kind
	ports    func(*StageConfig) ([]string, error) // names of several outputs; nil = one without a name
	newStage func(*build) (Stage, error)          // an error is about the settings
}

// kinds are all kinds, in the order of their names.
var kinds = []kind{
	{name: "chunk_rescorer", in: Chunks, out: Chunks, newStage: newChunkRescorer,
		chosen: func(c *StageConfig) bool { return c.ChunkRescorer != nil }},
	{name: "chunk_source_reader", in: Names, out: Sources, newStage: newChunkSourceReader,
		chosen: func(c *StageConfig) bool { return c.ChunkSourceReader != nil }},
	{name: "chunk_source_splitter", in: Sources, out: Sources, newStage: newChunkSourceSplitter, ports: splitterPorts,
		chosen: func(c *StageConfig) bool { return c.ChunkSourceSplitter != nil }},
	{name: "chunk_unpacker", in: Chunks, out: Frames, newStage: newChunkUnpacker,
		chosen: func(c *StageConfig) bool { return c.ChunkUnpacker != nil }},
	{name: "file_path_provider", in: Nothing, out: Names, newStage: newFilePathProvider,
		chosen: func(c *StageConfig) bool { return c.FilePathProvider != nil }},
	{name: "join_positions", in: Frames, out: Frames, manyIn: true, newStage: newJoinPositions,
		chosen: func(c *StageConfig) bool { return c.JoinPositions != nil }},
	{name: "plugin", in: Chunks, out: Chunks, newStage: newPlugin,
		chosen: func(c *StageConfig) bool { return c.Plugin != nil }},
	{name: "shuffling_chunk_pool", in: Sources, out: Chunks, newStage: newChunkPool,
		chosen: func(c *StageConfig) bool { return c.ShufflingChunkPool != nil }},
	{name: "shuffling_frame_sampler", in: Frames, out: Frames, newStage: newFrameSampler,
		chosen: func(c *StageConfig) bool { return c.ShufflingFrameSampler != nil }},
	{name: "simple_chunk_extractor", in: Sources, out: Chunks, newStage: newSimpleChunkExtractor,
		chosen: func(c *StageConfig) bool { return c.SimpleChunkExtractor != nil }},
	{name: "tensor_generator", in: Frames, out: Batches, newStage: newTensorGenerator,
		chosen: func(c *StageConfig) bool { return c.TensorGenerator != nil }},
}

// Kinds returns the names of all kinds of stages, sorted.
func Kinds() (names []string) {
	for i := range kinds {
		names = append(names, kinds[i].name)
	}
	return names
}

// kindOf returns the one kind that a stage's config chooses.
func kindOf(c *StageConfig) (*kind, error) {
	var chosen *kind
	var found []string
	for i := range kinds {
		if kinds[i].chosen(c) {
			chosen, found = &kinds[i], append(found, kinds[i].name)
		}
	}
	switch len(found) {
	case 1:
		return chosen, nil
	case 0:
		return nil, fmt.Errorf("no stage kind; add one of %s", strings.Join(Kinds(), ", "))
	}
	return nil, fmt.Errorf("several stage kinds: %s; a stage has one", strings.Join(found, ", "))
}

// build is what a stage is made from, and a part of each.
type build struct {
	config     *StageConfig
	options    *Options
	quarantine *Quarantine
	batches    *sync.Pool // of *Batch, to be used again
	in, out    []anyQueue // in the order of the config
	counters   []*counter
}

// counter is a count since the start.
type counter struct {
	name string
	atomic.Uint64
}

// counter returns a new counter of the stage, the next one of its Stats.
func (b *build) counter(name string) *counter {
	c := &counter{name: name}
	b.counters = append(b.counters, c)
	return c
}

// Stats is Stage.Stats of a stage without gauges.
func (b *build) Stats() []Counter {
	stats := make([]Counter, len(b.counters))
	for i, c := range b.counters {
		stats[i] = Counter{Name: c.name, Value: float64(c.Load())}
	}
	return stats
}

// gauge is a number that goes up and down, as it is now.
func gauge[N int | int64 | uint64 | float64](name string, value N) Counter {
	return Counter{Name: name, Value: float64(value), Gauge: true}
}

// fewThreads is the fault of a number of threads.
func fewThreads(n int) error { return replay.Wrong(n < 1, "threads: %d; at least 1 is needed", n) }

// fewEpochs is the fault of a number of epochs.
func fewEpochs(n int) error {
	return replay.Wrong(n < 0, "epochs: %d; take 1 or more, or 0 for no end", n)
}

// edges are what a stage with one input and one output has.
type edges[In, Out any] struct {
	*build
	in  *Queue[In]
	out *Queue[Out]
}

// edgesOf returns the edges of a stage; the graph has checked their types.
func edgesOf[In, Out any](b *build) edges[In, Out] {
	return edges[In, Out]{b, b.in[0].(*Queue[In]), b.out[0].(*Queue[Out])}
}

// signal is closed when something changes, and replaced: who waits for it takes it
// under the lock of what changes.
type signal chan struct{}

// tell wakes who waits. The lock is held.
func (s *signal) tell() {
	close(*s)
	*s = make(signal)
}

// queuesOf returns all inputs or outputs of a stage.
func queuesOf[T any](queues []anyQueue) []*Queue[T] {
	typed := make([]*Queue[T], len(queues))
	for i, q := range queues {
		typed[i] = q.(*Queue[T])
	}
	return typed
}

// random returns a generator of the stage's own, seeded with the loader's seed,
// the stage's name and the number of the stream (one for each goroutine or
// purpose).
func (b *build) random(stream uint64) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(b.config.Name))
	return rand.NewPCG(b.options.Seed, h.Sum64()+stream)
}

// newQueue makes a queue for items of a type.
var newQueue = [...]func(QueueConfig) anyQueue{Names: queueOf[File], Sources: queueOf[SourceEvent], Chunks: queueOf[*Game],
	Frames: queueOf[Frame], Batches: queueOf[*Batch]}

func queueOf[T any](c QueueConfig) anyQueue { return NewQueue[T](c.Capacity, c.Overflow) }
