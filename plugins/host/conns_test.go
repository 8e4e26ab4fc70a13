package host

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Connections that were seen are closed, and those that come later, too: a start
// that breaks off leaves one that nobody else closes.
func TestConns(t *testing.T) {
	dial := func() *grpc.ClientConn {
		cc, err := grpc.NewClient("passthrough:///nowhere", grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		return cc
	}
	calls := 0
	stream := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		calls++
		return nil, nil
	}
	var c conns
	early, late := dial(), dial()
	for range 2 {
		if _, err := c.intercept(t.Context(), nil, early, "m", stream); err != nil {
			t.Fatal(err)
		}
	}
	c.close()
	if _, err := c.intercept(t.Context(), nil, late, "m", stream); status.Code(err) != codes.Unavailable {
		t.Errorf("a stream after the end: %v", err)
	}
	for name, cc := range map[string]*grpc.ClientConn{"early": early, "late": late} {
		if s := cc.GetState(); s != connectivity.Shutdown {
			t.Errorf("the %s connection is %s", name, s)
		}
	}
	if calls != 2 {
		t.Errorf("%d streams were opened, want 2", calls)
	}
}
