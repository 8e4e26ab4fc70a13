package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// Games that a stage leaves alone are the very games; the others are what it made.
func TestRescore(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	games := randomGames(t, rng, 150, 120) // several messages
	games = append(games, &record.Game{NetID: "empty"})
	change := func(g *record.Game) *record.Game {
		if len(g.Plies) == 0 || g.Seed%2 == 0 {
			return g
		}
		out := g.Clone()
		out.Plies[0].Weight += 1
		out.SetResult(len(out.Plies)-1, encoding.QDM{Q: 0.5, D: 0.25, M: 777})
		return out
	}
	c, d := open(t, rescoring(func(_ context.Context, g *record.Game) (*record.Game, error) { return change(g), nil }), nil)
	r := newRescorer(c, d)
	got, err := r.RescoreBatch(ctx, games)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]*record.Game, len(games))
	for i, g := range games {
		if want[i] = change(g); (want[i] == g) != (got[i] == g) {
			t.Fatalf("game %d: the same: %v", i, got[i] == g)
		}
	}
	sameGames(t, got, want)
	one, err := r.Rescore(ctx, games[0])
	if err != nil || r.Name() != "test" {
		t.Fatal(err)
	}
	sameGames(t, []*record.Game{one}, want[:1])
	if out, err := r.RescoreBatch(ctx, nil); len(out) != 0 || err != nil {
		t.Errorf("no games: %v, %v", out, err)
	}
}

// A stage that works on batches gets them whole; when it fails, the error falls on
// the game that it is about.
func TestRescoreBatches(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	games := randomGames(t, rng, 20, 30)
	stageOf := &batchStage{bad: games[7].ID}
	d := rescoring(nil)
	d.NewRescorer = func(stage.Values) (stage.Rescorer, error) { return stageOf, nil }
	c, said := open(t, d, nil)
	s, err := c.OpenRescore(ctx, said)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Send(games); err != nil {
		t.Fatal(err)
	}
	result, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range games {
		if (result.Errs[i] != nil) != (i == 7) || i != 7 && result.Games[i] != g {
			t.Errorf("game %d: %v", i, result.Errs[i])
		}
	}
	if result.Faults != "a broken table" {
		t.Errorf("faults %q", result.Faults)
	}
	games = slices.Delete(games, 7, 8)
	r := newRescorer(c, said)
	if err := r.(stage.Faulty).Err(); err != nil {
		t.Errorf("before any call: %v", err)
	}
	out, err := r.RescoreBatch(ctx, games)
	if err != nil {
		t.Fatal(err)
	}
	sameGames(t, out, games)
	wantError(t, r.(stage.Faulty).Err(), "a broken table")
	if n := stageOf.batches.Load(); n != 2 {
		t.Errorf("the stage saw %d batches, want 2", n)
	}
}

// batchStage refuses one game.
type batchStage struct {
	bad     [16]byte
	batches atomic.Int32
}

func (*batchStage) Name() string { return "test" }
func (*batchStage) Err() error   { return errors.New("a broken table") }

func (b *batchStage) Rescore(_ context.Context, g *record.Game) (*record.Game, error) {
	if g.ID == b.bad {
		return nil, errors.New("it is bad")
	}
	return g, nil
}

func (b *batchStage) RescoreBatch(ctx context.Context, games []*record.Game) ([]*record.Game, error) {
	b.batches.Add(1)
	for _, g := range games {
		if _, err := b.Rescore(ctx, g); err != nil {
			return nil, err
		}
	}
	return games, nil
}

// A game's own error names it; a panic ends the stream with its text; the next
// call works.
func TestRescoreErrors(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	games := randomGames(t, rng, 6, 20)
	var mode atomic.Value
	mode.Store("")
	d := rescoring(func(_ context.Context, g *record.Game) (*record.Game, error) {
		if g.ID != games[3].ID {
			return g, nil
		}
		switch mode.Load() {
		case "error":
			return nil, errors.New("no such table")
		case "panic":
			var none []int
			return games[none[3]], nil
		case "nil":
			return nil, nil
		}
		return g, nil
	})
	c, said := open(t, d, nil)
	r := newRescorer(c, said)
	for _, step := range []struct {
		mode string
		want []string
	}{
		{"error", []string{"no such table", fmt.Sprintf("%x", games[3].ID)}},
		{"panic", []string{"panic: runtime error: index out of range"}},
		{"nil", []string{"returned no game"}},
		{"", nil},
	} {
		mode.Store(step.mode)
		out, err := r.RescoreBatch(ctx, games)
		if step.want == nil {
			if err != nil {
				t.Error(err)
			}
			sameGames(t, out, games)
			continue
		}
		wantError(t, err, step.want...)
		if (status.Code(err) == codes.Internal) != (step.mode == "panic") {
			t.Errorf("%s: code %v", step.mode, status.Code(err))
		}
	}
}

// Games are worked on by as many goroutines as the definition allows.
func TestRescoreConcurrency(t *testing.T) {
	games := randomGames(t, freshRand(t), 64, 10)
	for _, most := range []int{1, 2} {
		var now, peak, calls atomic.Int32
		d := rescoring(func(_ context.Context, g *record.Game) (*record.Game, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
			}
			calls.Add(1)
			return g, nil
		})
		d.Concurrency = most
		c, said := open(t, d, nil)
		if _, err := newRescorer(c, said).RescoreBatch(context.Background(), games); err != nil {
			t.Fatal(err)
		}
		if int(peak.Load()) > most || int(calls.Load()) != len(games) {
			t.Errorf("concurrency %d: %d calls at a time, %d in all", most, peak.Load(), calls.Load())
		}
	}
}

// Legal moves are sent to those who need them, beside the policies.
func TestRescoreLegalMoves(t *testing.T) {
	rng, ctx := freshRand(t), context.Background()
	games := randomGames(t, rng, 10, 40)
	for _, needed := range []bool{true, false} {
		raw := &rawRescorer{answer: func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			reply := &pluginpb.RescoreReply{Batch: r.Batch}
			for i, p := range r.Games {
				o := &pluginpb.Outcome{}
				if err := checkLegal(games[i], p, needed); err != nil {
					o.Error = err.Error()
				}
				reply.Outcomes = append(reply.Outcomes, o)
			}
			return reply, nil
		}}
		d := rescoring(nil)
		if needed {
			d.Capabilities = []stage.Capability{stage.NeedsLegalMoves}
		}
		c := dial(t, func(s *grpc.Server) { pluginpb.RegisterRescorerServer(s, raw) })
		if _, err := newRescorer(c, d).RescoreBatch(ctx, games); err != nil {
			t.Error(err)
		}
	}
}

// checkLegal holds a message's legal moves against the moves that were played,
// which are among them, and against the policy's size.
func checkLegal(g *record.Game, p *pluginpb.Game, needed bool) error {
	if !needed {
		if len(p.LegalMoves) > 0 {
			return errors.New("legal moves that nobody asked for")
		}
		return nil
	}
	rest := p.LegalMoves
	for i, n := range p.PolicySize {
		if int(n) > len(rest) {
			return fmt.Errorf("ply %d: %d legal moves left, want %d", i, len(rest), n)
		}
		if n > 0 && !slices.Contains(rest[:n], uint32(g.Plies[i].Move)) {
			return fmt.Errorf("ply %d: the move played is not among the legal ones", i)
		}
		rest = rest[n:]
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d legal moves too many", len(rest))
	}
	return nil
}

// rawRescorer answers each request by a function; nil ends the stream.
type rawRescorer struct {
	pluginpb.UnimplementedRescorerServer
	answer func(*pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error)
}

func (r *rawRescorer) Rescore(stream grpc.BidiStreamingServer[pluginpb.RescoreRequest, pluginpb.RescoreReply]) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		reply, err := r.answer(request)
		if err != nil || reply == nil {
			return err
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}

// Answers that break the protocol are told from failures.
func TestRescoreWrongAnswers(t *testing.T) {
	ctx := context.Background()
	g := literalGame()
	outcomes := func(n int) []*pluginpb.Outcome {
		out := make([]*pluginpb.Outcome, n)
		for i := range out {
			out[i] = &pluginpb.Outcome{}
		}
		return out
	}
	for _, c := range []struct {
		name   string
		answer func(*pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error)
		want   string
		wrong  bool
	}{
		{"too few", func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			return &pluginpb.RescoreReply{Batch: r.Batch, Outcomes: outcomes(1)}, nil
		}, "1 outcomes for the 2 games", true},
		{"too many", func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			return &pluginpb.RescoreReply{Batch: r.Batch, Outcomes: outcomes(3)}, nil
		}, "3 outcomes for the 2 games", true},
		{"other batch", func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			return &pluginpb.RescoreReply{Batch: r.Batch + 1, Outcomes: outcomes(2)}, nil
		}, "an answer to batch 2, want batch 1", true},
		{"end", func(*pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) { return nil, nil }, "1 batches unanswered", true},
		{"other game", func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			out := outcomes(2)
			out[1].Changed = &pluginpb.Game{Id: make([]byte, 16)}
			return &pluginpb.RescoreReply{Batch: r.Batch, Outcomes: out}, nil
		}, "id", true},
		{"failure", func(*pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			return nil, status.Error(codes.ResourceExhausted, "out of disk")
		}, "rescore: out of disk", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := dial(t, func(s *grpc.Server) { pluginpb.RegisterRescorerServer(s, &rawRescorer{answer: c.answer}) })
			_, err := newRescorer(conn, rescoring(nil)).RescoreBatch(ctx, []*record.Game{g, g})
			if wantError(t, err, c.want); errors.Is(err, ErrAnswer) != c.wrong {
				t.Errorf("%v: wraps ErrAnswer: %v", err, !c.wrong)
			}
		})
	}
}

// A message of empty outcomes, two bytes each, is refused before it takes memory.
func TestRescoreManyOutcomes(t *testing.T) {
	many := make([]*pluginpb.Outcome, maxGames+1)
	for i := range many {
		many[i] = &pluginpb.Outcome{}
	}
	var answers atomic.Int64
	c := dial(t, func(s *grpc.Server) {
		pluginpb.RegisterRescorerServer(s, &rawRescorer{answer: func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			return &pluginpb.RescoreReply{Batch: r.Batch, Outcomes: many[answers.Add(1)-1:]}, nil
		}})
	})
	for _, want := range []string{"32769 outcomes in a message, at most 32768", "32768 outcomes for the 1 games"} {
		s, err := c.OpenRescore(context.Background(), rescoring(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send([]*record.Game{literalGame()}); err != nil {
			t.Fatal(err)
		}
		_, err = s.Recv()
		wantError(t, err, want)
		wantError(t, s.Send(make([]*record.Game, maxGames+1)), "32769 games")
		s.Close()
	}
	if n := countFields([]byte{0x12, 0x00, 0x08, 0x05, 0x12, 0x02, 0x12, 0x00, 0x12, 0x07}, 2); n != 2 { // the last one is cut short
		t.Errorf("%d fields", n)
	}
}

// An answer that nobody asked for.
func TestRescoreUnasked(t *testing.T) {
	c := dial(t, func(s *grpc.Server) {
		pluginpb.RegisterRescorerServer(s, &rawRescorer{answer: func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
			return &pluginpb.RescoreReply{Batch: r.Batch}, nil
		}})
	})
	s, err := c.OpenRescore(context.Background(), rescoring(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.stream.Send(&pluginpb.RescoreRequest{Batch: 7}); err != nil { // past Send, which would expect the answer
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, ErrAnswer) {
		t.Errorf("got %v", err)
	}
}

// Sending and receiving run side by side, and answers come in the order of the
// batches.
func TestRescorePipeline(t *testing.T) {
	games := randomGames(t, freshRand(t), 40, 60)
	c, d := open(t, rescoring(func(_ context.Context, g *record.Game) (*record.Game, error) { return g, nil }), nil)
	s, err := c.OpenRescore(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const batches = 300
	sent := make(chan error, 1)
	go func() {
		for b := range batches {
			if err := s.Send(games[b%30 : b%30+b%10]); err != nil {
				sent <- err
				return
			}
		}
		sent <- s.stream.CloseSend()
	}()
	for b := range batches {
		result, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(result.Games, games[b%30:b%30+b%10]) {
			t.Fatalf("answer %d: %d games, not those of the batch", b, len(result.Games))
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last answer: %v", err)
	}
}

// Cancelling a call ends it on both sides.
func TestRescoreCancel(t *testing.T) {
	entered, left := make(chan struct{}), make(chan error, 1)
	d := rescoring(func(ctx context.Context, g *record.Game) (*record.Game, error) {
		close(entered)
		<-ctx.Done()
		left <- ctx.Err()
		return nil, ctx.Err()
	})
	c, said := open(t, d, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := newRescorer(c, said).Rescore(ctx, literalGame())
		result <- err
	}()
	<-entered
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("the call: %v", err)
	}
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the stage: %v", err)
	}
	if _, err := newRescorer(c, said).Rescore(ctx, literalGame()); !errors.Is(err, context.Canceled) {
		t.Errorf("a call with a context that has ended: %v", err)
	}
}

// Messages of several MiB pass, those above MaxMessage are refused on both sides.
func TestMessageLimits(t *testing.T) {
	ctx := context.Background()
	size := 0
	raw := &rawRescorer{answer: func(r *pluginpb.RescoreRequest) (*pluginpb.RescoreReply, error) {
		return &pluginpb.RescoreReply{Batch: r.Batch, Outcomes: []*pluginpb.Outcome{{}}, Faults: strings.Repeat("x", size)}, nil
	}}
	register := func(s *grpc.Server) { pluginpb.RegisterRescorerServer(s, raw) }
	limited, open := dial(t, register), dial(t, register, grpc.MaxRecvMsgSize(1<<30), grpc.MaxSendMsgSize(1<<30))
	for _, c := range []struct {
		name            string
		conn            *Conn
		request, answer int
		ok              bool
	}{
		{"20 MiB each way", limited, 20 << 20, 20 << 20, true},
		{"large request", limited, MaxMessage, 0, false},
		{"large request to a lax plugin", open, MaxMessage, 0, false},
		{"large answer", limited, 0, MaxMessage, false},
		{"large answer of a lax plugin", open, 0, MaxMessage, false},
	} {
		size = c.answer
		g := literalGame()
		g.Extra = make([]byte, c.request)
		_, err := newRescorer(c.conn, rescoring(nil)).Rescore(ctx, g)
		if c.ok && err != nil || !c.ok && status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
