package train

import (
	"context"
	"fmt"
	"time"

	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

const (
	// pacePoll is how often a training that waits looks for newer rows.
	pacePoll = 5 * time.Second
	// paceWords is after how many looks it says again what it waits for.
	paceWords = 60
)

// lookUntil looks until nothing is lacking, with a pause between two looks, and says
// what is waited for at first and then from time to time.
func lookUntil(ctx context.Context, pause func(context.Context) error, say func(why string), look func() (lacking string, err error)) error {
	for looks := 0; ; looks++ {
		why, err := look()
		if why == "" || err != nil {
			return err
		}
		if looks%paceWords == 0 {
			say(why)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

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

// bucketPace trains in epochs on the newest shuffle, as the train bucket allows.
// The state is saved after each epoch, and a net exported after every so many.
type bucketPace struct {
	rounds
	rows     *shuffledRows
	samples  func() int64                // trained on so far
	steps    func(rows int64) int64      // that see so many rows
	pause    func(context.Context) error // until the next look
	state    bucketState
	rowsOver bool   // all rows of the shuffle were trained on, with Once
	waiting  string // for what; "" = not
	began    time.Time
}

// bucketState is what the checkpoint holds.
type bucketState struct {
	Bucket bucket `json:"bucket"`
	Epochs int64  `json:"epochs"` // done by the training in all
	Open   bool   `json:"open"`   // an epoch is under way: it is paid for
	Start  int64  `json:"start"`  // samples trained on before it
}

// newBucketPace returns the pace of a run whose rows are shuffled ones.
func newBucketPace(r *training, rows *shuffledRows) *bucketPace {
	p := &bucketPace{rounds: newRounds(r), rows: rows, samples: r.trainer.NumSamples, steps: r.cfg.StepsFor,
		pause: func(ctx context.Context) error { return r.bounds.during(func() error { return r.opt.pause(ctx) }) }}
	rows.source.Repeat = !p.Once
	return p
}

// Wait is Pace's. Between two epochs it goes over to the newest shuffle and
// begins the next epoch when the bucket holds enough.
func (p *bucketPace) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.state.Open && !p.rowsOver {
		return nil
	}
	if !p.state.Open && p.enough() {
		return p.end("the epochs of this process are done", "epochs", p.here, "limit", "--max-epochs-this-instance")
	}
	say := func(why string) {
		p.waiting = why
		p.waits(why)
	}
	return lookUntil(ctx, p.pause, say, func() (string, error) {
		newer, err := p.look()
		if err != nil {
			return "", err
		}
		p.rowsOver = p.rowsOver && !newer
		why, ends := p.lacks()
		switch {
		case why == "":
			p.begin()
		case ends:
			return "", p.end("training ends", "lacking", why)
		}
		return why, nil
	})
}

// look goes over to a newer shuffle where there is one and fills the bucket.
func (p *bucketPace) look() (newer bool, err error) {
	newer, err = p.rows.advance()
	if err != nil {
		return false, err
	}
	_, generated := p.rows.Size()
	if fresh := p.state.Bucket.see(p.Epochs, generated); fresh > 0 && p.BucketPerRow > 0 {
		p.log.Info("train bucket filled", "new_rows", fresh, "level", int64(p.state.Bucket.Level), "per_new_row", p.BucketPerRow)
	}
	return newer, nil
}

// lacks says what the next step lacks, "" = nothing, and whether that ends the
// training. It takes the epoch out of the bucket where one begins.
func (p *bucketPace) lacks() (why string, ends bool) {
	switch {
	case p.rowsOver:
		return "a newer shuffle: all rows of " + p.rows.source.Manifest().Name + " were trained on (--no-repeat-files)", p.Quit
	case p.state.Open || p.state.Bucket.take(p.Epochs):
		return "", false
	}
	b := &p.state.Bucket
	return fmt.Sprintf("%d more rows of self-play in a newer shuffle: the train bucket holds %d samples of the %d of an epoch, and each new row pays for %g (--max-train-bucket-per-new-data)",
		b.lacking(p.Epochs), int64(b.Level), p.Samples, p.BucketPerRow), p.BucketStops
}

// begin begins an epoch, or goes on with one whose rows had ended.
func (p *bucketPace) begin() {
	p.waiting = ""
	if p.state.Open {
		return
	}
	p.state.Open, p.state.Start, p.began = true, p.samples(), time.Now()
	p.log.Info("epoch", "number", p.state.Epochs+1, "samples", p.Samples, "bucket", int64(p.state.Bucket.Level))
}

// RowsEnded is Pace's: with once the rows of a shuffle end.
func (p *bucketPace) RowsEnded(err error) error {
	if p.rowsOver = p.Once; p.Once {
		return nil
	}
	return p.freePace.RowsEnded(err)
}

func (p *bucketPace) Left() (steps int64, ok bool) {
	return p.steps(p.Samples-p.samples()+p.state.Start) + (p.Most-p.here-1)*p.steps(p.Samples), p.Most > 0
}

func (p *bucketPace) After(*trainer.StepStats) (save, export bool) {
	trained := p.samples() - p.state.Start
	if trained < p.Samples {
		return false, false
	}
	p.state.Open = false
	p.state.Epochs++
	p.finish("epoch", time.Since(p.began), fmt.Sprintf("epoch %d, %d samples", p.state.Epochs, trained))
	return true, p.PerExport > 0 && p.state.Epochs%p.PerExport == 0
}

const bucketVersion = 1

// Section is Pace's: the bucket and the epoch under way.
func (p *bucketPace) Section() stage.Section {
	get := func() bucketState { return p.state }
	return replay.JSONSection("train_bucket", "train_bucket section", bucketVersion, get, func(saved bucketState) error {
		p.state = saved
		return nil
	})
}

func (p *bucketPace) Status() map[string]any {
	page := map[string]any{"epochs": p.state.Epochs, "samples_per_epoch": p.Samples, "shuffle": p.rows.source.Manifest().Name}
	if p.state.Open {
		page["epoch_samples"] = p.samples() - p.state.Start
	}
	if p.BucketPerRow > 0 {
		page["bucket_level"], page["bucket_size"] = int64(p.state.Bucket.Level), max(p.BucketSize, p.Samples)
		page["bucket_per_new_row"] = p.BucketPerRow
	}
	if p.waiting != "" {
		page["waiting"] = p.waiting
	}
	return page
}
