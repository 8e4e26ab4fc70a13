package host

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api"
)

// deadline bounds calls to one process: at the end of the time for a call the
// process is killed, which ends the call, whatever it waits for.
type deadline struct {
	proc  *process
	limit time.Duration
	hung  atomic.Bool // it came to that
}

func (s *supervisor) deadline() *deadline { return &deadline{proc: s.proc, limit: s.h.o.CallTimeout} }

// call makes one call.
func (d *deadline) call(f func() error) error {
	timer := time.AfterFunc(d.limit, func() {
		d.hung.Store(true)
		d.proc.child.kill()
	})
	defer timer.Stop()
	return f()
}

// failure kills the process and says what it did: err came of a call. while is
// what it was doing, such as "rescored 12 games".
func (s *supervisor) failure(d *deadline, while string, err error) *Error {
	e := &Error{Kind: s.kind, Name: s.name}
	if d.hung.Load() {
		d.proc.kill()
		e.Did = fmt.Sprintf("hung: no answer within %s while it %s", d.limit, while)
		return e
	}
	if lost(err) {
		d.proc.child.settle()
	}
	d.proc.kill()
	e.Did, e.Err = d.proc.failure(context.Background(), while, "", err)
	return e
}

// lost says that err is about a connection that broke.
func lost(err error) bool {
	return status.Code(err) == codes.Unavailable || errors.Is(err, api.ErrEnded)
}

// died is the error of a process that is gone.
func (p *process) died(while string) *Error {
	p.kill()
	return &Error{Kind: p.def.Kind, Name: p.def.Name, Did: "died while it " + while + p.death()}
}
