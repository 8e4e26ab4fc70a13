package train

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// Pace says when a step may be done and what follows it: episodes, a train bucket, a
// schedule of chunks, or nothing that holds the training back. The goroutine that
// trains calls it.
type Pace interface {
	// Wait waits until the next step may be done. It takes up newer games or rows where
	// there are any. io.EOF, not wrapped, ends the training; the reason is in the log
	// then. ctx ends the wait.
	Wait(ctx context.Context) error

	// After is called after each step and says whether the net is measured and the state
	// saved now, and whether the net is exported then. An export implies a save.
	After(s *trainer.StepStats) (save, export bool)

	// Left is asked after Wait and says how many steps are to come until the training ends
	// by itself; ok is false where that is not known.
	Left() (steps int64, ok bool)

	// RowsEnded is told that a step found no rows, with its error: nil = Wait waits for
	// more, io.EOF = the training ends.
	RowsEnded(err error) error

	// Exports says whether After alone chooses the nets that leave the training, and
	// not every so many checkpoints; last: the net of the end leaves it all the same.
	Exports() (alone, last bool)

	// Queue is how many games wait to be trained on.
	Queue() int

	// Section is its state in the checkpoint, without a name where it has none. A
	// checkpoint may lack it: then it begins a new one.
	Section() stage.Section

	// Status is what the status page shows of it: a fresh map at each call.
	Status() map[string]any

	// StartNow ends the wait of a schedule for its chunks. Safe for concurrent use.
	StartNow() error

	Close() error
}

// freePace lets the training go as fast as it can. Other paces add to it what they
// hold back.
type freePace struct {
	advance  func() (newer bool, err error) // takes up newer rows; nil = there are none
	advanced time.Time                      // when that was done last
	left     func() (steps int64, ok bool)  // Left; nil = not known
	none     func() bool                    // no row was ever trained on: an end without rows is an error; nil = it is none
	from     string                         // where rows come from
	log      *slog.Logger
}

// advanceEvery is how often a free training looks for newer rows.
const advanceEvery = 10 * time.Second

func (p *freePace) Wait(context.Context) (err error) {
	if p.advance != nil && time.Since(p.advanced) > advanceEvery {
		p.advanced = time.Now()
		_, err = p.advance()
	}
	return err
}

func (p *freePace) After(*trainer.StepStats) (save, export bool) { return false, false }

func (p *freePace) Left() (steps int64, ok bool) {
	if p.left == nil {
		return 0, false
	}
	return p.left()
}

func (p *freePace) RowsEnded(error) error {
	if p.none != nil && p.none() {
		return fmt.Errorf("there is not one row to train on in %s; chessbrain verify says what is wrong with the files", p.from)
	}
	p.log.Info("all rows were trained on")
	return io.EOF
}

func (p *freePace) Exports() (alone, last bool) { return false, true }
func (p *freePace) Queue() int                  { return 0 }
func (p *freePace) Section() stage.Section      { return stage.Section{} }
func (p *freePace) Status() map[string]any      { return nil }
func (p *freePace) StartNow() error             { return errNeverWaits }
func (p *freePace) Close() error                { return nil }

// rounds is what the paces in epochs, and in nets of a schedule, have in common: the
// state is saved after each round, and after some of them a net leaves the training.
type rounds struct {
	freePace
	*setup.Epochs
	waits   func(why string)      // says so
	publish func(e monitor.Event) // the end of each round

	here  int64 // rounds done by this process
	ended bool  // by this pace
}

func newRounds(r *training) rounds {
	return rounds{freePace: freePace{log: r.log}, Epochs: &r.cfg.Epochs, waits: r.waits, publish: r.process.Publish}
}

// enough says whether this process has done as many rounds as it shall.
func (p *rounds) enough() bool { return p.Most > 0 && p.here >= p.Most }

// end ends the training; the log says why.
func (p *rounds) end(message string, args ...any) error {
	p.log.Info(message, args...)
	p.ended = true
	return io.EOF
}

// finish counts a round and tells of it.
func (p *rounds) finish(name string, took time.Duration, detail string) {
	p.here++
	p.publish(&monitor.Stage{Name: name, State: "finished", Seconds: monitor.Number(took.Seconds()), Detail: detail})
}

// Exports is Pace's: candidates are the nets of whole rounds, and where none was
// asked for, that of the end.
func (p *rounds) Exports() (alone, last bool) { return true, p.ended && p.PerExport == 0 }

// openRows opens what the configuration trains on, and the pace that goes with it.
func (r *training) openRows(ctx context.Context) error {
	r.saver.everySteps = r.cfg.Checkpoints.Steps
	switch r.cfg.Source {
	case setup.Shuffles:
		rows, err := r.openShuffled(ctx)
		if err != nil {
			return err
		}
		r.rows, r.pace = rows, &freePace{advance: rows.advance, log: r.log}
		if r.cfg.Epochs.Samples > 0 {
			r.pace = newBucketPace(r, rows)
		}
	case setup.LoaderRows:
		rows, err := r.openLoader(ctx)
		if err != nil {
			return err
		}
		left := func() (int64, bool) {
			coming, ok := rows.loader.Rows()
			return r.cfg.StepsFor(max(0, coming-(r.trainer.NumSamples()-r.reporter.firstSample))), ok
		}
		r.rows, r.pace = rows, &freePace{log: r.log, left: left, none: func() bool { return r.trainer.NumSamples() == 0 }, from: cmp.Or(r.cfg.Data, "the files of data_loader")}
		if r.cfg.Schedule.Steps > 0 {
			r.pace = &schedulePace{rounds: newRounds(r), net: r.cfg.Schedule, source: rows.loader, clock: time.Now, during: r.bounds.during}
		}
	case setup.OwnGames: // a checkpoint follows a game, not a step
		r.saver.everySteps, r.players.target = 0, r.cfg.Episodes.Number
		r.rows, r.pace = r.openGameRows(), &episodes{r: r, open: r.players.open, turn: r.afterEpisode}
	default:
		r.rows, r.pace = r.openGameRows(), &episodes{r: r, open: r.watchGames, turn: func(context.Context) error { return nil }}
	}
	return nil
}

// waits tells everybody that the training waits, and for what.
func (r *training) waits(why string) {
	r.log.Info("waiting", "for", why)
	page := r.pace.Status()
	r.page.Set(func(p *Page) { p.Stage, p.Pace = "waiting", page })
	r.process.Publish(&monitor.Stage{Name: "wait", State: "started", Detail: why})
}
