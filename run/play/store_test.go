package play

import (
	"errors"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/rescore"
)

// broken is a rescorer that goes on without a part of its data.
type broken struct{ rescore.Identity }

func (broken) Err() error { return errors.New("KQvK.rtbw: cut off") }

func TestStoreLogsFaults(t *testing.T) {
	var log strings.Builder
	s := &Store{opt: StoreOptions{Rescorers: rescore.Chain{rescore.Identity{}, broken{}}}}
	s.LogFaults(runtest.LogTo(&log))
	if !strings.Contains(log.String(), "identity: KQvK.rtbw: cut off") {
		t.Errorf("log: %s", log.String())
	}
	log.Reset()
	s.opt.Rescorers = s.opt.Rescorers[:1]
	if s.LogFaults(runtest.LogTo(&log)); log.Len() > 0 {
		t.Errorf("log without a fault: %s", log.String())
	}
}
