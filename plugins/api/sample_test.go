package api

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// testSampler draws by weight, and gives row k of a batch the weight k. Its state is
// that of a generator, and extra bytes.
type testSampler struct {
	extra int
	draws atomic.Int64

	mu   sync.Mutex                  // draws made ahead may run while a test changes the hook
	hook func(context.Context) error // called first
}

func (s *testSampler) set(hook func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

func (s *testSampler) Name() string { return "test-sampler" }

func (s *testSampler) Sample(ctx context.Context, d stage.Draw, dst []stage.RowRef) ([]stage.RowRef, []byte, error) {
	s.draws.Add(1)
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		if err := hook(ctx); err != nil {
			return dst, nil, err
		}
	}
	pcg := rand.NewPCG(d.Seed, d.Stream)
	if len(d.State) > 0 {
		if err := pcg.UnmarshalBinary(d.State[:max(0, len(d.State)-s.extra)]); err != nil {
			return dst, nil, err
		}
	}
	if d.Rows > 0 && d.Index.NumRows() == 0 {
		return dst, nil, errors.New("no rows to sample from")
	}
	rng := rand.New(pcg)
	for k := range d.Rows {
		game, ply := d.Index.RowAt(rng.Uint64N(d.Index.WeightSum()))
		dst = append(dst, stage.RowRef{Game: game, Ply: ply, Weight: float32(k)})
	}
	state, err := pcg.MarshalBinary()
	return dst, append(state, make([]byte, s.extra)...), err
}

func sampling(s stage.Sampler) *stage.Definition {
	return &stage.Definition{Kind: stage.KindSampler, Name: "test-sampler", Version: "1.0.0", Doc: "a test", Concurrency: 1,
		NewSampler: func(stage.Values) (stage.Sampler, error) { return s, nil }}
}

// openedSampler returns a sampler behind gRPC.
func openedSampler(t testing.TB, s stage.Sampler) *Sampler {
	t.Helper()
	c, d := open(t, sampling(s), nil)
	return NewSampler(t.Context(), c, d)
}

func slidingWindow(rng *rand.Rand) func() plainIndex {
	var window plainIndex
	seq := uint64(0)
	return func() plainIndex {
		window = slices.Clone(window[rng.IntN(min(len(window), 3)+1):])
		for range 1 + rng.IntN(4) {
			window = append(window, randomPlainGame(rng, seq))
			seq++
		}
		return window
	}
}

// A sampler behind gRPC is the function that it is without: whatever index, size or
// state comes next, it gives the same rows and states. Batches are made ahead of their
// use where draws go on from one another.
func TestSample(t *testing.T) {
	for _, extra := range []int{0, 100_000} {
		rng, ctx := freshRand(t), context.Background()
		inner, bare := &testSampler{extra: extra}, &testSampler{extra: extra}
		s := openedSampler(t, inner)
		slide := slidingWindow(rng)
		d := stage.Draw{Seed: 7, Stream: 8, Index: slide(), Rows: 5}
		states := [][]byte{nil}
		for i := range 300 {
			switch rng.IntN(40) {
			case 0, 1:
				d.Index = slide()
			case 2:
				d.Rows = rng.IntN(300)
			case 3:
				d.State, d.Seed = nil, rng.Uint64N(3)
			case 4:
				d.State = states[rng.IntN(len(states))]
			}
			before := []stage.RowRef{{Game: 99}}
			want, wantState, err := bare.Sample(ctx, d, before)
			if err != nil {
				t.Fatal(err)
			}
			got, state, err := s.Sample(ctx, d, before)
			if err != nil || !slices.Equal(got, want) || !bytes.Equal(state, wantState) {
				t.Fatalf("draw %d: %v, other rows or another state", i, err)
			}
			d.State = state
			states = append(states, state)
		}
		if n := inner.draws.Load(); n <= 300 {
			t.Errorf("%d draws were made for 300: none ahead", n)
		}
	}
}

// Whoever draws equally often from each index has, from the second index on, exactly
// so many batches made, in as few calls as hold them.
func TestSampleAhead(t *testing.T) {
	for _, draws := range []int{1, 2, 5, maxAhead, maxAhead + 3} {
		inner := &testSampler{}
		s := openedSampler(t, inner)
		slide := slidingWindow(freshRand(t))
		d := stage.Draw{Rows: 3}
		for turn := range 4 {
			d.Index = slide()
			before := inner.draws.Load()
			for range draws {
				_, state, err := s.Sample(t.Context(), d, nil)
				if err != nil {
					t.Fatal(err)
				}
				d.State = state
			}
			if made := inner.draws.Load() - before; turn > 0 && made != int64(draws) {
				t.Errorf("%d draws from an index: %d made", draws, made)
			}
		}
	}
}

// A sampler's own error is one of the call; a panic is no answer of its own. Both leave
// the plugin in a state to go on.
func TestSampleErrors(t *testing.T) {
	ctx, inner := context.Background(), &testSampler{}
	s := openedSampler(t, inner)
	_, _, err := s.Sample(ctx, stage.Draw{Index: plainIndex{}, Rows: 5}, nil)
	if wantError(t, err, "no rows to sample from"); errors.Is(err, ErrAnswer) || status.Code(err) != codes.InvalidArgument {
		t.Errorf("the sampler's own error counts as something else: %v", err)
	}
	d := stage.Draw{Index: slidingWindow(freshRand(t))(), Rows: 5}
	good := func() {
		t.Helper()
		if out, _, err := s.Sample(ctx, d, nil); err != nil || len(out) != 5 {
			t.Error(err)
		}
	}
	good()
	for _, state := range [][]byte{[]byte("none"), make([]byte, MaxState+1)} {
		if _, _, err := s.Sample(ctx, stage.Draw{State: state}, nil); err == nil {
			t.Errorf("a foreign state of %d bytes was taken", len(state))
		}
	}
	inner.set(func(context.Context) error { panic("bad luck") })
	_, _, err = s.Sample(ctx, d, nil)
	if wantError(t, err, "panic: bad luck"); status.Code(err) != codes.Internal {
		t.Errorf("code %v", status.Code(err))
	}
	inner.set(nil)
	good()
	for _, n := range []int{-1, MaxDraw + 1} {
		if _, _, err := s.Sample(ctx, stage.Draw{Index: d.Index, Rows: n}, nil); err == nil {
			t.Errorf("a draw of %d rows", n)
		}
	}
}

// A batch made ahead that fails is no error before it is asked for.
func TestSampleFailsAhead(t *testing.T) {
	inner := &testSampler{}
	s := openedSampler(t, inner)
	d := stage.Draw{Index: slidingWindow(freshRand(t))(), Rows: 5}
	inner.set(func(context.Context) error {
		if inner.draws.Load() > 5 {
			return errors.New("no more")
		}
		return nil
	})
	for i := range 6 {
		_, state, err := s.Sample(t.Context(), d, nil)
		if (err != nil) != (i == 5) {
			t.Fatalf("draw %d: %v", i, err)
		}
		d.State = state
	}
}

// Whoever waits for a draw can give up; the next draw is as if it had not been.
func TestSampleCancel(t *testing.T) {
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	inner := &testSampler{}
	s := openedSampler(t, inner)
	slide := slidingWindow(freshRand(t))
	d := stage.Draw{Index: slide(), Rows: 5}
	inner.set(func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, _, err := s.Sample(ctx, d, nil)
		result <- err
	}()
	<-entered
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	waits, end := context.WithCancel(context.Background())
	go func() {
		_, _, err := s.Sample(waits, d, nil) // for the call that is under way
		result <- err
	}()
	end()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("while another call is under way: %v", err)
	}
	inner.set(nil)
	close(leave)
	d.Index = slide()
	want, _, _ := (&testSampler{}).Sample(context.Background(), d, nil)
	if out, _, err := s.Sample(context.Background(), d, nil); err != nil || !slices.Equal(out, want) {
		t.Errorf("after a cancelled draw: %v, %v, want %v", out, err, want)
	}
}

// rawSampler gives one reply to all calls.
type rawSampler struct {
	pluginpb.UnimplementedSamplerServer
	reply *pluginpb.SampleReply
}

func (r *rawSampler) Sample(context.Context, *pluginpb.SampleRequest) (*pluginpb.SampleReply, error) {
	return r.reply, nil
}

// Rows that are not there, weights that are no weights, a wrong number of rows.
func TestSampleWrongAnswers(t *testing.T) {
	window := plainIndex{{info: stage.GameInfo{Seq: 5, Plies: 9, NumRows: 2, Weight: 2}, rows: []stage.RowInfo{{Ply: 3, Weight: 1}, {Ply: 6, Weight: 1}},
		stats: make([]stage.RowStats, 2)}}
	for _, c := range []struct {
		name  string
		batch *pluginpb.SampleBatch
		want  string
	}{
		{"too few", &pluginpb.SampleBatch{Games: []uint64{5}, Plies: []uint32{3}, Weights: []float32{1}}, "1 games, 1 plies and 1 weights for a draw of 2"},
		{"too many", &pluginpb.SampleBatch{Games: []uint64{5, 5, 5}, Plies: []uint32{3, 3, 3}, Weights: []float32{1, 1, 1}}, "for a draw of 2"},
		{"uneven", &pluginpb.SampleBatch{Games: []uint64{5, 5}, Plies: []uint32{3}, Weights: []float32{1, 1}}, "1 plies"},
		{"other game", &pluginpb.SampleBatch{Games: []uint64{5, 6}, Plies: []uint32{3, 3}, Weights: []float32{1, 1}}, "row 1: game 6, ply 3 is not in the index"},
		{"no row", &pluginpb.SampleBatch{Games: []uint64{5, 5}, Plies: []uint32{3, 4}, Weights: []float32{1, 1}}, "row 1: game 5, ply 4"},
		{"beyond", &pluginpb.SampleBatch{Games: []uint64{5, 5}, Plies: []uint32{3, 1<<31 + 3}, Weights: []float32{1, 1}}, "row 1: game 5, ply 2147483651"},
		{"NaN", &pluginpb.SampleBatch{Games: []uint64{5, 5}, Plies: []uint32{3, 6}, Weights: []float32{1, float32(math.NaN())}}, "row 1: weight NaN"},
		{"infinite", &pluginpb.SampleBatch{Games: []uint64{5, 5}, Plies: []uint32{3, 6}, Weights: []float32{float32(math.Inf(1)), 1}}, "row 0: weight +Inf"},
		{"negative", &pluginpb.SampleBatch{Games: []uint64{5, 5}, Plies: []uint32{3, 6}, Weights: []float32{-1, 1}}, "row 0: weight -1"},
		{"large state", &pluginpb.SampleBatch{Games: []uint64{5, 5}, Plies: []uint32{3, 6}, Weights: []float32{1, 1}, State: make([]byte, MaxState+1)}, "a state of 32505857 bytes"},
		{"no batch", nil, "0 batches, want 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := &pluginpb.SampleReply{}
			if c.batch != nil {
				reply.Batches = append(reply.Batches, c.batch)
			}
			conn := dial(t, func(s *grpc.Server) { pluginpb.RegisterSamplerServer(s, &rawSampler{reply: reply}) })
			before := []stage.RowRef{{Game: 1}}
			out, _, err := NewSampler(t.Context(), conn, sampling(nil)).Sample(t.Context(), stage.Draw{Index: window, Rows: 2}, before)
			if wantError(t, err, c.want); !errors.Is(err, ErrAnswer) || !slices.Equal(out, before) {
				t.Errorf("%v, wraps ErrAnswer: %v, %d rows", err, errors.Is(err, ErrAnswer), len(out))
			}
		})
	}
}

// Requests that break the protocol are refused.
func TestSampleWrongRequests(t *testing.T) {
	for name, r := range map[string]*pluginpb.SampleRequest{
		"too many rows": {Rows: MaxDraw + 1, Batches: 1}, "too many batches": {Batches: maxAhead + 1},
		"broken update": {Index: &pluginpb.IndexUpdate{Seq: []uint64{1}}},
	} {
		c, _ := open(t, sampling(&testSampler{}), nil)
		if _, err := pluginpb.NewSamplerClient(c.cc).Sample(t.Context(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
