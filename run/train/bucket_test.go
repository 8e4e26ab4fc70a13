package train

import (
	"math/rand/v2"
	"testing"

	"github.com/chessbrain/chessbrain/run/setup"
)

// TestBucket holds the arithmetic against KataGo's numbers for one machine: 8
// samples for a new row, epochs of 100 000.
func TestBucket(t *testing.T) {
	rule := &setup.Epochs{BucketPerRow: 8, BucketSize: 250_000, Samples: 100_000}
	var b bucket
	for _, s := range []struct {
		rows  int64 // seen before taking
		fresh int64
		took  bool
		level float64 // afterwards
	}{
		{100_000, 0, true, 0},           // the first shuffle pays for nothing beyond the first epoch
		{100_000, 0, false, 0},          // nothing new
		{112_375, 12_375, false, 99000}, // just 0.99 of an epoch: not more
		{112_376, 1, true, -992},
		{112_376, 0, false, -992},
		{1_000_000, 887_624, true, 150_000}, // no more than the bucket holds
		{1_000_000, 0, true, 50_000},
		{1_000_000, 0, false, 50_000},
		{400_000, 0, false, 50_000}, // games were removed: counted from there on
		{406_250, 6_250, true, 0},
	} {
		fresh := b.see(rule, s.rows)
		if took := b.take(rule); fresh != s.fresh || took != s.took || b.Level != s.level {
			t.Fatalf("%d rows: fresh %d, took %v, level %v, want %+v", s.rows, fresh, took, b.Level, s)
		}
	}
	small := &setup.Epochs{BucketPerRow: 4, BucketSize: 1000, Samples: 100_000} // an epoch always fits
	if b = (bucket{Seen: true}); b.see(small, 1_000_000) != 1_000_000 || b.Level != 100_000 || !b.take(small) {
		t.Errorf("a bucket smaller than an epoch: %+v", b)
	}
	free := &setup.Epochs{BucketSize: 1, Samples: 100_000}
	b = bucket{}
	b.see(free, 5)
	for range 3 {
		if !b.take(free) || b.Level != 100_000 {
			t.Errorf("without a limit: %+v", b)
		}
	}
	if n := (&bucket{Level: 99000, Seen: true}).lacking(rule); n != 1 {
		t.Errorf("one sample is lacking: %d rows", n)
	}
	if n := (&bucket{Seen: true}).lacking(rule); n != 12_376 {
		t.Errorf("an empty bucket lacks %d rows, want 12376", n)
	}
}

// TestBucketProportion: whatever comes when, no more is trained than new rows pay
// for; as many rows as the bucket says it lacks are enough.
func TestBucketProportion(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		rule := &setup.Epochs{BucketPerRow: float64(1+rng.IntN(64)) / 4, BucketSize: 1 + rng.Int64N(1_000_000), Samples: 100 * (1 + rng.Int64N(1000))}
		var b bucket
		first := rng.Int64N(1_000_000)
		rows, taken := first, int64(0)
		for range 50 {
			b.see(rule, rows)
			for b.take(rule) {
				taken++
			}
			paid := float64(rule.Samples) + float64(rows-first)*rule.BucketPerRow
			if most := paid + 0.01*float64(rule.Samples); float64(taken*rule.Samples) > most {
				t.Fatalf("%+v: %d epochs for %v samples", rule, taken, paid)
			}
			if top := float64(max(rule.BucketSize, rule.Samples)); b.Level > top {
				t.Fatalf("%+v: level %v above %v", rule, b.Level, top)
			}
			if rng.IntN(2) == 0 {
				rows += rng.Int64N(rule.Samples)
				continue
			}
			rows += b.lacking(rule)
			if b.see(rule, rows); !b.take(rule) {
				t.Fatalf("%+v: %+v is not enough", rule, b)
			}
			taken++
		}
	}
}
