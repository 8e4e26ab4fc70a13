package host

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// conns knows the connections that go-plugin made: it forgets, and never closes,
// that of a plugin which breaks off in the middle of the start.
type conns struct {
	mu     sync.Mutex
	all    []*grpc.ClientConn
	closed bool
}

// intercept is called for each stream, and go-plugin opens one at once on each
// connection.
func (c *conns) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	c.mu.Lock()
	closed := c.closed
	if !closed && !slices.Contains(c.all, cc) {
		c.all = append(c.all, cc)
	}
	c.mu.Unlock()
	if closed {
		cc.Close()
		return nil, status.Error(codes.Unavailable, "the plugin was stopped")
	}
	return streamer(ctx, desc, cc, method, opts...)
}

// close closes all connections, and from then on each new one.
func (c *conns) close() {
	c.mu.Lock()
	all := c.all
	c.all, c.closed = nil, true
	c.mu.Unlock()
	for _, cc := range all {
		cc.Close() // twice is no harm
	}
}
