package emulated

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// What an Access does. A copy is cp.async, whose other side is a GlobalRead.
const (
	SharedRead   = "shared read"
	SharedWrite  = "shared write"
	LoadMatrix   = "ldmatrix"
	CopyToShared = "copy to shared"
	GlobalRead   = "global read"
	GlobalWrite  = "global write"
)

// Access is what one line of a kernel's source did in all launches, as the memory of a
// GPU would have served it (runtime/profile.h has the rules).
type Access struct {
	Kernel string
	Place  string // file:line, and after each " < " from where that was inlined
	What   string
	Size   int // bytes a lane
	// Requests are instructions of a warp. Taken are the wavefronts that shared memory
	// or the sectors of 32 bytes that global memory took for them, Least what would do.
	Requests, Taken, Least int
}

// Shared says whether the access counts wavefronts of shared memory, else sectors.
func (a Access) Shared() bool { return a.What != GlobalRead && a.What != GlobalWrite }

// Profile counts the accesses to memory of the kernels that run on a device with it
// in Options. The zero value is ready. Methods may be called from any goroutine.
type Profile struct {
	mu       sync.Mutex
	accesses map[accessKey]*Access
}

type accessKey struct {
	kernel, place, what string
	size                int
}

// Accesses returns what was counted since the last call, by kernel, those that took
// most more than they had to first.
func (p *Profile) Accesses() []Access {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Access
	for a := range maps.Values(p.accesses) {
		all = append(all, *a)
	}
	clear(p.accesses)
	slices.SortFunc(all, func(a, b Access) int {
		return cmp.Or(cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(b.Taken-b.Least, a.Taken-a.Least), cmp.Compare(b.Taken, a.Taken), cmp.Compare(a.Place, b.Place), cmp.Compare(a.What, b.What), cmp.Compare(a.Size, b.Size))
	})
	return all
}

// Table writes accesses as lines of text.
func Table(accesses []Access) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %5s %10s %10s %10s %6s  %s\n", "", "bytes", "requests", "taken", "least", "", "")
	for _, a := range accesses {
		fmt.Fprintf(&b, "%-14s %5d %10d %10d %10d %6.2f  %s\n", a.What, a.Size, a.Requests, a.Taken, a.Least, float64(a.Taken)/float64(max(a.Least, 1)), a.Place)
	}
	return b.String()
}
