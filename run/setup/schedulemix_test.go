package setup

import (
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/runtest"
)

// TestMixedSchedule: each mix of the two kinds of learning has its warning, and
// what belongs together has none.
func TestMixedSchedule(t *testing.T) {
	const files, still = `stage { name: "f" file_path_provider { directory: "d" } } `, `stage { name: "f" file_path_provider { directory: "d" watch: false } } `
	const hanse, plain, ending = `stage { name: "p" shuffling_chunk_pool { hanse_sampling: true } } `, `stage { name: "p" shuffling_chunk_pool {} } `, `stage { name: "p" shuffling_chunk_pool { epochs: 2 } } `
	const mix = `stage { name: "m" shuffling_frame_sampler {} } `
	const rl, sl = "--source=loader --steps-per-network=5 --chunks-per-network=10 ", "--source=loader --steps-per-network=5 "
	for name, c := range map[string]struct{ flags, stages, want string }{
		"rl":            {rl, files + hanse, ""},
		"sl":            {sl, still + plain + mix, ""},
		"no schedule":   {"--source=loader ", still + hanse + mix, ""},
		"rl reservoir":  {rl, files + hanse + mix, "shuffling_frame_sampler, stage m"},
		"rl ends":       {rl, files + ending, "epochs in stage p"},
		"rl no watcher": {rl, still + hanse, "no new chunks will come"},
		"sl hanse":      {sl, files + hanse, "hanse_sampling in stage p"},
	} {
		got := MixedSchedule(runtest.Resolve(t, t.TempDir(), c.flags+"data_loader { "+c.stages+"}").Config)
		if len(got) > 1 || (len(got) == 1) != (c.want != "") || !strings.Contains(strings.Join(got, ""), c.want) {
			t.Errorf("%s: %q, want one with %q", name, got, c.want)
		}
	}
}
