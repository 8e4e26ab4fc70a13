package record_test

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/record"
)

// Ten games that lc0 wrote go into game records, through the bytes and back to
// training rows: inputs bit for bit, targets and policies bit for bit, and the
// size that the package promises.
func TestLeelaGamesThroughTheRecord(t *testing.T) {
	dir := golden.Path(t, "leela", "games")
	index, err := os.Open(filepath.Join(dir, "games.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	var r record.Replayer
	positions, size, games := 0, 0, 0
	for sc := bufio.NewScanner(index); sc.Scan(); {
		cols := strings.Split(sc.Text(), "\t")
		if strings.HasPrefix(cols[0], "#") {
			continue
		}
		chunk := readChunk(t, filepath.Join(dir, cols[0]))
		encoded, err := record.Append(nil, leelaGame(t, chunk, cols[1], strings.Fields(cols[2])))
		if err != nil {
			t.Fatalf("%s: %v", cols[0], err)
		}
		g, _, err := record.Decode(encoded)
		if err != nil {
			t.Fatalf("%s: %v", cols[0], err)
		}
		if again, err := record.Append(nil, g); err != nil || !bytes.Equal(again, encoded) {
			t.Fatalf("%s: round trip: %v", cols[0], err)
		}
		compareRows(t, &r, g, chunk, cols[0])
		games++
		positions += len(g.Plies)
		size += len(encoded)
	}
	perPosition := float64(size) / float64(positions)
	t.Logf("%d games, %d positions, %.1f bytes a position", games, positions, perPosition)
	if games != 10 || perPosition > 300 {
		t.Errorf("%d games, %.1f bytes a position; want 10 and at most 300", games, perPosition)
	}
}

// leelaGame makes a record of a chunk. Probabilities become counts where that
// loses no bit, as an importer does.
func leelaGame(t *testing.T, chunk []lc0.Record, result string, moves []string) *record.Game {
	t.Helper()
	g := &record.Game{NetID: "leela-64x6", Flags: record.Imported, End: record.EndUnknown,
		WhiteResult: map[string]int8{"whitewon": 1, "blackwon": -1, "draw": 0}[result]}
	b := chess.StartBoard()
	var l chess.MoveList
	for i, s := range moves {
		rec := &chunk[i]
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		l.N = 0
		b.GenerateMoves(&l)
		p := record.Ply{
			Move: m, Visits: rec.Visits, Weight: 1, KLD: rec.PolicyKLD, Flags: record.FullSearch,
			Root: rec.Root, Best: rec.Best, Played: rec.Played, Orig: rec.Orig,
		}
		p.Kind, p.Counts = record.PolicyCounts, make([]uint32, l.N)
		probs := make([]float32, l.N)
		for j, mv := range l.Slice() {
			probs[j] = rec.Probabilities[encoding.PolicyIndex(mv)]
			p.Counts[j] = uint32(math.Round(float64(probs[j]) * float64(p.Visits-1)))
		}
		if i%7 == 3 { // the other kind too
			p.Kind, p.Counts, p.Probs = record.PolicyProbs, nil, probs
		}
		g.Plies = append(g.Plies, p)
		b.Make(m)
	}
	return g
}

func compareRows(t *testing.T, r *record.Replayer, g *record.Game, chunk []lc0.Record, name string) {
	t.Helper()
	b := encoding.NewTrainBatch(len(g.Plies))
	plies := make([]int, len(g.Plies))
	for i := range plies {
		plies[i] = i
	}
	if err := r.AppendRows(b, g, plies); err != nil {
		t.Fatal(err)
	}
	for i := range plies {
		rec := &chunk[i]
		for p := range encoding.NumMasks {
			if b.Masks[i][p] != rec.Planes[p] {
				t.Fatalf("%s ply %d plane %d = %x, want %x", name, i, p, b.Masks[i][p], rec.Planes[p])
			}
		}
		for j, idx := range b.LegalOf(i) {
			if got, want := b.PolicyOf(i)[j], rec.Probabilities[idx]; got != want {
				t.Fatalf("%s ply %d: P(%s) = %g, want %g", name, i, encoding.PolicyString(idx), got, want)
			}
		}
		targets := &b.Targets[i]
		if result := targets[encoding.TargetResult]; result.Q != rec.ResultQ || result.D != rec.ResultD {
			t.Fatalf("%s ply %d: result %+v, want Q %g D %g", name, i, result, rec.ResultQ, rec.ResultD)
		}
		if targets[encoding.TargetRoot] != rec.Root || targets[encoding.TargetBest] != rec.Best || targets[encoding.TargetPlayed] != rec.Played {
			t.Fatalf("%s ply %d: targets %+v, want those of %+v %+v %+v", name, i, targets, rec.Root, rec.Best, rec.Played)
		}
	}
}

func readChunk(t *testing.T, path string) []lc0.Record {
	t.Helper()
	source, err := lc0.OpenSource(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := source.Chunk(0)
	if err != nil {
		t.Fatal(err)
	}
	records, err := lc0.DecodeRecords(raw)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return records
}
