package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
)

// Loader runs a graph of stages. It is a trainer.BatchSource. Next of one
// output is called by one goroutine; the other methods are safe for concurrent
// use.
type Loader struct {
	graph      *graph
	outputs    []*Output
	quarantine *Quarantine
	schedule   *Schedule

	ctx    context.Context // of the stages
	cancel context.CancelCauseFunc

	batches *sync.Pool // of *Batch, from the outputs back to the tensor generators

	mu      sync.Mutex
	started bool
	closed  bool
	begin   time.Time
	done    chan struct{} // closed when all goroutines have ended
}

// New checks the configuration and builds the graph. Nothing runs before the
// first Next or Start. The error joins a *ConfigError for each fault.
func New(c Config, o Options) (*Loader, error) {
	o.FS = cmp.Or(o.FS, fsx.OS)
	g, err := newGraph(&c)
	if err != nil {
		return nil, err
	}
	l := &Loader{graph: g, quarantine: &Quarantine{}, schedule: newSchedule(),
		batches: &sync.Pool{New: func() any { return new(Batch) }}, done: make(chan struct{})}
	var bad []error
	for _, n := range g.nodes {
		if err := l.addStage(n, &o); err != nil {
			bad = append(bad, &ConfigError{Index: n.index, Stage: n.config.Name, Reason: err.Error()})
		}
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	for _, p := range g.outputs {
		l.outputs = append(l.outputs, &Output{loader: l, name: p.String(), queue: p.node.out[p.i].(*Queue[*Batch])})
	}
	l.tapSources()
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l, nil
}

// addStage makes a node's queues and stage.
func (l *Loader) addStage(n *node, o *Options) error {
	b := &build{config: n.config, options: o, quarantine: l.quarantine, batches: l.batches}
	for _, p := range n.inputs {
		b.in = append(b.in, p.node.out[p.i])
	}
	for range n.ports {
		n.out = append(n.out, newQueue[n.kind.out](n.config.Output))
	}
	b.out = n.out
	var err error
	n.stage, err = n.kind.newStage(b)
	return err
}

// Start runs the stages. Next does it too; a second call does nothing.
func (l *Loader) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started || l.closed {
		return
	}
	l.started, l.begin = true, time.Now()
	stopped := make(chan struct{})
	var stages sync.WaitGroup
	for _, n := range l.graph.nodes {
		stages.Go(func() { l.run(n) })
	}
	go func() {
		stages.Wait()
		close(stopped)
	}()
	go func() { // its owner is Close, which waits for done
		defer close(l.done)
		l.graph.record(stopped)
		for _, n := range l.graph.nodes {
			n.close() // also of those that were cut short: Next must not wait for them
		}
	}()
}

// run runs one stage. When its work is done its readers learn it; when it
// fails, all stages are stopped.
func (l *Loader) run(n *node) {
	if err := n.stage.Run(l.ctx); err == nil {
		n.close()
	} else if l.ctx.Err() == nil {
		l.cancel(&StageError{Stage: n.config.Name, Err: err})
	}
}

func (n *node) close() {
	for _, q := range n.out {
		q.Close()
	}
}

// Close stops all stages and waits for them. A second Close does nothing.
func (l *Loader) Close() error {
	l.mu.Lock()
	l.closed = true
	started := l.started
	l.mu.Unlock()
	l.cancel(replay.ErrClosed)
	if started {
		<-l.done
	}
	return nil
}

// Next fills b, which comes empty, with len(b.Masks) rows of the first output.
// It waits for them as long as ctx allows. io.EOF: all data were handed out; a
// short last batch is returned before it, with nil. Otherwise an error is
// ctx's, replay.ErrClosed, or the *StageError that ended the loader.
func (l *Loader) Next(ctx context.Context, b *Batch) error { return l.outputs[0].Next(ctx, b) }

// Output returns an output by its name in the config.
func (l *Loader) Output(name string) (*Output, error) {
	var names []string
	for _, o := range l.outputs {
		if o.name == name {
			return o, nil
		}
		names = append(names, o.name)
	}
	return nil, fmt.Errorf("the loader has no output %q; it has %s", name, strings.Join(names, ", "))
}

// Output is one of the loader's outputs; see Loader.Next.
type Output struct {
	loader *Loader
	name   string
	queue  *Queue[*Batch]

	batch *Batch // rows of it from next on are not handed out yet; nil = none
	next  int
}

// Next fills b; see Loader.Next. After an error b holds the rows that came
// until then; another Next with the same b goes on filling it.
func (o *Output) Next(ctx context.Context, b *Batch) error {
	o.loader.Start()
	for want := len(b.Masks); b.N < want; {
		if o.batch == nil {
			batch, err := o.queue.Get(ctx)
			if errors.Is(err, io.EOF) {
				if err := context.Cause(o.loader.ctx); err != nil {
					return err
				}
				if b.N > 0 {
					return nil
				}
			}
			if err != nil {
				return err
			}
			o.batch, o.next = batch, 0
		}
		for ; o.next < o.batch.N && b.N < want; o.next++ {
			b.AppendRow(o.batch, o.next)
		}
		if o.next == o.batch.N {
			o.loader.batches.Put(o.batch)
			o.batch = nil
		}
	}
	return nil
}
