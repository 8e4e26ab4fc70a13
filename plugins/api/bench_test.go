package api

import (
	"context"
	"math/rand/v2"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// typicalGames returns games of 120 plies as self-play makes them: visit counts
// at three plies of four, a tenth of the legal moves visited.
func typicalGames(b *testing.B, n int) []*record.Game {
	b.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	games := make([]*record.Game, n)
	for i := range games {
		g := randomGame(b, rng, 120)
		g.Results, g.Extra = nil, nil
		at, err := g.StartBoard()
		if err != nil {
			b.Fatal(err)
		}
		var l chess.MoveList
		for k := range g.Plies {
			p := &g.Plies[k]
			l.N = 0
			at.GenerateMoves(&l)
			p.Kind, p.Probs, p.Counts = record.PolicyCounts, nil, make([]uint32, l.N)
			for range 1 + l.N/4 {
				p.Counts[rng.IntN(l.N)] += 1 + uint32(rng.IntN(60))
			}
			if k%4 == 3 {
				p.Kind, p.Counts = record.PolicyNone, nil
			}
			at.Make(p.Move)
		}
		games[i] = g
	}
	return games
}

// BenchmarkStream moves games through a rescorer over a Unix socket, both sides in
// this process, eight batches in flight: encode, send, decode, rescore, answer. The
// bytes are those of the games on the way there.
func BenchmarkStream(b *testing.B) {
	games := typicalGames(b, 400)
	rows, bytes := 0, 0
	for _, g := range games {
		rows, bytes = rows+len(g.Plies), bytes+GameSize(g)
	}
	for _, c := range []struct {
		name   string
		change func(*record.Game) *record.Game
	}{
		{"identity", func(g *record.Game) *record.Game { return g }},
		{"weights", func(g *record.Game) *record.Game {
			out := g.Clone()
			for i := range out.Plies {
				out.Plies[i].Weight = 0.5
			}
			return out
		}},
		{"results", func(g *record.Game) *record.Game {
			out := g.Clone()
			for i := range out.Plies {
				out.SetResult(i, encoding.QDM{Q: 0.5, D: 0.25, M: 3})
			}
			return out
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := overSocket(b, rescoring(func(_ context.Context, g *record.Game) (*record.Game, error) { return c.change(g), nil }))
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.RescoreBatch(context.Background(), games); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// overSocket serves a rescorer on a Unix socket.
func overSocket(b *testing.B, d *stage.Definition) stage.BatchRescorer {
	b.Helper()
	path := filepath.Join(b.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	server, served := grpc.NewServer(ServerOptions()...), make(chan error, 1)
	Register(server, d)
	go func() { served <- server.Serve(listener) }()
	cc, err := grpc.NewClient("unix:"+path, append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cc.Close()
		server.Stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	c := NewConn(cc)
	if err := c.Open(context.Background(), d, nil); err != nil {
		b.Fatal(err)
	}
	return newRescorer(c, d)
}

// BenchmarkCodec is what the two sides do without the wire: a batch of games to a
// message and back.
func BenchmarkCodec(b *testing.B) {
	games := typicalGames(b, 60)
	var request pluginpb.RescoreRequest
	for range games {
		request.Games = append(request.Games, new(pluginpb.Game))
	}
	var wire []byte
	encode := func() (err error) {
		for i, g := range games {
			encodeGame(request.Games[i], g)
		}
		wire, err = proto.MarshalOptions{}.MarshalAppend(wire[:0], &request)
		return err
	}
	decode := func() error {
		var got pluginpb.RescoreRequest
		if err := proto.Unmarshal(wire, &got); err != nil {
			return err
		}
		_, err := decodeGames(got.Games)
		return err
	}
	if err := encode(); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    func() error
	}{{"encode", encode}, {"decode", decode}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDraw is a draw of 256 rows from a window of 400 000 that slides by one
// game each time.
func BenchmarkDraw(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 6))
	seq := uint64(0)
	var all plainIndex
	for rows := 0; rows < 400_000; seq++ {
		all = append(all, randomPlainGame(rng, seq))
		rows += len(all[seq].rows)
	}
	x := &Index{}
	var sender indexSender
	push := func(window plainIndex) stage.Index {
		if err := sendIndex(&sender, window, func(u *pluginpb.IndexUpdate) (err error) {
			x, err = x.Update(u)
			return err
		}); err != nil {
			b.Fatal(err)
		}
		return x
	}
	idx := push(all)
	s := openedSampler(b, &testSampler{})
	var refs []stage.RowRef
	d := stage.Draw{Rows: 256}
	for b.Loop() {
		var err error
		d.Index = idx
		if refs, d.State, err = s.Sample(context.Background(), d, refs[:0]); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		all = append(all[1:], randomPlainGame(rng, seq))
		seq++
		idx = push(all)
		b.StartTimer()
	}
}
