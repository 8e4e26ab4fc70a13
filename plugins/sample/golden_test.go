package sample

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

var update = flag.Bool("update", false, "write golden files")

// TestGoldenDraws: rows and states of every sampler are those of the golden file, to
// the bit, over windows that slide, jump and grow at their old end. Another row would
// change every run; another state could not read the checkpoints that there are.
func TestGoldenDraws(t *testing.T) {
	const golden = "testdata/draws.golden"
	var got bytes.Buffer
	for _, subject := range subjects {
		rng := rand.New(rand.NewPCG(5, 3))
		next := goldenDraws(t, subject, 77)
		for i, w := range moves(rng, 16) {
			rows, state := next(w, []int{1, 7, 64, 256}[i%4])
			sum := sha256.Sum256(rowBytes(rows))
			fmt.Fprintf(&got, "%v draw %d: rows %x state %x\n", subject, i, sum[:8], state)
		}
	}
	if *update {
		filetest.Write(t, golden, got.Bytes())
	}
	want := filetest.Read(t, golden)
	lines, wanted := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range wanted {
		if i >= len(lines) || !bytes.Equal(lines[i], wanted[i]) {
			t.Fatalf("line %d:\n%s\nwant\n%s", i+1, lines[min(i, len(lines)-1)], wanted[i])
		}
	}
}

// rowBytes is 16 bytes a row: game, ply, bits of the weight.
func rowBytes(rows []stage.RowRef) (b []byte) {
	for _, r := range rows {
		b = binary.LittleEndian.AppendUint64(b, r.Game)
		b = binary.LittleEndian.AppendUint32(b, uint32(r.Ply))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(r.Weight))
	}
	return b
}

// goldenDraws returns what makes the next draw of a seeded sampler.
func goldenDraws(t *testing.T, of subject, seed uint64) func(idx stage.Index, n int) ([]stage.RowRef, []byte) {
	s := of.sampler(t, seed)
	return func(idx stage.Index, n int) ([]stage.RowRef, []byte) {
		rows := drawn(t, s, idx, n)
		return rows, saved(t, s)
	}
}
