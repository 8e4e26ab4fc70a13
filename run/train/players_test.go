package train

import (
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/run/setup"
)

// Players beside the trainer do not get a net after each game: packing and naming it
// would take as long as a small net's training. Players between steps do, or their games
// would depend on the clock.
func TestRefresh(t *testing.T) {
	published := func(workers int, ago time.Duration) (asked bool) {
		p := &players{core: &core{cfg: setup.Training{Episodes: setup.Episodes{Workers: workers}}}, published: time.Now().Add(-ago)}
		defer func() { asked = recover() != nil }() // there is no trainer whose net could be had
		return p.refresh() != nil
	}
	for _, c := range []struct {
		workers int
		ago     time.Duration
		want    bool
	}{{2, 0, false}, {2, 2 * publishEvery, true}, {0, 0, true}} {
		if got := published(c.workers, c.ago); got != c.want {
			t.Errorf("%d workers, %v after the last net: published %v, want %v", c.workers, c.ago, got, c.want)
		}
	}
}
