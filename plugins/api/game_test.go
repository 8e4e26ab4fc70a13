package api

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/record"
)

// literalGame is 1. e4 e5, with a policy at the first move.
func literalGame() *record.Game {
	e4 := chess.NewMove(12, 28, chess.NoPiece)
	counts := make([]uint32, 20)
	counts[3], counts[19] = 300, 2
	return &record.Game{
		ID: [16]byte{1, 2, 3, 15: 16}, NetID: "net", Seed: 7, Ordinal: 8, Flags: record.ResignDisabled | record.Imported,
		End: record.EndResign, WhiteResult: -1, Extra: []byte("extra"),
		Plies: []record.Ply{
			{Move: e4, Kind: record.PolicyCounts, Counts: counts, Visits: 303, Weight: 1, KLD: 0.5, Flags: record.FullSearch | record.BestProven,
				Root: encoding.QDM{Q: 0.125, D: 0.25, M: 40}, Best: encoding.QDM{Q: 0.25, D: 0.5, M: 41},
				Played: encoding.QDM{Q: -0.25, D: 0.75, M: 3}, Orig: encoding.UnknownQDM},
			{Move: e4, Weight: 0.5, Root: encoding.QDM{Q: -1}, Best: encoding.QDM{Q: 1}, Played: encoding.QDM{D: 1}, Orig: encoding.QDM{M: 9}},
		},
		Results: []encoding.QDM{{Q: -1, D: 0, M: 12}, encoding.UnknownQDM},
	}
}

// The columns are those that plugin.proto describes.
func TestGameColumns(t *testing.T) {
	g := literalGame()
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	var p pluginpb.Game
	encodeGame(&p, g)
	nan := float32(math.NaN())
	counts := make([]uint32, 20)
	counts[3], counts[19] = 300, 2
	want := &pluginpb.Game{
		Id: []byte{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16}, NetId: "net", Seed: 7, Ordinal: 8, Flags: 1 + 8, End: 6, WhiteResult: -1,
		Extra: []byte("extra"), Moves: []uint32{12 + 28*64, 12 + 28*64}, PolicyKind: []byte{1, 0}, PolicySize: []uint32{20, 0}, Counts: counts,
		Values: []float32{0.125, 0.25, 40, 0.25, 0.5, 41, -0.25, 0.75, 3, nan, nan, nan, -1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 9},
		Visits: []uint32{303, 0}, Weights: []float32{1, 0.5}, Klds: []float32{0.5, 0}, PlyFlags: []byte{1 + 8, 0},
		Results: []float32{-1, 0, 12, nan, nan, nan},
	}
	if !proto.Equal(&p, want) {
		t.Errorf("got %v\nwant %v", &p, want)
	}
	if err := encodeLegalMoves(&p, g); err != nil {
		t.Fatal(err)
	}
	b := chess.StartBoard()
	var list chess.MoveList
	b.GenerateMoves(&list)
	for i, m := range list.Slice() {
		if p.LegalMoves[i] != uint32(m) {
			t.Errorf("legal move %d is %d, want %d", i, p.LegalMoves[i], m)
		}
	}
	if len(p.LegalMoves) != 20 {
		t.Errorf("%d legal moves, want those of the one ply with a policy", len(p.LegalMoves))
	}
}

// Every field of random games arrives as it was, also in memory that is used again.
func TestGameRoundTrip(t *testing.T) {
	rng := freshRand(t)
	var reused pluginpb.Game
	kinds := map[record.PolicyKind]int{}
	for range 200 {
		g := randomGame(t, rng, rng.IntN(150))
		encodeGame(&reused, g)
		wire, err := proto.Marshal(&reused)
		if err != nil {
			t.Fatal(err)
		}
		if size := GameSize(g); size < len(wire)*2/3-100 || size > len(wire)*3/2+100 {
			t.Errorf("GameSize says %d, the message of a game of %d plies has %d bytes", size, len(g.Plies), len(wire))
		}
		var p pluginpb.Game
		if err := proto.Unmarshal(wire, &p); err != nil {
			t.Fatal(err)
		}
		got, err := decodeGame(&p)
		if err != nil {
			t.Fatal(err)
		}
		sameGames(t, []*record.Game{got}, []*record.Game{g})
		for i := range g.Plies {
			kinds[g.Plies[i].Kind]++
		}
	}
	if len(kinds) != 3 {
		t.Errorf("kinds of policy seen: %v", kinds)
	}
}

// The order of generated moves is part of the protocol: policies lie in it, and
// programs of another build read them.
func TestMoveOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sum := sha256.New()
	var list chess.MoveList
	for _, fen := range starts {
		for range 20 {
			b := chess.StartBoard()
			if fen != "" {
				var err error
				if b, err = chess.ParseFEN(fen); err != nil {
					t.Fatal(err)
				}
			}
			for range 60 {
				list.N = 0
				if b.GenerateMoves(&list); list.N == 0 {
					break
				}
				for _, m := range list.Slice() {
					sum.Write(binary.LittleEndian.AppendUint16(nil, uint16(m)))
				}
				b.Make(list.Moves[rng.IntN(list.N)])
			}
		}
	}
	const want = "a6000f9eff379e83dfd80b435f836ed5e773ff49493c9135232bd508bc12d356"
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != want {
		t.Errorf("chess generates moves in another order (%s, want %s): raise ProtocolVersion", got, want)
	}
}

// Columns that do not fit together are refused with their name.
func TestDecodeGameFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*pluginpb.Game)
		want   string
	}{
		{"id", func(p *pluginpb.Game) { p.Id = p.Id[:15] }, "id: 15 bytes"},
		{"flags", func(p *pluginpb.Game) { p.Flags = 1 << 16 }, "flags 0x10000"},
		{"end", func(p *pluginpb.Game) { p.End = 256 }, "end 256"},
		{"result", func(p *pluginpb.Game) { p.WhiteResult = 2 }, "result 2"},
		{"move", func(p *pluginpb.Game) { p.Moves[1] = 1 << 16 }, "ply 1: move 65536"},
		{"a ply more", func(p *pluginpb.Game) { p.Moves = append(p.Moves, 5) }, "column policy_kind: 2 entries, want 3"},
		{"no plies", func(p *pluginpb.Game) { p.Moves = nil }, "column policy_kind: 2 entries, want 0"},
		{"policy_kind", func(p *pluginpb.Game) { p.PolicyKind = nil }, "column policy_kind"},
		{"policy_size", func(p *pluginpb.Game) { p.PolicySize = p.PolicySize[:1] }, "column policy_size"},
		{"size too large", func(p *pluginpb.Game) { p.PolicySize[0] = math.MaxUint32 }, "ply 0: policy of kind 1 and size 4294967295"},
		{"size too small", func(p *pluginpb.Game) { p.PolicySize[0] = 19 }, "1 and 0 entries more"},
		{"size without kind", func(p *pluginpb.Game) { p.PolicySize[1] = 1 }, "ply 1: policy of kind 0 and size 1"},
		{"kind without size", func(p *pluginpb.Game) { p.PolicyKind[1] = 2 }, "ply 1: policy of kind 2 and size 0"},
		{"unknown kind", func(p *pluginpb.Game) { p.PolicyKind[0] = 3 }, "ply 0: policy of kind 3"},
		{"counts", func(p *pluginpb.Game) { p.Counts = p.Counts[:19] }, "19 counts"},
		{"probs", func(p *pluginpb.Game) { p.Probs = []float32{1} }, "0 and 1 entries more"},
		{"values", func(p *pluginpb.Game) { p.Values = p.Values[:23] }, "column values: 23 entries, want 24"},
		{"visits", func(p *pluginpb.Game) { p.Visits = nil }, "column visits"},
		{"weights", func(p *pluginpb.Game) { p.Weights = append(p.Weights, 1) }, "column weights: 3"},
		{"klds", func(p *pluginpb.Game) { p.Klds = p.Klds[:1] }, "column klds"},
		{"ply_flags", func(p *pluginpb.Game) { p.PlyFlags = nil }, "column ply_flags"},
		{"results", func(p *pluginpb.Game) { p.Results = p.Results[:3] }, "column results: 3 entries, want 6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p pluginpb.Game
			encodeGame(&p, literalGame())
			c.change(&p)
			_, err := decodeGame(&p)
			wantError(t, err, c.want)
		})
	}
	if _, err := decodeGame(&pluginpb.Game{Id: make([]byte, 16), Counts: []uint32{1}}); err == nil {
		t.Error("counts in a game without plies were accepted")
	}
}
