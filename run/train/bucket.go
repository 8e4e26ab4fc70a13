package train

import "github.com/chessbrain/chessbrain/run/setup"

// bucket is KataGo's train bucket (v1.17, train.py): new rows of self-play fill
// it with the samples that may be trained for them, and an epoch takes its samples
// out. The zero value is a bucket that has seen no shuffle.
type bucket struct {
	Level float64 `json:"level"` // samples that are paid for
	Row   int64   `json:"row"`   // rows that self-play had made when it was last filled
	Seen  bool    `json:"seen"`  // a shuffle was seen
}

// takeShare is the share of an epoch that must be in the bucket: KataGo's rows
// are counted before some are dropped, so an epoch's last rows may be missing.
const takeShare = 0.99

// see fills the bucket up to so many rows that self-play has made in all, and
// returns how many of them are new. The first shuffle that is seen pays for
// nothing beyond the epoch that a training begins with. Fewer rows than before
// mean that games were removed: counting goes on from there.
func (b *bucket) see(e *setup.Epochs, rows int64) (fresh int64) {
	if !b.Seen {
		*b = bucket{Level: float64(e.Samples), Row: rows, Seen: true}
		return 0
	}
	fresh = max(0, rows-b.Row)
	b.Row = rows
	if fresh > 0 {
		b.Level = min(b.Level+float64(fresh)*e.BucketPerRow, float64(max(e.BucketSize, e.Samples)))
	}
	return fresh
}

// take takes an epoch out of the bucket, or returns false where it holds too
// little.
func (b *bucket) take(e *setup.Epochs) bool {
	if e.BucketPerRow == 0 {
		return true
	}
	if b.Level <= takeShare*float64(e.Samples) {
		return false
	}
	b.Level -= float64(e.Samples)
	return true
}

// lacking is how many new rows the next epoch waits for, at least 1.
func (b *bucket) lacking(e *setup.Epochs) int64 {
	missing := takeShare*float64(e.Samples) - b.Level
	return max(1, int64(missing/e.BucketPerRow)+1)
}
