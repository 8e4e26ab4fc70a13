package encoding

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
)

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

// v6 is one training record of Leela, read by the offsets of its V6 struct.
type v6 []byte

const v6Size = 8356

func (r v6) prob(idx uint16) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(r[8+4*int(idx):]))
}

// masks undoes the reversal of bits inside each byte.
func (r v6) masks() (m [NumMasks]uint64) {
	for i := range m {
		v := binary.LittleEndian.Uint64(r[7440+8*i:])
		m[i] = bits.ReverseBytes64(bits.Reverse64(v))
	}
	return m
}

func (r v6) scalars() Scalars {
	return Scalars{r[8272], r[8273], r[8274], r[8275], r[8276], r[8277]}
}

func (r v6) playedIdx() uint16 { return binary.LittleEndian.Uint16(r[8344:]) }

func readChunk(t *testing.T, path string) []v6 {
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
	if len(raw)%v6Size != 0 {
		t.Fatalf("%s has %d bytes, no multiple of %d", path, len(raw), v6Size)
	}
	var records []v6
	for ; len(raw) > 0; raw = raw[v6Size:] {
		records = append(records, v6(raw[:v6Size]))
	}
	return records
}

// Every position of ten games that lc0 wrote: planes, scalars, the set of
// legal policy indices and the index of the move played, bit for bit.
func TestEncodeAgainstLeelaGames(t *testing.T) {
	dir := filepath.Join(sharedData(t), "leela", "games")
	f, err := os.Open(filepath.Join(dir, "games.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	games, positions := 0, 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		cols := strings.Split(sc.Text(), "\t")
		if strings.HasPrefix(cols[0], "#") {
			continue
		}
		moves := strings.Fields(cols[2])
		records := readChunk(t, filepath.Join(dir, cols[0]))
		if len(records) != len(moves) {
			t.Fatalf("%s: %d records, %d moves", cols[0], len(records), len(moves))
		}
		h := chess.NewHistory(chess.StartBoard())
		for ply, s := range moves {
			comparePosition(t, h, records[ply], cols[0], ply)
			m, err := h.Board().ParseUCI(s)
			if err != nil {
				t.Fatalf("%s ply %d: %v", cols[0], ply, err)
			}
			if got, want := PolicyIndex(m), records[ply].playedIdx(); got != want {
				t.Fatalf("%s ply %d: %s has index %d, want %d", cols[0], ply, s, got, want)
			}
			h.Push(m)
			positions++
		}
		games++
	}
	if games != 10 {
		t.Errorf("%d games, want 10", games)
	}
	t.Logf("%d positions equal", positions)
}

func comparePosition(t *testing.T, h *chess.History, r v6, name string, ply int) {
	t.Helper()
	m, s := encode(h)
	if want := r.masks(); m != want {
		for i := range m {
			if m[i] != want[i] {
				t.Errorf("%s ply %d plane %d = %x, want %x", name, ply, i, m[i], want[i])
			}
		}
		t.FailNow()
	}
	if want := r.scalars(); s != want {
		t.Fatalf("%s ply %d: scalars %+v, want %+v", name, ply, s, want)
	}
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	legal := map[uint16]bool{}
	for _, mv := range l.Slice() {
		idx := PolicyIndex(mv)
		legal[idx] = true
		if back := PolicyMove(idx, h.Board()); back != mv {
			t.Fatalf("%s ply %d: index %d gives %#04x, want %#04x", name, ply, idx, back, mv)
		}
	}
	for idx := range uint16(NumPolicy) {
		if want := r.prob(idx) >= 0; legal[idx] != want {
			t.Fatalf("%s ply %d: %s legal = %v, want %v", name, ply, PolicyString(idx), legal[idx], want)
		}
	}
}
