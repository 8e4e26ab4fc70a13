package loader

import (
	"context"
	"fmt"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/record"
)

// Type says what flows through a queue.
type Type uint8

// The types, in the order in which data goes through them.
const (
	Nothing Type = iota // a stage without input
	Names               // Queue[File]
	Sources             // Queue[SourceEvent]
	Chunks              // Queue[*Game]
	Frames              // Queue[Frame]
	Batches             // Queue[*encoding.TrainBatch]
)

var typeNames = [...]string{"nothing", "names", "sources", "chunks", "frames", "batches"}

// String returns the type's name in messages, such as "frames".
func (t Type) String() string { return typeNames[t] }

// Phase says why a file, or the source made of it, is handed on.
type Phase uint8

// The phases.
const (
	Initial     Phase = iota // found by the first scan
	InitialDone              // marker: the first scan is complete. Once per provider, with an empty Path and Key
	Added                    // found later
	Replaced                 // a key that is known lies elsewhere now, or holds something else: the new source takes the old one's place
	Removed                  // its last copy is gone, or can no longer be read
)

var phaseNames = [...]string{"initial", "initial-done", "added", "replaced", "removed"}

// String returns the phase's name, such as "initial-done".
func (p Phase) String() string { return phaseNames[p] }

// File is what a file_path_provider hands on.
type File struct {
	Path  string // to open
	Key   string // names it for good: its first path below the watched directory, with slashes
	Phase Phase

	ModTime int64 // Unix nanoseconds
}

// Source is one file of chunks. Safe for concurrent use; it holds no open file
// between calls, or closes it when it is no longer reachable.
type Source interface {
	Key() string // File.Key
	Len() int    // chunks

	// Game returns chunk i, 0 <= i < Len(). An error is damage of this chunk
	// only; its text names the file.
	Game(i int) (*Game, error)
}

// SourceEvent is what a chunk_source_reader hands on.
type SourceEvent struct {
	File   File
	Source Source // nil with InitialDone and Removed
}

// Packed is a chunk's compact form, *Transcoded or *LeelaChunk, from which single
// positions are rebuilt without decoding the game. Safe for concurrent use.
type Packed interface {
	Record() (*record.Game, error) // decodes all of it
}

// Game is one chunk. It is immutable once handed on: a stage that changes it
// passes a copy (Rec too).
type Game struct {
	Key    uint64 // ChunkHash(source key, Index): the same in every run
	Source string // key of its source
	Index  int    // in its source

	Rec    *record.Game // nil where Packed holds the game
	Packed Packed       // nil where Rec holds the game

	// Use counts how often the chunk was handed out before, 0 = for the first
	// time. The unpacker's rate mode takes another slice of it at each use.
	Use uint32
}

// Record returns the decoded game, which must not be changed.
func (g *Game) Record() (*record.Game, error) {
	if g.Rec != nil {
		return g.Rec, nil
	}
	rec, err := g.Packed.Record()
	if err != nil {
		return nil, fmt.Errorf("chunk %s: %w", g, err)
	}
	return rec, nil
}

// String names the chunk in messages: "a.tar[17]".
func (g *Game) String() string { return fmt.Sprintf("%s[%d]", g.Source, g.Index) }

// Stage is one node of the graph. One with state for a checkpoint has a method Section
// too, whose name is the stage's. Save is called while Run runs, Load only before it.
type Stage interface {
	// Run works until its input has ended (nil), ctx ends (ctx's error), or
	// nothing more can be done (an error that names the file or chunk). Bad data
	// is no error: it is counted and named in the Quarantine. It waits for all
	// goroutines that it starts. The Loader closes its outputs after it returned
	// nil.
	Run(ctx context.Context) error

	// Stats returns the stage's own counters, always in the same order. Called
	// while Run runs. Those of the queues are the Loader's business.
	Stats() []Counter
}

// Counter is a named number of a stage: a count since the start, or a gauge.
type Counter struct {
	Name  string  `json:"name"` // snake case, such as chunks_in_pool
	Value float64 `json:"value"`
	Gauge bool    `json:"gauge,omitempty"` // goes up and down; otherwise it only grows
}

// Batch is what a tensor_generator hands on.
type Batch = encoding.TrainBatch
