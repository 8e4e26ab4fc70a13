//go:build linux || darwin

package emulated

import (
	"fmt"
	"path/filepath"
	"strings"
)

const maxProfiled = 8192 // places in a launch that access memory

// profiled mirrors Profiled of profile.h.
type profiled struct {
	code                   uint64
	what, size             uint32
	requests, taken, least uint64
}

// whats are the names of profile.h's What.
var whats = [...]string{SharedRead, SharedWrite, LoadMatrix, CopyToShared, GlobalRead, GlobalWrite}

// add takes what a launch did. A line of the source is one place, however often the
// compiler has written it out.
func (p *Profile) add(k *function, places []profiled) {
	if p == nil {
		return
	}
	offsets := make([]uint64, len(places))
	for i, q := range places {
		offsets[i] = q.code - 1 // a return address: the call is before it
	}
	lines := sourceLines(k.object, offsets)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.accesses == nil {
		p.accesses = map[accessKey]*Access{}
	}
	for i, q := range places {
		var names []string
		for _, line := range lines[offsets[i]] {
			names = append(names, filepath.Base(line))
		}
		if len(names) == 0 {
			names = []string{fmt.Sprintf("%#x", q.code)}
		}
		key := accessKey{k.name, strings.Join(names, " < "), whats[q.what], int(q.size)}
		a := p.accesses[key]
		if a == nil {
			a = &Access{Kernel: key.kernel, Place: key.place, What: key.what, Size: key.size}
			p.accesses[key] = a
		}
		a.Requests += int(q.requests)
		a.Taken += int(q.taken)
		a.Least += int(q.least)
	}
}
