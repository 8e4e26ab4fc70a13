package loader

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/chessbrain/chessbrain/internal/fsx"
)

// Options is what a graph gets from outside its configuration.
type Options struct {
	FS        fsx.FS  // nil = fsx.OS
	Seed      uint64  // of everything random
	ShortTerm float64 // theta of encoding.TargetST (record.Replayer.ShortTerm), [0,1]; 0 = unknown
}

// kind is a kind of stage: what it is called, what goes in and out, and how it
// is made. The file of each stage registers its own.
type kind struct {
	name     string // as the field of StageConfig in the textproto
	in, out  Type
	manyIn   bool                                 // several inputs are allowed
	chosen   func(*StageConfig) bool              // does the config choose this kind
	ports    func(*StageConfig) ([]string, error) // names of several outputs; nil = one without a name
	newStage func(*build) (Stage, error)          // an error is about the settings
}

// kinds are all kinds by name.
var kinds = map[string]*kind{}

// register adds a kind of stage; for init functions.
func register(k kind) { kinds[k.name] = &k }

// Kinds returns the names of all kinds of stages, sorted.
func Kinds() []string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// kindOf returns the one kind that a stage's config chooses.
func kindOf(c *StageConfig) (*kind, error) {
	var found []string
	for _, name := range Kinds() {
		if kinds[name].chosen(c) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 1:
		return kinds[found[0]], nil
	case 0:
		return nil, fmt.Errorf("no stage kind; add one of %s", strings.Join(Kinds(), ", "))
	}
	return nil, fmt.Errorf("several stage kinds: %s; a stage has one", strings.Join(found, ", "))
}

// build is what a stage is made from.
type build struct {
	config     *StageConfig
	options    *Options
	quarantine *Quarantine
	batches    *sync.Pool // of *Batch, to be used again
	in, out    []anyQueue // in the order of the config
}

// inputOf returns the stage's only input, whose type the graph has checked.
func inputOf[T any](b *build) *Queue[T] { return b.in[0].(*Queue[T]) }

// inputsOf returns the stage's inputs in the order of the config.
func inputsOf[T any](b *build) []*Queue[T] { return queuesOf[T](b.in) }

// outputOf returns the stage's only output.
func outputOf[T any](b *build) *Queue[T] { return b.out[0].(*Queue[T]) }

// outputsOf returns the stage's outputs in the order of its ports.
func outputsOf[T any](b *build) []*Queue[T] { return queuesOf[T](b.out) }

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

// newQueue returns a queue for items of type t.
func newQueue(t Type, c QueueConfig) anyQueue {
	switch t {
	case Names:
		return NewQueue[File](c.Capacity, c.Overflow)
	case Sources:
		return NewQueue[SourceEvent](c.Capacity, c.Overflow)
	case Chunks:
		return NewQueue[*Game](c.Capacity, c.Overflow)
	case Frames:
		return NewQueue[Frame](c.Capacity, c.Overflow)
	case Batches:
		return NewQueue[*Batch](c.Capacity, c.Overflow)
	}
	panic("loader: a queue of " + t.String())
}
