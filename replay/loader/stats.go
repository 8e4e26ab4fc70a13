package loader

import "time"

// Stats is a look at a running loader.
type Stats struct {
	Seconds     float64       `json:"seconds"` // since the start
	Stages      []StageStats  `json:"stages"`  // each after those it reads
	Quarantined uint64        `json:"quarantined"`
	Quarantine  []Quarantined `json:"quarantine,omitempty"` // at most 1000
	NewChunks   int           `json:"new_chunks"`           // since the last net; see Schedule
	ScanDone    bool          `json:"scan_done"`            // the first scan is complete
}

// StageStats are the counters of one stage.
type StageStats struct {
	Name     string        `json:"name"`
	Kind     string        `json:"kind"`
	Inputs   []string      `json:"inputs,omitempty"`
	Outputs  []OutputStats `json:"outputs"`
	Counters []Counter     `json:"counters,omitempty"`
}

// OutputStats are the counters of the queue behind one output.
type OutputStats struct {
	Name string `json:"name"` // stage, or stage.port
	Type string `json:"type"`
	QueueStats
	// Passed are the items that got through in the last complete 1, 2, 4, 8 ...
	// seconds (see History).
	Passed []uint64 `json:"passed,omitempty"`
}

// Stats returns the counters as they are now.
func (l *Loader) Stats() Stats {
	l.mu.Lock()
	s := Stats{}
	if l.started {
		s.Seconds = time.Since(l.begin).Seconds()
	}
	l.mu.Unlock()
	s.Quarantine, s.Quarantined = l.quarantine.List()
	s.NewChunks, _, s.ScanDone = l.schedule.state()
	windows := l.history.windows()
	for _, n := range l.graph.nodes {
		st := StageStats{Name: n.config.Name, Kind: n.kind.name, Counters: n.stage.Stats()}
		for _, p := range n.inputs {
			st.Inputs = append(st.Inputs, p.String())
		}
		for i, q := range n.out {
			st.Outputs = append(st.Outputs, OutputStats{Name: port{n, i}.String(), Type: n.kind.out.String(), QueueStats: q.Stats(), Passed: windows[0]})
			windows = windows[1:]
		}
		s.Stages = append(s.Stages, st)
	}
	return s
}
