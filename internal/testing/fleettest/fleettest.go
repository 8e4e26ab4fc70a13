// Package fleettest has a fleet within one process, without a network, for tests.
package fleettest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/internal/fleet"
)

// Memory is an Inbox and its Posts.
type Memory struct {
	handler fleet.Handler
	limit   int // chunks that the mailbox takes

	mu       sync.Mutex
	waiting  []*fleet.Delivery
	arrived  chan struct{}     // has room for one
	files    map[string][]byte // of the nets, by their hashes
	order    []string          // of the hashes, the newest last
	toPlay   string
	verdicts map[fleet.Player]chan fleet.Verdict
}

// NewMemory returns an Inbox whose mailbox takes so many chunks.
func NewMemory(h fleet.Handler, limit int) *Memory {
	return &Memory{handler: h, limit: limit, arrived: make(chan struct{}, 1), files: map[string][]byte{}, verdicts: map[fleet.Player]chan fleet.Verdict{}}
}

// Post returns the side of one player.
func (m *Memory) Post(p fleet.Player) fleet.Post {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.verdicts[p] == nil {
		m.verdicts[p] = make(chan fleet.Verdict, 1024)
	}
	return &post{m, p, m.verdicts[p]}
}

// Next waits for a delivery.
func (m *Memory) Next(ctx context.Context) (*fleet.Delivery, error) {
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
func (m *Memory) Publish(_ context.Context, r fleet.NetRef, file []byte) error {
	return m.put(r, file, true)
}

// Store makes a net known that nobody plays with but matches.
func (m *Memory) Store(_ context.Context, r fleet.NetRef, file []byte) error {
	return m.put(r, file, false)
}

func (m *Memory) put(r fleet.NetRef, file []byte, toPlay bool) error {
	if fleet.SumOf(file) != r.SHA256 {
		return fmt.Errorf("net %s is another one", r.Name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[r.SHA256] = slices.Clone(file)
	m.order = append(slices.DeleteFunc(m.order, func(sum string) bool { return sum == r.SHA256 }), r.SHA256)
	if toPlay {
		m.toPlay = r.SHA256
	}
	for _, sum := range m.order[:max(0, len(m.order)-fleet.KeptNets)] {
		if sum != m.toPlay {
			delete(m.files, sum)
		}
	}
	return nil
}

// Close does nothing.
func (m *Memory) Close() error { return nil }

type post struct {
	m        *Memory
	player   fleet.Player
	verdicts chan fleet.Verdict
}

func (p *post) Join(_ context.Context, h fleet.Hello) (fleet.Welcome, error) {
	return p.m.handler.Join(p.player, h), nil
}

func (p *post) Beat(_ context.Context, b fleet.Beat) (fleet.State, error) {
	return p.m.handler.Beat(p.player, b), nil
}

func (p *post) Lease(context.Context) (fleet.Task, error) {
	return p.m.handler.Lease(p.player), nil
}

func (p *post) Finish(_ context.Context, o fleet.Outcome) error {
	p.m.handler.Finish(p.player, o)
	return nil
}

func (p *post) Fetch(_ context.Context, r fleet.NetRef) ([]byte, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	file, there := p.m.files[r.SHA256]
	if !there {
		return nil, fleet.ErrNoNet
	}
	return slices.Clone(file), nil
}

func (p *post) Deliver(_ context.Context, data []byte, _ int) error {
	if len(data) > fleet.MaxChunk {
		return fleet.ErrTooLarge
	}
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if len(p.m.waiting) >= p.m.limit {
		return fleet.ErrFull
	}
	p.m.waiting = append(p.m.waiting, &fleet.Delivery{
		Chunk: fleet.Chunk{Player: p.player, Data: slices.Clone(data)},
		Settle: func(v fleet.Verdict) error {
			select {
			case p.verdicts <- v:
			default: // one that nobody takes is dropped
			}
			return nil
		},
	})
	p.m.wake()
	return nil
}

func (p *post) Verdicts() <-chan fleet.Verdict { return p.verdicts }
func (p *post) Close() error                   { return nil }
