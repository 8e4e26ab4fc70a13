package play

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/run"
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

// A queue of so many games holds their producers back: no more wait than are durable, and
// on their way there, and one that finds no room. None of them is lost at the end.
func TestStoreQueue(t *testing.T) {
	games, _ := runtest.AnyGames(t, 100)
	synctest.Test(t, func(t *testing.T) {
		const queue = 16
		s := OpenStore(StoreOptions{Dir: run.Dir{Root: t.TempDir()}, Process: "p1", Net: "n", Job: "j", Queue: queue})
		ctx, cancel := context.WithCancel(t.Context())
		put := 0
		go func() {
			for put < len(games) && s.Put(ctx, games[put]) == nil {
				put++
			}
		}()
		synctest.Wait()
		if put < queue || put > 2*queue+1 {
			t.Errorf("%d games wait in a queue of %d", put, queue)
		}
		cancel()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if there := len(runtest.GamesOnDisk(t, s.opt.Dir.Root)); there != put {
			t.Errorf("%d games on disk, %d were handed in", there, put)
		}
	})
}
