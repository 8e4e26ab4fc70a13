package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
)

// trialPatience is how long a trial waits for a batch before it says
// what it waits for.
const trialPatience = 10 * time.Second

// TrialResult is what a trial of a loader found.
type TrialResult struct {
	Output        string  `json:"output"`
	Batches       int     `json:"batches"`
	Rows          int     `json:"rows"`
	Ended         bool    `json:"ended"` // the data ended before the batches were full
	FirstSeconds  float64 `json:"first_seconds"`
	Seconds       float64 `json:"seconds"`         // after the first batch
	RowsPerSecond float64 `json:"rows_per_second"` // after the first batch; 0 = there was no other
	LegalPerRow   float64 `json:"legal_moves_per_row"`
	Stats         Stats   `json:"loader"`
}

// Trial is a run of a loader without training.
type Trial struct {
	Output        string                           // that is read
	Batches, Rows int                              // batches to take, and rows of each
	Tell          func(format string, args ...any) // what it waits for
}

// Take reads the batches of output source of l, and tells what it waits for when they
// do not come.
func (t *Trial) Take(ctx context.Context, l *Loader, source *Output) (*TrialResult, error) {
	r := &TrialResult{Output: t.Output}
	b := encoding.NewTrainBatch(t.Rows)
	begin, legal, firstRows := time.Now(), 0, 0
	for r.Batches < t.Batches && !r.Ended {
		b.Reset()
		err := t.next(ctx, l, source, b)
		if errors.Is(err, io.EOF) {
			r.Ended = true
			break
		}
		if err != nil {
			return nil, err
		}
		r.Batches++
		r.Rows += b.N
		legal += len(b.Legal)
		if r.Batches == 1 {
			r.FirstSeconds, firstRows = time.Since(begin).Seconds(), b.N
			begin = time.Now()
		}
	}
	r.Stats = l.Stats()
	if r.Rows > 0 {
		r.LegalPerRow = float64(legal) / float64(r.Rows)
	}
	if r.Batches > 1 {
		r.Seconds = time.Since(begin).Seconds()
		r.RowsPerSecond = float64(r.Rows-firstRows) / max(r.Seconds, 1e-9)
	}
	return r, nil
}

// next fills a batch.
func (t *Trial) next(ctx context.Context, l *Loader, source *Output, b *encoding.TrainBatch) error {
	for {
		some, cancel := context.WithTimeout(ctx, trialPatience)
		err := source.Next(some, b)
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		s := l.Stats()
		t.Tell("still waiting: %d of %d rows of this batch, first scan complete: %t, chunks seen: %d, quarantined: %d",
			b.N, t.Rows, s.ScanDone, s.NewChunks, s.Quarantined)
	}
}

// Write prints the result for a person.
func (r *TrialResult) Write(w io.Writer) error {
	fmt.Fprintf(w, "output %s: %d batches, %d rows, %.1f legal moves a row\n", r.Output, r.Batches, r.Rows, r.LegalPerRow)
	if r.Ended {
		fmt.Fprintln(w, "the data ended")
	}
	fmt.Fprintf(w, "first batch after %.3f s", r.FirstSeconds)
	if r.RowsPerSecond > 0 {
		fmt.Fprintf(w, ", then %.0f rows/s", r.RowsPerSecond)
	}
	fmt.Fprintf(w, "\n\n%-24s %-9s %10s %10s %10s %7s\n", "queue", "of", "put", "got", "dropped", "length")
	for _, s := range r.Stats.Stages {
		for _, o := range s.Outputs {
			fmt.Fprintf(w, "%-24s %-9s %10d %10d %10d %3d/%-3d\n", o.Name, o.Type, o.Puts, o.Gets, o.Drops, o.Length, o.Capacity)
		}
	}
	fmt.Fprintln(w)
	for _, s := range r.Stats.Stages {
		var counters []string
		for _, c := range s.Counters {
			counters = append(counters, c.Name+" "+strconv.FormatFloat(c.Value, 'f', -1, 64))
		}
		fmt.Fprintf(w, "%s (%s): %s\n", s.Name, s.Kind, cmp.Or(strings.Join(counters, ", "), "no counters"))
	}
	for _, q := range r.Stats.Quarantine {
		fmt.Fprintf(w, "cannot be used: %s: %s\n", q.Name, q.Error)
	}
	return nil
}
