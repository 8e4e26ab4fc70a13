package api

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// freshRand returns a generator of another seed at each run, which it logs.
func freshRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

var starts = []string{
	"",
	"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
	"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 b - - 3 20",
	"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
	"bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
}

// randomGame plays random moves, at most maxPlies; every field has some value.
func randomGame(t testing.TB, rng *rand.Rand, maxPlies int) *record.Game {
	t.Helper()
	g := &record.Game{
		ID: record.GameID(rng.Uint64(), 1, 2), Start: starts[rng.IntN(len(starts))], NetID: "job-main-s5-d7", Seed: rng.Uint64(),
		Ordinal: rng.Uint64() >> 1, Flags: record.GameFlags(rng.IntN(32)), End: record.EndMaxPlies, WhiteResult: int8(rng.IntN(3) - 1),
	}
	if rng.IntN(3) == 0 {
		g.Extra = []byte{byte(rng.Uint32()), 0, 255}
	}
	b, err := g.StartBoard()
	if err != nil {
		t.Fatal(err)
	}
	h := chess.NewHistory(b)
	var l chess.MoveList
	for {
		l.N = 0
		h.Board().GenerateMoves(&l)
		if end := h.Terminal(l.N); end != chess.NotOver {
			finish(g, h, end)
			break
		}
		if len(g.Plies) == maxPlies {
			break
		}
		g.Plies = append(g.Plies, randomPly(rng, &l))
		h.Push(g.Plies[len(g.Plies)-1].Move)
	}
	for i := 0; i < len(g.Plies) && rng.IntN(4) > 0; i++ {
		g.SetResult(i, randomQDM(rng))
	}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	return g
}

// finish sets the end of a game that is over by the rules.
func finish(g *record.Game, h *chess.History, end chess.Terminal) {
	g.End, g.WhiteResult = record.EndOf(end), 0
	if g.End == record.EndCheckmate {
		g.WhiteResult = 1
		if h.Board().SideToMove() == chess.White {
			g.WhiteResult = -1
		}
	}
}

func randomPly(rng *rand.Rand, l *chess.MoveList) record.Ply {
	p := record.Ply{
		Move: l.Moves[rng.IntN(l.N)], Visits: rng.Uint32() >> rng.IntN(32), Weight: rng.Float32() * 2, KLD: rng.Float32(),
		Flags: record.PlyFlags(rng.IntN(16)), Root: randomQDM(rng), Best: randomQDM(rng), Played: randomQDM(rng), Orig: encoding.UnknownQDM,
	}
	if rng.IntN(2) == 0 {
		p.Orig = randomQDM(rng)
	}
	randomPolicy(rng, &p, l.N)
	return p
}

// randomPolicy gives p a policy of any kind over n legal moves.
func randomPolicy(rng *rand.Rand, p *record.Ply, n int) {
	p.Kind, p.Counts, p.Probs = record.PolicyKind(rng.IntN(3)), nil, nil
	switch p.Kind {
	case record.PolicyCounts:
		p.Counts = make([]uint32, n)
		for range n {
			p.Counts[rng.IntN(n)] = 1 + rng.Uint32()>>(rng.IntN(32))/2
		}
	case record.PolicyProbs:
		p.Probs = make([]float32, n)
		sum := 0.0
		for j := range p.Probs {
			p.Probs[j] = rng.Float32() + 1e-3
			sum += float64(p.Probs[j])
		}
		for j := range p.Probs {
			p.Probs[j] = float32(float64(p.Probs[j]) / sum)
		}
	}
}

func randomQDM(rng *rand.Rand) encoding.QDM {
	d := rng.Float32()
	return encoding.QDM{Q: (rng.Float32()*2 - 1) * (1 - d), D: d, M: rng.Float32() * 200}
}

func randomGames(t testing.TB, rng *rand.Rand, n, maxPlies int) []*record.Game {
	t.Helper()
	games := make([]*record.Game, n)
	for i := range games {
		games[i] = randomGame(t, rng, rng.IntN(maxPlies+1))
	}
	return games
}

// bytesOf returns a game's bytes, which two games share only if all is equal.
func bytesOf(t testing.TB, g *record.Game) []byte {
	t.Helper()
	b, err := record.Append(nil, g)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sameGames(t testing.TB, got, want []*record.Game) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d games, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(bytesOf(t, got[i]), bytesOf(t, want[i])) {
			t.Fatalf("game %d of %d differs", i, len(want))
		}
	}
}

// dial serves what register registers, in this process, and returns a connection.
func dial(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) *Conn {
	t.Helper()
	c, stop := dialStop(t, register, options...)
	t.Cleanup(stop)
	return c
}

// dialStop is dial with a function that ends the connection and waits for the
// server and its handlers.
func dialStop(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) (*Conn, func()) {
	t.Helper()
	if options == nil {
		options = ServerOptions()
	}
	listener, server, served := bufconn.Listen(1<<20), grpc.NewServer(options...), make(chan error, 1)
	register(server)
	go func() { served <- server.Serve(listener) }()
	cc, err := grpc.NewClient("passthrough:///plugin", append(DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	return NewConn(cc), func() {
		cc.Close()
		server.GracefulStop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// open serves a stage and opens it.
func open(t testing.TB, d *stage.Definition, settings map[string]string) (*Conn, *stage.Definition) {
	t.Helper()
	c := dial(t, func(s *grpc.Server) { Register(s, d) })
	got, err := c.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Open(context.Background(), got, settings); err != nil {
		t.Fatal(err)
	}
	return c, got
}

// rescoring is a definition of a rescorer that is a function.
func rescoring(f func(context.Context, *record.Game) (*record.Game, error), capabilities ...stage.Capability) *stage.Definition {
	return &stage.Definition{
		Kind: stage.KindRescorer, Name: "test", Version: "1.0.0", Doc: "a test", Capabilities: capabilities,
		NewRescorer: func(stage.Values) (stage.Rescorer, error) { return rescoreFunc(f), nil },
	}
}

type rescoreFunc func(context.Context, *record.Game) (*record.Game, error)

func (rescoreFunc) Name() string { return "test" }

func (f rescoreFunc) Rescore(ctx context.Context, g *record.Game) (*record.Game, error) {
	return f(ctx, g)
}

// wantError fails unless err holds all of the texts.
func wantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil || slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(err.Error(), text) }) {
		t.Errorf("error %v, want one with %q", err, texts)
	}
}
