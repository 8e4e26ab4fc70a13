package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// Store makes finished games durable: one goroutine takes what the producers
// hand in, rescores and appends it, and syncs whenever nothing more is waiting
// (or after 64 games), so that many games share one sync. Only then a game is
// handed on. It satisfies selfplay.Sink. Nothing is dropped: a full queue holds
// the producers up.
type Store struct {
	opt StoreOptions

	in    chan *record.Game
	out   chan *record.Game // durable games, in the order in which they became so
	names chan string       // names of new nets: the next games go into their directory
	Done  chan struct{}     // closed when the goroutine has ended
	quit  chan struct{}     // closed by Close: write what was handed in, then end
	once  sync.Once
	err   error // valid after done

	coming chan comingChain // rescorers that the next group of games finds
}

// comingChain takes the place of the rescorers; retire gets those that it replaces.
type comingChain struct {
	chain  rescore.Chain
	retire func(rescore.Chain)
}

// MaxGroup is how many games may share one sync.
const MaxGroup = 64

// ErrStoreClosed is returned by Put after the store has ended.
var ErrStoreClosed = errors.New("the game store has ended")

// StoreOptions say where a process's games go.
type StoreOptions struct {
	FS        fsx.FS // nil = the real file system
	Dir       run.Dir
	Process   string        // name of the process: the games lie in <net>/<process>
	Net       string        // that plays first
	Job       string        // for the chunks' headers
	Rescorers rescore.Chain // those that the first games go through; see SetRescorers
	Outputs   *Outputs      // get the durable games before the trainer does; closed with the store; nil = none
	Queue     int           // durable games that may wait for the trainer; as many may be on their way there
	MaxBytes  int64         // of a chunk; 0 = replay's default
	SealEvery time.Duration // a chunk is sealed when it is as old; 0 = never for that
}

// OpenStore starts a store for one process's games.
func OpenStore(opt StoreOptions) *Store {
	opt.FS = cmp.Or(opt.FS, fsx.OS)
	s := &Store{
		opt: opt,
		in:  make(chan *record.Game, min(MaxGroup, opt.Queue)), out: make(chan *record.Game, opt.Queue),
		names: make(chan string, 1), Done: make(chan struct{}), quit: make(chan struct{}), coming: make(chan comingChain, MaxGroup),
	}
	go s.run()
	return s
}

// Put takes a finished game. nil means that it will be durable, unless the
// store fails, which Close reports.
func (s *Store) Put(ctx context.Context, g *record.Game) error {
	select {
	case s.in <- g:
		return nil
	case <-s.Done:
		return errors.Join(ErrStoreClosed, s.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Durable delivers the games that are on stable storage, each once. It is
// closed when the store has ended.
func (s *Store) Durable() <-chan *record.Game { return s.out }

// NewNet seals the chunk under way at the next sync; the games that follow go
// into the directory of the named net.
func (s *Store) NewNet(name string) {
	select {
	case <-s.names: // an older name that was not taken up
	default:
	}
	s.names <- name
}

// SetRescorers lets the next group of games, and all that follow, go through
// chain: each game is rescored by the old ones or by the new ones. retire is called
// once, by the store, with the rescorers that were there before when no game is with
// them any more; not at all where the store has ended.
func (s *Store) SetRescorers(chain rescore.Chain, retire func(old rescore.Chain)) {
	select {
	case s.coming <- comingChain{chain, retire}:
	case <-s.Done:
	}
}

// replace goes over to other rescorers and retires the ones before.
func (s *Store) replace(c comingChain) {
	old := s.opt.Rescorers
	s.opt.Rescorers = c.chain
	c.retire(old)
}

// finish writes what was handed in, seals the chunk and waits. Whoever takes from
// Durable must go on doing so until it is closed.
func (s *Store) finish() error {
	s.once.Do(func() { close(s.quit) })
	<-s.Done
	return s.err
}

// LogFaults reports what the rescorers found broken without failing, such as
// endgame tables.
func (s *Store) LogFaults(log *slog.Logger) { setup.LogFaults(log, s.opt.Rescorers) }

// Close writes what was handed in, seals the chunk and waits. Games that became
// durable but were not taken from Durable are on disk all the same.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.quit) })
	for range s.out {
		// Makes room so that the last games get through.
	}
	return s.finish()
}

// run is the store's goroutine.
func (s *Store) run() {
	defer close(s.Done)
	defer close(s.out)
	defer func() { s.err = errors.Join(s.err, s.opt.Outputs.Close()) }()
	writer := s.newWriter()
	var old <-chan time.Time
	if s.opt.SealEvery > 0 {
		ticker := time.NewTicker(s.opt.SealEvery)
		defer ticker.Stop()
		old = ticker.C
	}
	for s.err == nil {
		select {
		case <-old:
			s.err = writer.Seal()
		case g := <-s.in:
			s.err = s.write(writer, s.drain([]*record.Game{g}))
		case name := <-s.names:
			s.err = writer.Close()
			s.opt.Net = name
			writer = s.newWriter()
		case c := <-s.coming:
			s.replace(c)
		case <-s.quit:
			for s.err == nil && len(s.in) > 0 {
				s.err = s.write(writer, s.drain([]*record.Game{<-s.in}))
			}
			s.err = errors.Join(s.err, writer.Close())
			return
		}
	}
	s.err = errors.Join(s.err, writer.Close())
}

func (s *Store) newWriter() *replay.Writer {
	return replay.NewWriter(s.opt.FS, s.opt.Dir.GamesOf(s.opt.Net, s.opt.Process),
		replay.WriterOptions{NetID: s.opt.Net, RunID: s.opt.Job, MaxBytes: s.opt.MaxBytes})
}

// drain adds the games that wait already, as far as there is room for them in out: what
// is made durable beyond that would wait here, and let more games be finished meanwhile.
func (s *Store) drain(group []*record.Game) []*record.Game {
	for most := min(MaxGroup, cap(s.out)-len(s.out)); len(group) < most && len(s.in) > 0; {
		group = append(group, <-s.in)
	}
	return group
}

// write rescores a group, makes it durable, writes its other forms and hands it on.
func (s *Store) write(writer *replay.Writer, group []*record.Game) error {
	for len(s.coming) > 0 {
		s.replace(<-s.coming)
	}
	group, err := s.opt.Rescorers.RescoreBatch(context.Background(), group)
	if err != nil {
		return err
	}
	for _, g := range group {
		if err := writer.Append(g); err != nil {
			return fmt.Errorf("store game: %w", err)
		}
	}
	if err := writer.Sync(); err != nil {
		return fmt.Errorf("store games: %w", err)
	}
	err = s.opt.Outputs.Put(group...)
	for _, g := range group { // also after an error: they are durable
		s.hand(g)
	}
	return err
}

// hand hands a game on. Rescorers that are replaced while that waits are retired:
// no game is with them.
func (s *Store) hand(g *record.Game) {
	for {
		select {
		case s.out <- g:
			return
		case c := <-s.coming:
			s.replace(c)
		}
	}
}
