package loader

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
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
	chosen   bool   // the config chooses it
	in, out  Type
	newStage func(*build) (Stage, error)          // an error is about the settings
	manyIn   bool                                 // several inputs are allowed
	ports    func(*StageConfig) ([]string, error) // names of several outputs; nil = one without a name
}

// kindsOf returns all kinds, in the order of their names.
func kindsOf(c *StageConfig) []kind {
	return []kind{
		{"chunk_rescorer", c.ChunkRescorer != nil, Chunks, Chunks, newChunkRescorer, false, nil},
		{"chunk_source_reader", c.ChunkSourceReader != nil, Names, Sources, newChunkSourceReader, false, nil},
		{"chunk_source_splitter", c.ChunkSourceSplitter != nil, Sources, Sources, newChunkSourceSplitter,
			false, splitterPorts},
		{"chunk_unpacker", c.ChunkUnpacker != nil, Chunks, Frames, newChunkUnpacker, false, nil},
		{"file_path_provider", c.FilePathProvider != nil, Nothing, Names, newFilePathProvider, false, nil},
		{"join_positions", c.JoinPositions != nil, Frames, Frames, newJoinPositions, true, nil},
		{"plugin", c.Plugin != nil, Chunks, Chunks, newPlugin, false, nil},
		{"shuffling_chunk_pool", c.ShufflingChunkPool != nil, Sources, Chunks, newChunkPool, false, nil},
		{"shuffling_frame_sampler", c.ShufflingFrameSampler != nil, Frames, Frames, newFrameSampler, false, nil},
		{"simple_chunk_extractor", c.SimpleChunkExtractor != nil, Sources, Chunks, newSimpleChunkExtractor, false, nil},
		{"tensor_generator", c.TensorGenerator != nil, Frames, Batches, newTensorGenerator, false, nil},
	}
}

// Kinds returns the names of all kinds of stages, sorted.
func Kinds() []string { return kindNames(kindsOf(&StageConfig{})) }

func kindNames(kinds []kind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// kindOf returns the one kind that a stage's config chooses.
func kindOf(c *StageConfig) (*kind, error) {
	chosen := slices.DeleteFunc(kindsOf(c), func(k kind) bool { return !k.chosen })
	switch len(chosen) {
	case 1:
		return &chosen[0], nil
	case 0:
		return nil, fmt.Errorf("no stage kind; add one of %s", strings.Join(Kinds(), ", "))
	}
	return nil, fmt.Errorf("several stage kinds: %s; a stage has one", strings.Join(kindNames(chosen), ", "))
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

// change does how under the lock and wakes who waits.
func (s *signal) change(mu *sync.Mutex, how func()) {
	mu.Lock()
	defer mu.Unlock()
	how()
	s.tell()
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
var newQueue = [...]func(QueueConfig) anyQueue{Names: queueOf[File], Sources: queueOf[SourceEvent],
	Chunks: queueOf[*Game], Frames: queueOf[Frame], Batches: queueOf[*Batch]}

func queueOf[T any](c QueueConfig) anyQueue { return NewQueue[T](c.Capacity, c.Overflow) }
