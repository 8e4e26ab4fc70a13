package loader

import (
	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Config is the whole graph, as the textproto section data_loader has it.
// Every field has its effective value: zero means zero, not the default
// (config fills those in).
type Config struct {
	Stages  []StageConfig
	Outputs []string // stages, or stage.port, whose batches leave the loader; the first is the one that Loader.Next reads
}

// StageConfig is one stage: exactly one of the kinds is not nil.
type StageConfig struct {
	Name   string   // unique, [a-z0-9_-]
	Inputs []string // names of stages, or stage.port of one with several outputs
	Output QueueConfig
	Fresh  bool // begins anew at each start: its state is not kept

	FilePathProvider      *FilePathProvider
	ChunkSourceReader     *ChunkSourceReader
	ChunkSourceSplitter   *ChunkSourceSplitter
	ShufflingChunkPool    *ShufflingChunkPool
	SimpleChunkExtractor  *SimpleChunkExtractor
	ChunkRescorer         *ChunkRescorer
	ChunkUnpacker         *ChunkUnpacker
	ShufflingFrameSampler *ShufflingFrameSampler
	JoinPositions         *JoinPositions
	TensorGenerator       *TensorGenerator
	Plugin                *Plugin
}

// QueueConfig is the queue behind each output of a stage.
type QueueConfig struct {
	Capacity int // >= 1
	Overflow Overflow
}

// FilePathProvider watches a directory.
type FilePathProvider struct {
	Directory   string
	File        string  // the only one of it; "" = all, and those below
	Watch       bool    // false = the stream ends after the first scan (supervised)
	PollSeconds float64 // > 0
}

// ChunkSourceReader opens files of chunks.
type ChunkSourceReader struct {
	Threads int // >= 1

	// Rescorers change each game when it is read, in this order: before a pool
	// that keeps it, so once and not at each use.
	Rescorers []stage.Rescorer
}

// ChunkSourceSplitter deals chunks to several outputs.
type ChunkSourceSplitter struct {
	Outputs []SplitOutput
}

// SplitOutput is one output of a splitter: the port's name and its share of
// the chunks relative to the others, >= 0.
type SplitOutput struct {
	Name   string
	Weight float64
}

// ShufflingChunkPool holds the newest chunks and hands them out in random order.
type ShufflingChunkPool struct {
	ChunkPoolSize int // chunks; the oldest sources leave first. >= 1
	Threads       int // >= 1
	Epochs        int // passes over all chunks, then the output ends with the input, or waits for new chunks; 0 = endless

	// Hanse sampling: a chunk is accepted with probability
	// (weight/max_weight)^gamma. Weight is its number of positions, at most
	// HanseSamplingThreshold, above which a chunk is always accepted; 0 = the
	// largest of the window. Gamma 0 = every chunk is accepted.
	HanseSampling          bool
	HanseSamplingThreshold int
	HanseSamplingGamma     float64

	// Weights of positions (diff focus), which replace the number of positions
	// where Enabled.
	PositionWeight PositionWeight

	StoreMiB int // memory for transcoded chunks, MiB; 0 = none: chunks are read from their files each time
}

// PositionWeight weighs positions by how far the search moved from the raw network.
type PositionWeight struct {
	Enabled bool
	chance.Focus
}

// SimpleChunkExtractor hands every chunk on in order.
type SimpleChunkExtractor struct {
	Epochs int // passes over all chunks once the input has ended; 0 = endless
}

// ChunkRescorer passes chunks through rescorers.
type ChunkRescorer struct {
	Threads   int              // >= 1
	Rescorers []stage.Rescorer // in order
}

// Plugin passes chunks through a rescorer, a program as a rule.
type Plugin struct {
	Threads  int            // batches in work at a time, >= 1
	Batch    int            // most chunks of a batch, >= 1
	Rescorer stage.Rescorer // works on a batch at once where it is a stage.BatchRescorer
}

// ChunkUnpacker takes positions out of chunks: each with probability
// PositionSamplingRate, or PositionCount of each chunk where that is above 0.
type ChunkUnpacker struct {
	Threads              int     // >= 1
	PositionSamplingRate float64 // (0,1]
	PositionCount        int     // >= 0
	Prefetch             int     // chunks that are made ready ahead
	PositionWeight       PositionWeight
}

// ShufflingFrameSampler mixes frames in a reservoir.
type ShufflingFrameSampler struct {
	Threads                int // >= 1
	ReservoirSizePerThread int // frames, >= 1
}

// JoinPositions merges the frames of several inputs.
type JoinPositions struct{}

// TensorGenerator makes batches of frames.
type TensorGenerator struct {
	Threads   int // >= 1
	BatchSize int // rows, >= 1
}
