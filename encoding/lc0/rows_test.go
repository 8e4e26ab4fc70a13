package lc0

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
)

// The policy is read as probability by probability, wherever legal moves stand.
func TestAppendPolicy(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 4))
	for round := range 300 {
		policy := make([]float32, encoding.NumPolicy)
		for i := range policy {
			policy[i] = -1
		}
		at := []int{round, encoding.NumPolicy - 1 - round} // both ends, then more
		for range rng.IntN(60) {
			at = append(at, rng.IntN(encoding.NumPolicy))
		}
		for _, i := range at {
			policy[i] = 0
		}
		policy[at[rng.IntN(len(at))]] = 1
		bad := rng.IntN(encoding.NumPolicy)
		if round%4 == 0 {
			policy[bad] = []float32{1.5, -.5, float32(math.NaN())}[rng.IntN(3)]
		}
		var raw []byte
		var legal []uint16
		var probs []float32
		for i, p := range policy {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(p))
			if p >= 0 {
				legal, probs = append(legal, uint16(i)), append(probs, p)
			}
		}
		moves, found := appendPolicy(nil, nil, raw)
		scan := policyScan{bad: -1}
		for k, idx := range moves {
			scan.add(int(idx), found[k])
		}
		err := scan.check()
		if round%4 == 0 {
			if !errors.Is(err, ErrCorruptRecord) || !strings.Contains(err.Error(), "probability of "+encoding.PolicyString(uint16(bad))+" is ") {
				t.Fatalf("seed %d, round %d: probability %d: %v", seed, round, bad, err)
			}
			continue
		}
		if err != nil || !slices.Equal(moves, legal) || !slices.Equal(found, probs) {
			t.Fatalf("seed %d, round %d: %d moves, want %d: %v", seed, round, len(moves), len(legal), err)
		}
	}
}
