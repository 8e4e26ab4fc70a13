package selfplay

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chessbrain/chessbrain/record"
)

func TestSnapshotByHand(t *testing.T) {
	s := new(Stats)
	s.Evaluations.Store(600)
	s.Batches.Store(10)
	s.CacheHits.Store(25)
	s.CacheMisses.Store(75)
	s.finished(40, record.EndStalemate, 0, -1)
	s.finished(60, record.EndCheckmate, 1, 0) // White would have resigned, and won
	s.finished(80, record.EndCheckmate, -1, 0)
	s.finished(20, record.EndResign, -1, -1)
	s.Tree.Store(int64(2 * time.Second))
	s.Network.Store(int64(6 * time.Second))
	n := s.Snapshot()
	wrong, asked := n.ResignError()
	for name, v := range map[string][2]float64{
		"mean batch": {n.MeanBatch(), 60}, "hit share": {n.CacheHitShare(), 0.25}, "draw share": {n.DrawShare(), 0.25},
		"mean plies": {n.MeanPlies(), 50}, "resign error": {wrong, 0.5},
	} {
		if math.Abs(v[0]-v[1]) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, v[0], v[1])
		}
	}
	if want := (map[string]uint64{"stalemate": 1, "checkmate": 2, "resign": 1}); !asked || !cmp.Equal(n.Ends, want) {
		t.Errorf("ends %v, resignations asked for: %v", n.Ends, asked)
	}
	zero := new(Stats).Snapshot()
	if _, ok := zero.ResignError(); ok || zero.MeanBatch() != 0 || zero.CacheHitShare() != 0 || zero.DrawShare() != 0 {
		t.Errorf("of nothing: %+v", zero)
	}
	if b, err := json.Marshal(n); err != nil || !strings.Contains(string(b), `"ends":{"checkmate":2,"resign":1,"stalemate":1}`) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestSnapshotHasEveryCounter sets every counter of Stats to a number of its own
// and finds each in the snapshot.
func TestSnapshotHasEveryCounter(t *testing.T) {
	s := new(Stats)
	names := map[string]uint64{}
	next := int64(1000)
	var set func(v reflect.Value)
	set = func(v reflect.Value) {
		for i := range v.NumField() {
			switch f := v.Field(i).Addr().Interface().(type) {
			case interface{ Store(uint64) }:
				f.Store(uint64(next))
			case interface{ Store(int64) }:
				f.Store(next)
			default:
				if v.Field(i).Kind() == reflect.Struct {
					set(v.Field(i))
				}
				continue
			}
			names[v.Type().Field(i).Name] = uint64(next)
			next++
		}
	}
	set(reflect.ValueOf(&s.Counters).Elem())
	n := s.Snapshot()
	have := map[uint64]bool{}
	v := reflect.ValueOf(n.Counters)
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Uint64:
			have[f.Uint()] = true
		case reflect.Int64:
			have[uint64(f.Int())] = true
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d counters were found", len(names))
	}
	for name, value := range names {
		if !have[value] {
			t.Errorf("Stats.%s is not in Snapshot", name)
		}
	}
}

// TestTimesAddUp holds the times against the whole of a run.
func TestTimesAddUp(t *testing.T) {
	for _, pools := range []int{1, 2} {
		cfg := worker(new(collector), NewTickets(0, 20))
		cfg.Pools = pools
		begun := time.Now()
		mustRun(t, cfg)
		whole := time.Since(begun)
		n := cfg.Stats.Snapshot()
		own := n.Tree + n.Wait + n.Sink
		if pools == 1 {
			own += n.Network
		}
		if n.Tree <= 0 || n.Network <= 0 || n.Sink <= 0 || (pools == 2) != (n.Wait > 0) || own > whole || n.Network > whole {
			t.Errorf("%d pools: %v in tree, %v in network, %v waiting, %v in the sink of %v", pools, n.Tree, n.Network, n.Wait, n.Sink, whole)
		}
	}
}
