package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// testSampler draws by weight, and gives row k of a call the weight k.
type testSampler struct {
	pcg *rand.PCG

	mu    sync.Mutex                  // draws made ahead may run while a test changes what follows
	extra int                         // bytes of the state besides the generator's
	hook  func(context.Context) error // called first
}

func (s *testSampler) set(extra int, hook func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra, s.hook = extra, hook
}

func (s *testSampler) get() (extra int, hook func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.extra, s.hook
}

func (s *testSampler) Name() string             { return "test-sampler" }
func (s *testSampler) Seed(seed, stream uint64) { s.pcg.Seed(seed, stream) }

func (s *testSampler) Sample(ctx context.Context, idx stage.Index, n int, dst []stage.RowRef) ([]stage.RowRef, error) {
	if _, hook := s.get(); hook != nil {
		if err := hook(ctx); err != nil {
			return dst, err
		}
	}
	if idx.NumRows() == 0 {
		return dst, errors.New("no rows to sample from")
	}
	rng := rand.New(s.pcg)
	for k := range n {
		game, ply := idx.RowAt(rng.Uint64N(idx.WeightSum()))
		dst = append(dst, stage.RowRef{Game: game, Ply: ply, Weight: float32(k)})
	}
	return dst, nil
}

func (s *testSampler) Section() stage.Section {
	return stage.Section{Name: "test_state", Version: 3,
		Save: func(w io.Writer) error {
			extra, _ := s.get()
			state, err := s.pcg.MarshalBinary()
			if err == nil {
				_, err = w.Write(append(state, make([]byte, extra)...))
			}
			return err
		},
		Load: func(r io.Reader, version int) error {
			state, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			extra, _ := s.get()
			if version != 3 || len(state) < extra {
				return fmt.Errorf("a state of version %d with %d bytes", version, len(state))
			}
			var pcg rand.PCG
			if err := pcg.UnmarshalBinary(state[:len(state)-extra]); err != nil {
				return err
			}
			*s.pcg = pcg
			return nil
		}}
}

func newTestSampler() *testSampler { return &testSampler{pcg: rand.NewPCG(0, 0)} }

func sampling(s stage.Sampler) *stage.Definition {
	return &stage.Definition{Kind: stage.KindSampler, Name: "test-sampler", Version: "1.0.0", Doc: "a test", Concurrency: 1,
		NewSampler: func(stage.Values) (stage.Sampler, error) { return s, nil }}
}

// opened returns a sampler behind gRPC.
func opened(t testing.TB, s stage.Sampler) *Sampler {
	t.Helper()
	c, d := open(t, sampling(s), nil)
	out, err := NewSampler(t.Context(), c, d)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*Sampler)
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

// A sampler behind gRPC draws the rows that it draws without, and its state goes
// over to one without, and back.
func TestSample(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	bare, remote := newTestSampler(), opened(t, newTestSampler())
	if remote.Name() != "test-sampler" {
		t.Errorf("name %s", remote.Name())
	}
	bare.Seed(7, 8)
	remote.Seed(7, 8)
	next := slidingWindow(rng)
	for step := range 60 {
		window, n := next(), rng.IntN(300)
		want, err := bare.Sample(ctx, window, n, []stage.RowRef{{Game: 99}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := remote.Sample(ctx, window, n, []stage.RowRef{{Game: 99}})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("step %d: %v, other rows: %v", step, err, !slices.Equal(got, want))
		}
		version, last, ok := remote.LastState()
		state := saved(t, bare)
		if !ok || version != 3 || !bytes.Equal(last, state) || !bytes.Equal(saved(t, remote), state) {
			t.Fatalf("step %d: another state", step)
		}
		if step%7 == 0 { // each goes on from the other's state
			load(t, bare, saved(t, remote))
			load(t, remote, state)
		}
	}
}

func saved(t testing.TB, s stage.Sampler) []byte {
	t.Helper()
	var b bytes.Buffer
	section := s.Section()
	if err := section.Save(&b); err != nil || section.Name != "test_state" || section.Version != 3 {
		t.Fatalf("section %s of version %d: %v", section.Name, section.Version, err)
	}
	return b.Bytes()
}

func load(t testing.TB, s stage.Sampler, state []byte) {
	t.Helper()
	if err := s.Section().Load(bytes.NewReader(state), 3); err != nil {
		t.Fatal(err)
	}
}

// A foreign state is refused and the old one stays.
func TestSampleForeignState(t *testing.T) {
	s := opened(t, newTestSampler())
	s.Seed(1, 2)
	before := saved(t, s)
	for name, err := range map[string]error{
		"version": s.Section().Load(bytes.NewReader(before), 4),
		"bytes":   s.Section().Load(bytes.NewReader(before[:3]), 3),
		"name":    s.conn.Load(t.Context(), State{"other", 3, before}),
		"no name": s.conn.Load(t.Context(), State{"", 3, before}),
	} {
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Section().Load(bytes.NewReader(make([]byte, MaxState+1)), 3); err == nil {
		t.Error("a state beyond the limit was sent")
	}
	if !bytes.Equal(before, saved(t, s)) {
		t.Error("a refused state changed the state")
	}
}

// A large state is saved and loaded, but does not travel with each answer.
func TestSampleLargeState(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	inner := newTestSampler()
	inner.set(MaxReplyState, nil)
	s := opened(t, inner)
	window := slidingWindow(rng)()
	if _, err := s.Sample(ctx, window, 3, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.LastState(); ok {
		t.Error("a large state came with the answer")
	}
	state := saved(t, s)
	want, _ := s.Sample(ctx, window, 9, nil)
	load(t, s, state)
	if got, err := s.Sample(ctx, window, 9, nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("other rows after loading the state: %v", err)
	}
	inner.set(100, nil)
	load(t, s, saved(t, s))
	if _, err := s.Sample(ctx, window, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, last, ok := s.LastState(); !ok || !bytes.Equal(last, saved(t, s)) {
		t.Error("a state that has become small does not travel")
	}
}

// A sampler's own error leaves its stream and index in place; a panic ends the
// stream, and the next draw opens another one.
func TestSampleErrors(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	inner := newTestSampler()
	s := opened(t, inner)
	_, err := s.Sample(ctx, plainIndex{}, 5, nil)
	if wantError(t, err, "no rows to sample from"); errors.Is(err, ErrAnswer) {
		t.Error("the sampler's own error counts as a wrong answer")
	}
	window := slidingWindow(rng)()
	if out, err := s.Sample(ctx, window, 5, nil); err != nil || len(out) != 5 {
		t.Fatal(err)
	}
	stream := s.stream
	inner.set(0, func(context.Context) error { return errors.New("not today") })
	_, err = s.Sample(ctx, window, 5, nil)
	if wantError(t, err, "sample: not today"); s.stream != stream {
		t.Error("the sampler's own error ended the stream")
	}
	inner.set(0, func(context.Context) error { panic("bad luck") })
	_, err = s.Sample(ctx, window, 5, nil)
	if wantError(t, err, "panic: bad luck"); status.Code(err) != codes.Internal {
		t.Errorf("code %v", status.Code(err))
	}
	inner.set(0, nil)
	if out, err := s.Sample(ctx, window, 5, nil); err != nil || len(out) != 5 {
		t.Errorf("after a panic: %v", err)
	}
	for _, n := range []int{-1, MaxDraw + 1} {
		if _, err := s.Sample(ctx, window, n, nil); err == nil {
			t.Errorf("a draw of %d rows", n)
		}
	}
	if out, err := s.Sample(ctx, window, 0, nil); err != nil || len(out) != 0 {
		t.Errorf("a draw of no rows: %v", err)
	}
}

// Whoever waits for a draw can give up, and the sampler stays where it was.
func TestSampleCancel(t *testing.T) {
	rng := freshRand(t)
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	inner, reference := newTestSampler(), newTestSampler()
	s := opened(t, inner)
	window := slidingWindow(rng)()
	inner.set(0, func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := s.Sample(ctx, window, 5, nil)
		result <- err
	}()
	<-entered
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(leave)
	if _, err := s.Sample(ctx, window, 5, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	want, err := reference.Sample(context.Background(), window, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Sample(context.Background(), window, 5, nil); err != nil || !slices.Equal(out, want) {
		t.Errorf("after a cancelled draw: %v, %v, want %v", out, err, want)
	}
}

// Draws are made ahead of their use, and that does not show: whatever comes in
// between, rows and states are those of a sampler that is asked one by one.
func TestSampleAhead(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	inner, reference := newTestSampler(), newTestSampler()
	var calls atomic.Int64
	inner.set(0, func(context.Context) error { calls.Add(1); return nil })
	s := opened(t, inner)
	slide := slidingWindow(rng)
	window := slide()
	n, states := 5, [][]byte{saved(t, reference)}
	for i := range 400 {
		switch rng.IntN(40) {
		case 0:
			window = slide()
		case 1:
			n = 1 + rng.IntN(9)
		case 2:
			seed := rng.Uint64()
			s.Seed(seed, 2)
			reference.Seed(seed, 2)
		case 3:
			state := states[rng.IntN(len(states))]
			load(t, s, state)
			load(t, reference, state)
		case 4:
			if !bytes.Equal(saved(t, s), saved(t, reference)) {
				t.Fatalf("draw %d: another state", i)
			}
		}
		want, err := reference.Sample(ctx, window, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Sample(ctx, window, n, nil)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("draw %d: other rows: %v", i, err)
		}
		if _, state, ok := s.LastState(); !ok || !bytes.Equal(state, saved(t, reference)) {
			t.Fatalf("draw %d: the state of the answer is another one", i)
		}
		states = append(states, saved(t, reference))
	}
	if n := calls.Load(); n <= 400 {
		t.Errorf("%d draws were made for 400: none ahead", n)
	}
}

// rawSampler answers each draw by a function; nil ends the stream.
type rawSampler struct {
	pluginpb.UnimplementedSamplerServer
	answer func(*pluginpb.Draw) *pluginpb.SampleReply
	seed   error
}

func (r *rawSampler) Save(context.Context, *pluginpb.SaveRequest) (*pluginpb.State, error) {
	return &pluginpb.State{Name: "raw", Version: 1}, nil
}

func (r *rawSampler) Seed(context.Context, *pluginpb.SeedRequest) (*pluginpb.SeedReply, error) {
	return &pluginpb.SeedReply{}, r.seed
}

func (r *rawSampler) Sample(stream grpc.BidiStreamingServer[pluginpb.SampleRequest, pluginpb.SampleReply]) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if request.GetDraw() == nil {
			continue
		}
		reply := r.answer(request.GetDraw())
		if reply == nil {
			return nil
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}

func newRaw(t testing.TB, raw *rawSampler) *Sampler {
	t.Helper()
	c := dial(t, func(s *grpc.Server) { pluginpb.RegisterSamplerServer(s, raw) })
	s, err := NewSampler(t.Context(), c, sampling(nil))
	if err != nil {
		t.Fatal(err)
	}
	return s.(*Sampler)
}

// Rows that are not there, weights that are no weights, a wrong number of rows.
func TestSampleWrongAnswers(t *testing.T) {
	window := plainIndex{{info: stage.GameInfo{Seq: 5, Plies: 9, NumRows: 2, Weight: 2}, rows: []stage.RowInfo{{Ply: 3, Weight: 1}, {Ply: 6, Weight: 1}},
		stats: make([]stage.RowStats, 2)}}
	for _, c := range []struct {
		name  string
		reply *pluginpb.SampleReply
		want  string
	}{
		{"too few", &pluginpb.SampleReply{Games: []uint64{5}, Plies: []uint32{3}, Weights: []float32{1}}, "1 games, 1 plies and 1 weights for a draw of 2"},
		{"too many", &pluginpb.SampleReply{Games: []uint64{5, 5, 5}, Plies: []uint32{3, 3, 3}, Weights: []float32{1, 1, 1}}, "for a draw of 2"},
		{"uneven", &pluginpb.SampleReply{Games: []uint64{5, 5}, Plies: []uint32{3}, Weights: []float32{1, 1}}, "1 plies"},
		{"other game", &pluginpb.SampleReply{Games: []uint64{5, 6}, Plies: []uint32{3, 3}, Weights: []float32{1, 1}}, "row 1: game 6, ply 3 is not in the index"},
		{"no row", &pluginpb.SampleReply{Games: []uint64{5, 5}, Plies: []uint32{3, 4}, Weights: []float32{1, 1}}, "row 1: game 5, ply 4"},
		{"beyond", &pluginpb.SampleReply{Games: []uint64{5, 5}, Plies: []uint32{3, 1<<31 + 3}, Weights: []float32{1, 1}}, "row 1: game 5, ply 2147483651"},
		{"NaN", &pluginpb.SampleReply{Games: []uint64{5, 5}, Plies: []uint32{3, 6}, Weights: []float32{1, float32(math.NaN())}}, "row 1: weight NaN"},
		{"infinite", &pluginpb.SampleReply{Games: []uint64{5, 5}, Plies: []uint32{3, 6}, Weights: []float32{float32(math.Inf(1)), 1}}, "row 0: weight +Inf"},
		{"negative", &pluginpb.SampleReply{Games: []uint64{5, 5}, Plies: []uint32{3, 6}, Weights: []float32{-1, 1}}, "row 0: weight -1"},
		{"other draw", &pluginpb.SampleReply{Batch: 9}, "an answer to draw 10, want draw 1"},
		{"other state", &pluginpb.SampleReply{State: &pluginpb.State{Name: "raw", Version: 2}}, "state raw of version 2, it was raw of version 1"},
		{"bad state", &pluginpb.SampleReply{State: &pluginpb.State{Name: "a/b"}}, "state: name"},
		{"end", nil, "the plugin ended the stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRaw(t, &rawSampler{answer: func(d *pluginpb.Draw) *pluginpb.SampleReply {
				if c.reply != nil {
					c.reply.Batch += d.Batch
				}
				return c.reply
			}})
			before := []stage.RowRef{{Game: 1}}
			out, err := s.Sample(t.Context(), window, 2, before)
			if wantError(t, err, c.want); !errors.Is(err, ErrAnswer) || !slices.Equal(out, before) {
				t.Errorf("%v, wraps ErrAnswer: %v, %d rows", err, errors.Is(err, ErrAnswer), len(out))
			}
		})
	}
}

// A seed that fails is reported by what comes next.
func TestSampleSeedFails(t *testing.T) {
	s := newRaw(t, &rawSampler{seed: status.Error(codes.Internal, "no seeds")})
	s.Seed(1, 2)
	_, err := s.Sample(t.Context(), plainIndex{}, 1, nil)
	wantError(t, err, "seed: no seeds")
	wantError(t, s.Section().Save(io.Discard), "seed: no seeds")
	if _, _, ok := s.LastState(); ok {
		t.Error("there is a last state")
	}
}

// Requests out of order are refused.
func TestSampleWrongRequests(t *testing.T) {
	draw := &pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_Draw{Draw: &pluginpb.Draw{N: MaxDraw + 1}}}
	part := &pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_Index{Index: &pluginpb.IndexUpdate{}}}
	bad := &pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_Index{Index: &pluginpb.IndexUpdate{Seq: []uint64{1}}}}
	small := &pluginpb.SampleRequest{Request: &pluginpb.SampleRequest_Draw{Draw: &pluginpb.Draw{N: 1}}}
	for name, requests := range map[string][]*pluginpb.SampleRequest{
		"too many rows": {draw}, "draw within an update": {part, small}, "nothing": {{}}, "broken update": {bad},
	} {
		c, _ := open(t, sampling(newTestSampler()), nil)
		stream, err := c.sampler.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			if err := stream.Send(r); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A state is the bytes that the sampler wrote, no more.
func TestSampleStateBytes(t *testing.T) {
	s := opened(t, newTestSampler())
	s.Seed(0x0102030405060708, 9)
	state := saved(t, s)
	if len(state) != 20 || string(state[:4]) != "pcg:" || binary.BigEndian.Uint64(state[4:]) != 0x0102030405060708 {
		t.Errorf("state %q is not that of the generator", state)
	}
}
