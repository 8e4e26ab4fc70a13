package memfs

import (
	"bytes"
	"math/rand/v2"
)

// Random is a Fate that decides by a seeded generator: each directory keeps a
// random number of its pending changes, each file its synced content, all, a
// torn part, or the full length with zeros where data never reached the disk.
func Random(seed uint64) Fate { return &random{rand.New(rand.NewPCG(seed, 0x6d656d6673))} }

type random struct{ rng *rand.Rand }

func (r *random) Entries(n int) int { return r.rng.IntN(n + 1) }

func (r *random) Data(synced, current []byte) []byte {
	if bytes.Equal(synced, current) {
		return current
	}
	common := 0
	for common < len(synced) && common < len(current) && synced[common] == current[common] {
		common++
	}
	out := bytes.Clone(current)
	switch cut := common + r.rng.IntN(len(current)-common+1); r.rng.IntN(4) {
	case 0:
		return synced
	case 1:
		return out
	case 2: // the rest was never written
		if cut < len(synced) {
			return append(out[:cut], synced[cut:]...)
		}
		return out[:cut]
	default: // the size was, the data was not
		clear(out[cut:])
		return out
	}
}
