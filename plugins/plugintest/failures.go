package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/host"
)

// maxShown is how many failures are listed.
const maxShown = 5

// Failures collects what a host tells of a plugin that failed: the host starts it
// anew and the stage goes on, so that the suite may not see it.
type Failures struct {
	mu   sync.Mutex
	errs []error
}

// Note is host.Options.Notify.
func (f *Failures) Note(e host.Event) {
	if e.State == host.Failed || e.State == host.Quarantined {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errs = append(f.errs, fmt.Errorf("%s: %s", e.State, e.Detail))
	}
}

// Result is the check that there were none.
func (f *Failures) Result() Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	shown := f.errs
	if more := len(shown) - maxShown; more > 0 {
		shown = append(slices.Clone(shown[:maxShown]), fmt.Errorf("and %d times more", more))
	}
	return Result{Name: "its process never had to be replaced", Err: errors.Join(shown...)}
}

// MarshalJSON writes {"check", "ok", "skipped", "error"}.
func (r Result) MarshalJSON() ([]byte, error) {
	line := struct {
		Check   string `json:"check"`
		OK      bool   `json:"ok"`
		Skipped string `json:"skipped,omitempty"`
		Error   string `json:"error,omitempty"`
	}{Check: r.Name, OK: r.Err == nil, Skipped: r.Skipped}
	if r.Err != nil {
		line.Error = r.Err.Error()
	}
	return json.Marshal(line)
}
