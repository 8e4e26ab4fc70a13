package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Memory is an Inbox and its Posts within one process, without a network.
type Memory struct {
	handler Handler
	limit   int // chunks that the mailbox takes

	mu       sync.Mutex
	waiting  []*Delivery
	arrived  chan struct{} // has room for one
	nets     keptNets
	files    map[string][]byte // of the nets
	verdicts map[Player]chan Verdict
}

// NewMemory returns an Inbox whose mailbox takes so many chunks.
func NewMemory(h Handler, limit int) *Memory {
	return &Memory{handler: h, limit: limit, arrived: make(chan struct{}, 1), files: map[string][]byte{}, verdicts: map[Player]chan Verdict{}}
}

// Post returns the side of one player.
func (m *Memory) Post(p Player) Post {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.verdicts[p] == nil {
		m.verdicts[p] = make(chan Verdict, verdictRoom)
	}
	return &memoryPost{m, p, m.verdicts[p]}
}

// Next waits for a delivery.
func (m *Memory) Next(ctx context.Context) (*Delivery, error) {
	for {
		m.mu.Lock()
		if len(m.waiting) > 0 {
			d := m.waiting[0]
			m.waiting = m.waiting[1:]
			if len(m.waiting) > 0 {
				m.wake() // another one that waits
			}
			m.mu.Unlock()
			return d, nil
		}
		m.mu.Unlock()
		select {
		case <-m.arrived:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// wake wakes one Next.
func (m *Memory) wake() {
	select {
	case m.arrived <- struct{}{}:
	default:
	}
}

// Publish makes a net known.
func (m *Memory) Publish(_ context.Context, r NetRef, file []byte) error { return m.put(r, file, true) }

// Store makes a net known that nobody plays with but matches.
func (m *Memory) Store(_ context.Context, r NetRef, file []byte) error { return m.put(r, file, false) }

func (m *Memory) put(r NetRef, file []byte, toPlay bool) error {
	if err := checkFile(r, file); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[r.SHA256] = slices.Clone(file)
	for _, sum := range m.nets.add(r.SHA256, toPlay) {
		delete(m.files, sum)
	}
	return nil
}

// Close does nothing.
func (m *Memory) Close() error { return nil }

type memoryPost struct {
	m        *Memory
	player   Player
	verdicts chan Verdict
}

func (p *memoryPost) Join(_ context.Context, h Hello) (Welcome, error) {
	return p.m.handler.Join(p.player, h), nil
}

func (p *memoryPost) Beat(_ context.Context, b Beat) (State, error) {
	return p.m.handler.Beat(p.player, b), nil
}

func (p *memoryPost) Lease(context.Context) (Task, error) {
	return p.m.handler.Lease(p.player), nil
}

func (p *memoryPost) Finish(_ context.Context, o Outcome) error {
	p.m.handler.Finish(p.player, o)
	return nil
}

func (p *memoryPost) Fetch(_ context.Context, r NetRef) ([]byte, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	file, there := p.m.files[r.SHA256]
	if !there {
		return fetched(r, nil, ErrNoNet)
	}
	return fetched(r, slices.Clone(file), nil)
}

func (p *memoryPost) Deliver(_ context.Context, data []byte, _ int) error {
	if err := checkSize(data); err != nil {
		return err
	}
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if len(p.m.waiting) >= p.m.limit {
		return ErrFull
	}
	d := &Delivery{Chunk: Chunk{Player: p.player, Data: slices.Clone(data)}}
	d.settle = func(v Verdict) error {
		hand(p.verdicts, v)
		return nil
	}
	p.m.waiting = append(p.m.waiting, d)
	p.m.wake()
	return nil
}

func (p *memoryPost) Verdicts() <-chan Verdict { return p.verdicts }
func (p *memoryPost) Close() error             { return nil }

// verdictRoom is how many verdicts wait for a player; more are dropped.
const verdictRoom = 1024

// hand hands a verdict over without waiting.
func hand(to chan<- Verdict, v Verdict) {
	select {
	case to <- v:
	default:
	}
}

// checkSize refuses chunks that a server may not take.
func checkSize(data []byte) error {
	if len(data) > MaxChunk {
		return fmt.Errorf("%w: %d", ErrTooLarge, len(data))
	}
	return nil
}
