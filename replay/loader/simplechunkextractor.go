package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
)

// simpleChunkExtractor hands every chunk on, in the order in which the sources
// came. It takes sources in at once, whatever its output does, so that a
// validation output that nobody reads for a while never holds up a splitter.
//
// With Epochs n >= 1 it goes on while sources come, and n-1 times over all of
// them once the input has ended. With Epochs 0 it starts over whenever it
// reaches the end.
type simpleChunkExtractor struct {
	edges[SourceEvent, *Game]
	epochs int

	mu      sync.Mutex
	changed signal // something came in
	sources []*extracted
	byKey   map[string]*extracted
	ended   bool // the input has
	scanned bool // the first scan is complete
	epoch   int
	restore map[string]int // next of sources that have not come yet

	handed, bad *counter
}

// extracted is a source with what was taken of it in this epoch.
type extracted struct {
	key    string
	source Source // nil = removed
	next   int
}

func newSimpleChunkExtractor(b *build) (Stage, error) {
	x := &simpleChunkExtractor{edges: edgesOf[SourceEvent, *Game](b), epochs: b.config.SimpleChunkExtractor.Epochs,
		changed: make(signal), byKey: map[string]*extracted{},
		handed: b.counter("chunks_handed_on"), bad: b.counter("chunks_bad")}
	return x, fewEpochs(x.epochs)
}

// Run takes sources in beside handing chunks on.
func (x *simpleChunkExtractor) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return x.takeIn(ctx) })
	group.Go(func() error {
		return replay.Each(ctx, x.next, func(g *Game) error {
			x.handed.Add(1)
			return x.out.Put(ctx, g)
		})
	})
	return group.Wait()
}

// takeIn reads the input until it ends or ctx does.
func (x *simpleChunkExtractor) takeIn(ctx context.Context) error {
	err := replay.Each(ctx, x.in.Get, func(e SourceEvent) error {
		x.changed.change(&x.mu, func() { x.add(e) })
		return nil
	})
	if err == nil {
		x.changed.change(&x.mu, func() { x.ended, x.scanned = true, true })
	}
	return err
}

// add takes an event in. A source that replaces another goes on where that one
// was.
func (x *simpleChunkExtractor) add(e SourceEvent) {
	key := e.File.Key
	switch known := x.byKey[key]; {
	case e.File.Phase == InitialDone:
		x.scanned = true
	case known != nil:
		known.source = e.Source
	case e.Source != nil:
		known = &extracted{key: key, source: e.Source, next: x.restore[key]}
		delete(x.restore, key)
		x.byKey[key] = known
		x.sources = append(x.sources, known)
	}
}

// next reads the next good chunk and waits for it where more may come.
func (x *simpleChunkExtractor) next(ctx context.Context) (*Game, error) {
	idle := false // the last whole epoch gave no chunk
	for at := 0; ; {
		x.mu.Lock()
		src, i, end, changed := x.advance(&at)
		// Another epoch follows: of endless ones once all files are known, else after the end.
		over := src == nil && !idle && (x.epochs == 0 && x.scanned || end && x.epoch+1 < x.epochs)
		if over {
			x.epoch++
			for _, s := range x.sources {
				s.next = 0
			}
			clear(x.restore)
		}
		x.mu.Unlock()
		switch {
		case src != nil:
			g, err := src.Game(i)
			if err == nil || errors.Is(err, ErrStop) {
				return g, err
			}
			x.bad.Add(1)
			x.quarantine.Add(fmt.Sprintf("%s[%d]", src.Key(), numberIn(src, i)), err)
		case over:
			at, idle = 0, true
		case end:
			return nil, io.EOF
		default:
			select {
			case <-changed:
				at, idle = 0, false
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
}

// advance claims the next chunk from source number at on. Without one, end says
// that the input has ended, and changed is closed when something comes in.
func (x *simpleChunkExtractor) advance(at *int) (src Source, i int, end bool, changed signal) {
	for ; *at < len(x.sources); *at++ {
		s := x.sources[*at]
		if s.source != nil && s.next < s.source.Len() {
			s.next++
			return s.source, s.next - 1, false, nil
		}
	}
	return nil, 0, x.ended, x.changed
}

func (x *simpleChunkExtractor) Stats() []Counter {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append(x.build.Stats(), gauge("sources", len(x.sources)), gauge("epoch", x.epoch))
}

// extractorState is the JSON form of the section: how far each source is read.
type extractorState struct {
	Epoch int            `json:"epoch"`
	Next  map[string]int `json:"next"`
}

// Section is the epoch and the place in each source.
func (x *simpleChunkExtractor) Section() stage.Section {
	return replay.JSONSection(x.config.Name, "extractor state", 1, x.save, x.load)
}

func (x *simpleChunkExtractor) save() extractorState {
	x.mu.Lock()
	defer x.mu.Unlock()
	state := extractorState{Epoch: x.epoch, Next: map[string]int{}}
	maps.Copy(state.Next, x.restore)
	for _, s := range x.sources {
		state.Next[s.key] = s.next
	}
	return state
}

func (x *simpleChunkExtractor) load(state extractorState) error {
	for key, next := range state.Next {
		if next < 0 {
			return fmt.Errorf("extractor state: place %d in %s", next, key)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.epoch, x.restore = state.Epoch, state.Next
	return nil
}
