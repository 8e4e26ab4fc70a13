package api

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/chessbrain/chessbrain/internal/testing/memfs"
	"github.com/chessbrain/chessbrain/plugins/api/pluginpb"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// mustMarshal returns a seed of a fuzz target.
func mustMarshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Any bytes either are refused or are a game that travels on unchanged.
func FuzzDecodeGame(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		var p pluginpb.Game
		encodeGame(&p, randomGame(f, rng, 12))
		f.Add(mustMarshal(f, &p))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p, again pluginpb.Game
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		g, err := decodeGame(&p)
		if err != nil {
			return
		}
		encodeGame(&again, g)
		back, err := decodeGame(&again)
		if err != nil {
			t.Fatal(err)
		}
		if o := encodeChanges(g, back); o.Changed != nil || o.Error != "" {
			t.Fatalf("%v differs from what it came from", back)
		}
	})
}

// Whatever a plugin answers, the game stays as it is, and what Apply lets through
// is a valid record of the same moves.
func FuzzApply(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	g := literalGame()
	whole := &pluginpb.Game{}
	encodeGame(whole, g)
	f.Add(mustMarshal(f, whole))
	f.Add(mustMarshal(f, &pluginpb.Game{Id: g.ID[:], Weights: []float32{1, 2}, Results: make([]float32, 6)}))
	for range 6 {
		changed := g.Clone()
		changePolicies(rng, changed)
		changed.Plies[rng.IntN(2)].Root = randomQDM(rng)
		f.Add(mustMarshal(f, encodeChanges(g, changed).GetChanged()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p pluginpb.Game
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		before := bytesOf(t, g)
		out, err := apply(g, &p)
		if !bytes.Equal(before, bytesOf(t, g)) {
			t.Fatal("the game was changed")
		}
		if err != nil {
			return
		}
		bytesOf(t, out)
		if !sameFixed(g, out) {
			t.Fatalf("%+v is another game", out)
		}
	})
}

// Any two updates either are refused or give an index whose answers fit together.
func FuzzIndexUpdate(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 8 {
		var sender indexSender
		var updates [][]byte
		window := plainIndex{}
		for seq := range uint64(4) {
			window = append(window, randomPlainGame(rng, seq))
			if err := sendIndex(&sender, window[seq/3:], func(u *pluginpb.IndexUpdate) error {
				updates = append(updates, mustMarshal(f, u))
				return nil
			}); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(updates[0], updates[1])
		f.Add(updates[0], updates[3])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		x := &Index{}
		for _, data := range [][]byte{first, second} {
			var u pluginpb.IndexUpdate
			if proto.Unmarshal(data, &u) != nil {
				return
			}
			next, err := x.Update(&u)
			if err != nil {
				return
			}
			x = next
			checkIndex(t, x)
		}
	})
}

// checkIndex holds an index's answers against each other.
func checkIndex(t *testing.T, x stage.Index) {
	rows, weight := 0, uint64(0)
	for i := range x.NumGames() {
		g := x.Game(i)
		if at, ok := x.Find(g.Seq); !ok || at != i {
			t.Fatalf("game %d is found at %d: %v", i, at, ok)
		}
		for k := range g.NumRows {
			row := x.Row(i, k)
			game, ply := x.RowAt(weight)
			nthGame, nthPly := x.NthRow(rows)
			if game != g.Seq || ply != row.Ply || nthGame != g.Seq || nthPly != row.Ply || int(row.Ply) >= g.Plies || row.Weight == 0 {
				t.Fatalf("row %d of game %d: %+v, at its weight %d/%d, in order %d/%d", k, g.Seq, row, game, ply, nthGame, nthPly)
			}
			if s := x.Stats(i, k); math.IsNaN(float64(s.KLD)) || math.IsNaN(float64(s.QDiff)) {
				t.Fatalf("row %d of game %d: %+v", k, g.Seq, s)
			}
			rows, weight = rows+1, weight+row.Weight
		}
	}
	if rows != x.NumRows() || weight != x.WeightSum() {
		t.Fatalf("%d rows of weight %d, want %d and %d", x.NumRows(), x.WeightSum(), rows, weight)
	}
}

// Any description either is refused or can be used and printed.
func FuzzDescription(f *testing.F) {
	f.Add(mustMarshal(f, encodeDefinition(settled())))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p pluginpb.Description
		if proto.Unmarshal(data, &p) != nil {
			return
		}
		d, err := decodeDefinition(&p)
		if err != nil {
			return
		}
		if _, err := d.Values(nil); err != nil {
			t.Fatal(err)
		}
		text, err := DescribeJSON(d)
		if err != nil || bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
			t.Fatalf("%s: %v", text, err)
		}
	})
}

// Any parts of a checkpoint either are refused or add up to one that is whole.
func FuzzCheckpoint(f *testing.F) {
	header := &pluginpb.ExportHeader{Name: "n", Tensors: []*pluginpb.TensorInfo{{Name: "a", Shape: []uint64{2}}, {Name: "b"}}}
	f.Add(mustMarshal(f, &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Header{Header: header}}),
		mustMarshal(f, &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Tensor{Tensor: &pluginpb.TensorPiece{Data: make([]byte, 8)}}}),
		mustMarshal(f, &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Tensor{Tensor: &pluginpb.TensorPiece{Tensor: 1, Data: make([]byte, 4)}}}))
	var p pluginpb.Game
	encodeGame(&p, literalGame())
	f.Add(mustMarshal(f, &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Header{Header: &pluginpb.ExportHeader{HasGames: true}}}),
		mustMarshal(f, &pluginpb.ExportRequest{Part: &pluginpb.ExportRequest_Games{Games: &pluginpb.GameBatch{Games: []*pluginpb.Game{&p}}}}), []byte{})
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		r := &checkpointReader{}
		defer func() { r.games.close() }()
		for _, data := range [][]byte{first, second, third} {
			var request pluginpb.ExportRequest
			if proto.Unmarshal(data, &request) != nil || request.Part != nil && r.part(&request) != nil {
				return
			}
		}
		if r.finish() != nil {
			return
		}
		for _, tensor := range r.c.Tensors {
			n := 1
			for _, d := range tensor.Shape {
				n *= d
			}
			if n != len(tensor.Data) {
				t.Fatalf("tensor %v with %d floats", tensor.Shape, len(tensor.Data))
			}
		}
		if r.c.Games == nil {
			return
		}
		for g, err := range r.c.Games {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := record.Append(nil, g); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Any parts of files either are refused, and nothing is left, or become files that
// stand directly in the directory.
func FuzzIncoming(f *testing.F) {
	f.Add(mustMarshal(f, part("a", "data", false)), mustMarshal(f, part("a", "", true)))
	f.Add(mustMarshal(f, part("a", "data", true)), mustMarshal(f, part("b", "x", true)))
	f.Add(mustMarshal(f, part("../a", "", true)), mustMarshal(f, part("/b", "", true)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		fsys := memfs.New()
		in := &incoming{fsys: fsys, dst: "/out"}
		err := func() error {
			for _, data := range [][]byte{first, second} {
				var p pluginpb.ExportReply
				if err := proto.Unmarshal(data, &p); err != nil {
					return err
				}
				if err := in.piece(&p); err != nil {
					return err
				}
			}
			return in.finish()
		}()
		var paths []string
		if err == nil {
			if paths, err = in.commit(); err != nil {
				t.Fatal(err)
			}
		} else {
			in.discard()
		}
		root, err := fsys.ReadDir("/")
		if err != nil || len(root) > 1 {
			t.Fatalf("outside of the directory: %v, %v", root, err)
		}
		if len(root) == 0 {
			return
		}
		if entries, err := fsys.ReadDir("/out"); err != nil || len(entries) != len(paths) {
			t.Fatalf("%v are there, %v were reported: %v", entries, paths, err)
		}
	})
}
