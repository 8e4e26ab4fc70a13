package loader

import (
	"slices"
	"strings"
	"sync"
)

// maxQuarantined bounds the entries that a Quarantine keeps; it counts on.
const maxQuarantined = 1000

// Quarantine counts and names files and chunks that cannot be used. The loader
// goes on without them; a file that changes gets another chance. The files
// themselves stay where they are. Safe for concurrent use.
type Quarantine struct {
	mu      sync.Mutex
	entries map[string]string // key or chunk -> error
	total   uint64
}

// Quarantined is one entry.
type Quarantined struct {
	Name  string `json:"name"`  // key of a source, or of a chunk: "a.tar[17]"
	Error string `json:"error"` // names the file and says what is wrong
}

// Add puts the named file or chunk in. The same name counts once.
func (q *Quarantine) Add(name string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, known := q.entries[name]; known {
		return
	}
	q.total++
	if len(q.entries) >= maxQuarantined {
		return
	}
	if q.entries == nil {
		q.entries = map[string]string{}
	}
	q.entries[name] = err.Error()
}

// Release takes a source and its chunks out: its file has changed.
func (q *Quarantine) Release(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name := range q.entries {
		if name == key || strings.HasPrefix(name, key+"[") {
			delete(q.entries, name)
		}
	}
}

// List returns the entries by name, at most 1000, and how many were ever added.
func (q *Quarantine) List() (entries []Quarantined, total uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, err := range q.entries {
		entries = append(entries, Quarantined{name, err})
	}
	slices.SortFunc(entries, func(a, b Quarantined) int { return strings.Compare(a.Name, b.Name) })
	return entries, q.total
}
