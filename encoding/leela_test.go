package encoding_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
)

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

// Every position of ten games that lc0 wrote: planes, scalars, the set of
// legal policy indices and the index of the move played, bit for bit.
func TestEncodeAgainstLeelaGames(t *testing.T) {
	dir := golden.Path(t, "leela", "games")
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
			comparePosition(t, h, &records[ply], cols[0], ply)
			m, err := h.Board().ParseUCI(s)
			if err != nil {
				t.Fatalf("%s ply %d: %v", cols[0], ply, err)
			}
			if got, want := encoding.PolicyIndex(m), records[ply].PlayedIdx; got != want {
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

func comparePosition(t *testing.T, h *chess.History, r *lc0.Record, name string, ply int) {
	t.Helper()
	var m [encoding.NumMasks]uint64
	var s encoding.Scalars
	encoding.Encode(h, &m, &s)
	if m != r.Planes {
		for i := range m {
			if m[i] != r.Planes[i] {
				t.Errorf("%s ply %d plane %d = %x, want %x", name, ply, i, m[i], r.Planes[i])
			}
		}
		t.FailNow()
	}
	c := r.Castling
	if want := (encoding.Scalars{OurOOO: c[0], OurOO: c[1], TheirOOO: c[2], TheirOO: c[3], BlackToMove: r.SideOrEP, Rule50: r.Rule50}); s != want {
		t.Fatalf("%s ply %d: scalars %+v, want %+v", name, ply, s, want)
	}
	var l chess.MoveList
	h.Board().GenerateMoves(&l)
	legal := map[uint16]bool{}
	for _, mv := range l.Slice() {
		idx := encoding.PolicyIndex(mv)
		if legal[idx] {
			t.Fatalf("%s ply %d: index %d of %#04x is another legal move's too", name, ply, idx, mv)
		}
		legal[idx] = true
	}
	for idx := range uint16(encoding.NumPolicy) {
		if want := r.Probabilities[idx] >= 0; legal[idx] != want {
			t.Fatalf("%s ply %d: %s legal = %v, want %v", name, ply, encoding.PolicyString(idx), legal[idx], want)
		}
	}
}
