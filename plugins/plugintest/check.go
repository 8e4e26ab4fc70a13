package plugintest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// Result is the outcome of one check.
type Result struct {
	Name    string // what is promised, such as "an unknown setting is refused"
	Err     error  // what was found instead; nil = the promise holds
	Skipped string // why the check does not apply; "" = it was made
}

// String returns one line: ok, skip or FAIL, the check, and why.
func (r Result) String() string {
	switch {
	case r.Err != nil:
		return fmt.Sprintf("FAIL  %s: %v", r.Name, r.Err)
	case r.Skipped != "":
		return fmt.Sprintf("skip  %s: %s", r.Name, r.Skipped)
	}
	return "ok    " + r.Name
}

// output is what a stage made of one of the suite's inputs, so that two ways of
// reaching it can be compared.
type output struct {
	what string
	sum  [sha256.Size]byte
}

// suite is one run of the checks.
type suite struct {
	ctx     context.Context
	s       Subject
	seed    uint64
	results []Result
	outputs []output
}

// Check holds a stage to what its kind promises, with inputs made from a seed.
// Every instance that it makes is closed again. A plugin that hangs is ended by
// whatever deadline ctx and the subject have.
func Check(ctx context.Context, s Subject, seed uint64) []Result {
	results, _ := check(ctx, s, seed)
	return results
}

// check is Check, with what the stage made of the inputs.
func check(ctx context.Context, s Subject, seed uint64) ([]Result, []output) {
	c := &suite{ctx: ctx, s: s, seed: seed}
	c.definition()
	switch s.Definition.Kind {
	case stage.KindRescorer:
		c.rescorer()
	case stage.KindSampler:
		c.sampler()
	case stage.KindExporter:
		c.exporter()
	}
	return c.results, c.outputs
}

// do makes one check. A panic of a stage that runs in this process is what the
// check found.
func (c *suite) do(name string, fn func() error) {
	defer func() {
		if p := recover(); p != nil {
			c.results = append(c.results, Result{Name: name, Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())})
		}
	}()
	err := fn()
	if why, ok := errors.AsType[notHere](err); ok {
		c.skip(name, string(why))
		return
	}
	c.results = append(c.results, Result{Name: name, Err: err})
}

// doDeterministic makes a check of stages that say that they are deterministic.
func (c *suite) doDeterministic(name string, fn func() error) {
	if c.s.Definition.Has(stage.Deterministic) {
		c.do(name, fn)
	} else {
		c.skip(name, "it does not say that it is deterministic")
	}
}

// notHere is what a check returns that cannot be made in this way of reaching
// the stage, and why.
type notHere string

func (n notHere) Error() string { return string(n) }

// skip notes a check that does not apply.
func (c *suite) skip(name, why string) {
	c.results = append(c.results, Result{Name: name, Skipped: why})
}

// with makes an instance with the subject's settings, passes it to fn and
// closes it.
func (c *suite) with(fn func(Stage) error) (err error) {
	return c.withSettings(c.s.Settings, fn)
}

func (c *suite) withSettings(settings map[string]string, fn func(Stage) error) (err error) {
	st, err := c.s.New(c.ctx, maps.Clone(settings))
	if err != nil {
		return fmt.Errorf("it cannot be made with %v: %w", settings, err)
	}
	defer func() {
		if closeErr := st.close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close: %w", closeErr))
		}
	}()
	return fn(st)
}

// keep notes an output under a name that is the same however the stage is
// reached.
func (c *suite) keep(what string, data []byte) {
	c.outputs = append(c.outputs, output{what, sha256.Sum256(data)})
}

// differ names the first output in which two runs of the suite differ, "" where
// they are equal.
func differ(a, b []output) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i].what
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("the number of outputs, %d and %d", len(a), len(b))
	}
	return ""
}

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
