package host

import (
	"context"
	"errors"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/api"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// exporter is a plugin's exporter under supervision. An export that ends the
// process is made once more by another one; a failed one leaves no file. Safe for
// concurrent use; calls take turns.
type exporter struct{ *supervisor }

// Export writes the plugin's files into dst. CallTimeout is for all of it.
func (e *exporter) Export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	if err := e.take(ctx); err != nil {
		return nil, err
	}
	defer e.give()
	files, err := e.export(ctx, c, dst)
	if errors.Is(err, errFailed) {
		files, err = e.export(ctx, c, dst)
	}
	return files, err
}

// errFailed marks an export that ended the process.
var errFailed = errors.New("the process was ended")

// export makes one try. Errors are of type *Error, that of ctx, or local ones
// about files and games.
func (e *exporter) export(ctx context.Context, c *stage.Checkpoint, dst string) ([]string, error) {
	proc, err := e.process(ctx)
	if err != nil {
		return nil, err
	}
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.life, cancel)()
	d, begun := e.deadline(), time.Now()
	var files []string
	err = d.call(func() (err error) {
		files, err = proc.conn.Export(call, proc.def, fsx.OS, c, dst)
		return err
	})
	_, isCall := status.FromError(err)
	code := status.Code(err)
	switch {
	case err == nil:
		e.succeeded()
		e.answered(0, 0, sizeOf(files), time.Since(begun))
		return files, nil
	case d.hung.Load():
	case e.usable(ctx) != nil:
		return nil, e.usable(ctx)
	case !isCall && !errors.Is(err, api.ErrAnswer) && !errors.Is(err, api.ErrEnded):
		return nil, err // of the disk, or of the games
	case !errors.Is(err, api.ErrAnswer) && (code == codes.Unknown || code == codes.InvalidArgument || code == codes.FailedPrecondition):
		e.succeeded()
		return nil, &Error{Kind: e.kind, Name: e.name, Did: "refused", Err: err}
	}
	failure := e.failure(d, "exported "+c.Net.Name, err)
	e.fail(failure)
	return nil, mark(errFailed, failure)
}

// sizeOf returns the bytes of all files.
func sizeOf(files []string) int {
	n := 0
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			n += int(info.Size())
		}
	}
	return n
}
