package record

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
)

// Ten games that lc0 wrote go into game records, through the bytes and back to
// training rows: inputs bit for bit, targets and policies bit for bit, and the
// size that the package promises.
func TestLeelaGamesThroughTheRecord(t *testing.T) {
	dir := filepath.Join(sharedData(t), "leela", "games")
	index, err := os.Open(filepath.Join(dir, "games.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	var r Replayer
	positions, size, games := 0, 0, 0
	for sc := bufio.NewScanner(index); sc.Scan(); {
		cols := strings.Split(sc.Text(), "\t")
		if strings.HasPrefix(cols[0], "#") {
			continue
		}
		raw := readGzip(t, filepath.Join(dir, cols[0]))
		g := leelaGame(t, raw, cols[1], strings.Fields(cols[2]))
		encoded := mustAppend(t, g)
		back, _, err := Decode(encoded)
		if err != nil || !equalGames(g, back) {
			t.Fatalf("%s: round trip: %v", cols[0], err)
		}
		compareRows(t, &r, back, raw, cols[0])
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

const v6Size = 8356

func f32(b []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
}

// leelaGame makes a record of V6 bytes (offsets of Leela's V6 struct).
// Probabilities become counts where that loses no bit, as an importer does.
func leelaGame(t *testing.T, raw []byte, result string, moves []string) *Game {
	t.Helper()
	g := &Game{NetID: "leela-64x6", Flags: Imported, End: EndUnknown,
		WhiteResult: map[string]int8{"whitewon": 1, "blackwon": -1, "draw": 0}[result]}
	b := chess.StartBoard()
	var l chess.MoveList
	for i, s := range moves {
		rec := raw[i*v6Size:][:v6Size]
		m, err := b.ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		l.N = 0
		b.GenerateMoves(&l)
		qdm := func(q, d, m int) encoding.QDM { return encoding.QDM{Q: f32(rec, q), D: f32(rec, d), M: f32(rec, m)} }
		p := Ply{
			Move: m, Visits: binary.LittleEndian.Uint32(rec[8340:]), Weight: 1, KLD: f32(rec, 8348), Flags: FullSearch,
			Root: qdm(8280, 8288, 8296), Best: qdm(8284, 8292, 8300),
			Played: qdm(8316, 8320, 8324), Orig: qdm(8328, 8332, 8336),
		}
		p.Kind, p.Counts = PolicyCounts, make([]uint32, l.N)
		probs := make([]float32, l.N)
		for j, mv := range l.Slice() {
			probs[j] = f32(rec, 8+4*int(encoding.PolicyIndex(mv)))
			p.Counts[j] = uint32(math.Round(float64(probs[j]) * float64(p.Visits-1)))
		}
		if i%7 == 3 { // the other kind too
			p.Kind, p.Counts, p.Probs = PolicyProbs, nil, probs
		}
		g.Plies = append(g.Plies, p)
		b.Make(m)
	}
	return g
}

func compareRows(t *testing.T, r *Replayer, g *Game, raw []byte, name string) {
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
		rec := raw[i*v6Size:][:v6Size]
		for p := range encoding.NumMasks {
			stored := binary.LittleEndian.Uint64(rec[7440+8*p:])
			if want := bits.ReverseBytes64(bits.Reverse64(stored)); b.Masks[i][p] != want {
				t.Fatalf("%s ply %d plane %d = %x, want %x", name, i, p, b.Masks[i][p], want)
			}
		}
		for j, idx := range b.LegalOf(i) {
			if got, want := b.PolicyOf(i)[j], f32(rec, 8+4*int(idx)); got != want {
				t.Fatalf("%s ply %d: P(%s) = %g, want %g", name, i, encoding.PolicyString(idx), got, want)
			}
		}
		result := b.Targets[i][encoding.TargetResult]
		if q, d := f32(rec, 8308), f32(rec, 8312); result.Q != q || result.D != d {
			t.Fatalf("%s ply %d: result %+v, want Q %g D %g", name, i, result, q, d)
		}
	}
}

func readGzip(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// sharedData returns the folder of the shared test data: $CHESSBRAIN_SHARED,
// or ../shared beside the repository.
func sharedData(t *testing.T) string {
	t.Helper()
	root := os.Getenv("CHESSBRAIN_SHARED")
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				break
			}
			dir = filepath.Dir(dir)
		}
		root = filepath.Join(dir, "..", "shared")
	}
	data := filepath.Join(root, "data")
	if _, err := os.Stat(data); err != nil {
		t.Skipf("SKIPPED, shared test data missing (set CHESSBRAIN_SHARED): %v", err)
	}
	return data
}
