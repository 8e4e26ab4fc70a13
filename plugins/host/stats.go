package host

import (
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Stats count what an external stage has done since it was made, over all its
// processes.
type Stats struct {
	Kind    stage.Kind
	Name    string
	Version string
	PID     int // 0 = no process runs at the moment

	Calls       uint64  // answered: batches of games, draws, exports
	Games       uint64  // of a rescorer
	Rows        uint64  // positions of the games, or rows drawn
	Bytes       uint64  // of games sent, about, or of files written
	Seconds     float64 // in which it worked on calls that were answered: Seconds/Calls is the mean latency, Rows/Seconds its speed
	Restarts    uint64  // starts after the first
	Quarantined uint64  // games
}

// counters are the Stats of one stage. Safe for concurrent use.
type counters struct {
	mu sync.Mutex
	s  Stats
}

// call counts one answered call.
func (c *counters) call(games, rows, bytes int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Calls++
	c.s.Games += uint64(games)
	c.s.Rows += uint64(rows)
	c.s.Bytes += uint64(bytes)
	c.s.Seconds += took.Seconds()
}

// now notes the process that runs; version "" leaves the last one.
func (c *counters) now(version string, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.PID = pid
	if version != "" {
		c.s.Version = version
	}
}

func (c *counters) restarted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Restarts++
}

func (c *counters) quarantined() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Quarantined++
}

// statistics returns the counters of the stage.
func (s *supervisor) statistics() Stats {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	st := s.stats.s
	st.Kind, st.Name = s.kind, s.name
	return st
}
