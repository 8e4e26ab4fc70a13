package ratings

import (
	"context"
	"errors"
	"sync"

	"github.com/chessbrain/chessbrain/loop"
)

// Page is one page of a rater's state.
type Page struct {
	State    string `json:"state"`             // playing or waiting
	Player1  string `json:"player1,omitempty"` // of the match under way
	Player2  string `json:"player2,omitempty"`
	Finished int    `json:"finished,omitempty"` // games of that match
	Of       int    `json:"of,omitempty"`
	Matches  int    `json:"matches"` // played to their end by this process
	Games    int    `json:"games"`
}

// page is a Page that two goroutines share.
type page struct {
	mu   sync.Mutex
	page Page
}

func (p *page) set(change func(*Page)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.page)
}

func (p *page) get() Page {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.page
}

// listen opens the control socket, which knows status and stop.
func (r *rater) listen(dir string, stop func()) (*loop.Control, error) {
	return loop.ListenRole(dir, role, r.lock, loop.Commands{
		Status: func() any { return r.page.get() },
		Stop:   stop,
		Swap:   func(context.Context, loop.Swap) error { return errors.New("a rater has no stages") },
	})
}
