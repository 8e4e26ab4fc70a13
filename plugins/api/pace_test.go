package api

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
)

// A user who draws equally often from each index has, from the second index on,
// exactly so many draws made.
func TestPace(t *testing.T) {
	for _, draws := range []int{1, 2, 5, maxAhead, maxAhead + 3, 3 * maxAhead} {
		p := pace{next: 1}
		for turn := range 4 {
			p.turn()
			made := 0
			for range draws {
				if made == 0 {
					if made = p.burst(); made < 1 || made > maxAhead {
						t.Fatalf("a burst of %d", made)
					}
				}
				made--
				p.used++
			}
			if turn > 0 && made != 0 {
				t.Errorf("%d draws an index: %d made in vain", draws, made)
			}
		}
		p.miss()
		if n := p.burst(); n != 1 {
			t.Errorf("after a miss a burst of %d", n)
		}
	}
}

// loads counts the calls of Load.
type loads struct {
	pluginpb.SamplerClient
	n int
}

func (l *loads) Load(ctx context.Context, in *pluginpb.State, opts ...grpc.CallOption) (*pluginpb.LoadReply, error) {
	l.n++
	return l.SamplerClient.Load(ctx, in, opts...)
}

// A state that came with an answer is loaded without a call of its own, another
// one with one; either way the rows are those of a sampler that holds it.
func TestSampleBack(t *testing.T) {
	rng, ctx := freshRand(t), t.Context()
	s, reference := opened(t, newTestSampler()), newTestSampler()
	counted := &loads{SamplerClient: s.conn.sampler}
	s.conn.sampler = counted
	foreign := newTestSampler()
	foreign.Seed(rng.Uint64(), 3)
	slide := slidingWindow(rng)
	window := slide()
	states := [][]byte{}
	for range 100 {
		if len(states) > 0 && rng.IntN(4) == 0 {
			state := states[len(states)-1-rng.IntN(min(len(states), knownStates/2))]
			load(t, s, state)
			load(t, reference, state)
			window = slide()
		}
		n := 1 + rng.IntN(5)
		want, err := reference.Sample(ctx, window, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Sample(ctx, window, n, nil); err != nil || !slices.Equal(got, want) {
			t.Fatalf("other rows: %v", err)
		}
		_, state, ok := s.LastState()
		if !ok || !bytes.Equal(state, saved(t, reference)) {
			t.Fatal("another state")
		}
		states = append(states, state)
	}
	if counted.n != 0 {
		t.Errorf("%d calls of Load for states that came with answers", counted.n)
	}
	load(t, s, saved(t, foreign))
	load(t, reference, saved(t, foreign))
	if counted.n != 1 {
		t.Errorf("%d calls of Load for a state that never came", counted.n)
	}
	want, _ := reference.Sample(ctx, window, 3, nil)
	if got, err := s.Sample(ctx, window, 3, nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("other rows: %v", err)
	}
}

// A sampler that refuses a state of its own is at fault: that is no refusal of
// the user's.
func TestSampleBackRefused(t *testing.T) {
	c, _ := open(t, sampling(newTestSampler()), nil)
	for name, state := range map[string]*pluginpb.State{
		"version": {Name: "test_state", Version: 9, Data: []byte("x")}, "name": {Name: "other", Version: 3}} {
		stream, err := c.sampler.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_State{State: state}}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Internal {
			t.Errorf("%s: %v, want code Internal", name, err)
		}
	}
}
