package lc0

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
)

// A game that lc0 wrote (100 visits, random net) lies in testdata: as a game
// without Extra, like one of ours, it gives the same bytes but for one best_idx:
// plies do not hold it, and at ply 2 b2b4 and g2g4 have 20 visits each.
func TestAppendV6WritesLeelasBytes(t *testing.T) {
	raw := unzip(t, filepath.Join("testdata", "game_000007.gz"))
	if len(raw) != 11*8356 {
		t.Fatalf("%d bytes, want 11 records", len(raw))
	}
	if different := rewrite(t, raw); !maps.Equal(different, map[string]int{"best_idx": 1}) {
		t.Errorf("fields that differ: %v", different)
	}
	records, err := readChunk(raw)
	if err != nil {
		t.Fatal(err)
	}
	if moves := movesOf(t, records); moves != "e2e4 d7d5 e4e5 b7b5 b2b4 g8f6 c2c4 c8g4 d1g4 d8c8 g4c8" {
		t.Errorf("moves %s", moves)
	}
}

// The same of ten games of Leela (924 positions): every byte but best_idx where
// two moves have the most visits or both are mate.
func TestAppendV6AgainstSharedGames(t *testing.T) {
	dir := golden.Path(t, "leela", "games")
	index, err := os.Open(filepath.Join(dir, "games.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	games, positions := 0, 0
	different := map[string]int{}
	for sc := bufio.NewScanner(index); sc.Scan(); {
		cols := strings.Split(sc.Text(), "\t")
		if strings.HasPrefix(cols[0], "#") {
			continue
		}
		raw := unzip(t, filepath.Join(dir, cols[0]))
		records, err := readChunk(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := movesOf(t, records); got != cols[2] {
			t.Errorf("%s: moves %s, want %s", cols[0], got, cols[2])
		}
		if back := appendAll(records); !bytes.Equal(back, raw) {
			t.Errorf("%s: read and appended, the bytes differ", cols[0])
		}
		for field, n := range rewrite(t, raw) {
			different[field] += n
		}
		games++
		positions += len(records)
	}
	t.Logf("%d games, %d positions; records that differ, by field: %v", games, positions, different)
	if games != 10 || positions != 924 {
		t.Errorf("%d games, %d positions, want 10 and 924", games, positions)
	}
	for _, field := range slices.Sorted(maps.Keys(different)) {
		if field != "best_idx" || different[field] > 6 {
			t.Errorf("%s differs in %d of %d records", field, different[field], positions)
		}
	}
}

// rewrite rebuilds the game of a chunk, writes it as version 6 and returns in
// how many records each field differs.
func rewrite(t *testing.T, raw []byte) map[string]int {
	t.Helper()
	records, err := readChunk(raw)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Game(records)
	if err != nil {
		t.Fatal(err)
	}
	g.Extra = nil // as a game of ours
	got := bytesOf(t, g, Form{Version: v6Version})
	if len(got) != len(raw) {
		t.Fatalf("%d bytes, want %d", len(got), len(raw))
	}
	different := map[string]int{}
	for at := 0; at < len(raw); at += V6Size {
		checkBest(t, raw[at:at+V6Size], got[at:at+V6Size])
		last := ""
		for i := range V6Size {
			if field := fieldAt(i); got[at+i] != raw[at+i] && field != last {
				different[field]++
				last = field
			}
		}
	}
	return different
}

// checkBest holds a guessed best_idx against Leela's: the same, as many visits,
// or both moves proven.
func checkBest(t *testing.T, want, got []byte) {
	t.Helper()
	share := func(record []byte) uint32 {
		return binary.LittleEndian.Uint32(want[8+4*int(binary.LittleEndian.Uint16(record[8346:])):])
	}
	if share(want) != share(got) && want[8278]&8 == 0 {
		t.Errorf("best_idx %d, want %d, which has other visits", binary.LittleEndian.Uint16(got[8346:]), binary.LittleEndian.Uint16(want[8346:]))
	}
}

// fieldAt names the field of a byte of a record.
func fieldAt(i int) string {
	names := []struct {
		at   int
		name string
	}{{0, "version"}, {4, "input_format"}, {8, "probabilities"}, {7440, "planes"}, {8272, "castling"}, {8276, "side"}, {8277, "rule50"},
		{8278, "invariance_info"}, {8279, "dummy"}, {8280, "root_q"}, {8284, "best_q"}, {8288, "root_d"}, {8292, "best_d"}, {8296, "root_m"},
		{8300, "best_m"}, {8304, "plies_left"}, {8308, "result_q"}, {8312, "result_d"}, {8316, "played_q"}, {8320, "played_d"}, {8324, "played_m"},
		{8328, "orig_q"}, {8332, "orig_d"}, {8336, "orig_m"}, {8340, "visits"}, {8344, "played_idx"}, {8346, "best_idx"}, {8348, "policy_kld"}, {8352, "q_st"}}
	name := ""
	for _, n := range names {
		if i >= n.at {
			name = n.name
		}
	}
	return name
}

func movesOf(t *testing.T, records []Record) string {
	t.Helper()
	b := chess.StartBoard()
	var words []string
	for i := range records {
		var legal chess.MoveList
		b.GenerateMoves(&legal)
		played := slices.IndexFunc(legal.Slice(), func(m chess.Move) bool { return encoding.PolicyIndex(m) == records[i].PlayedIdx })
		if played < 0 {
			t.Fatalf("record %d: policy index %d is no legal move", i, records[i].PlayedIdx)
		}
		m := legal.Moves[played]
		words = append(words, b.UCI(m, true))
		b.Make(m)
	}
	return strings.Join(words, " ")
}

func appendAll(records []Record) (out []byte) {
	for i := range records {
		out = records[i].Append(out)
	}
	return out
}

func unzip(t testing.TB, path string) []byte {
	t.Helper()
	data := filetest.Read(t, path)
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
