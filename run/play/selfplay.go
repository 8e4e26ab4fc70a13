package play

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

// SelfPlayOptions start a process that only plays.
type SelfPlayOptions struct {
	Effective *setup.Effective
	Process   uint64 // number of this process among those of the run, from 1; 0 = the first that is free
	MaxGames  int64  // games to play, those on disk included; 0 = until stopped
	Command   string
	Version   string // of the program
	Log       *slog.Logger
	Readers   []monitor.Sink // attached to the process's events, such as Prometheus
	Progress  monitor.Sink   // may block: the terminal; nil = none

	// Reload asks, by each value, to read the configuration file again and to apply
	// the rescorers of its section plugins; nil = never.
	Reload <-chan os.Signal

	Locked bool // the caller holds the run's lock, for a stage of a cycle

	// Courier takes the games elsewhere: they are sealed in small chunks, and a game
	// begins only while there is room for it. nil = they stay.
	Courier Courier
}

// Courier takes finished games of a playing process to another machine.
type Courier interface {
	Delivered() run.Ordinals                    // numbers of games, without branches, that were taken away before
	Chunks() (bytes int64, every time.Duration) // a chunk is sealed when it is as large, or as old
	Room(ctx context.Context) bool              // waits until a game may begin; false: ctx ended
}

// netPoll is how often a playing process looks for newer weights.
const netPoll = 5 * time.Second

// firstState is when a playing process says for the first time how it does.
const firstState = time.Second

// SelfPlay plays games with the newest net (of the run directory, or of a
// directory of nets; seeded random weights while there is none) and stores them.
// Any number of such processes may share a run directory, each with its own
// number: they never play one game twice. It returns what was played, or nil
// where it failed before the games on disk were read, with ErrInterrupted when
// ctx ended first; games under way are then saved and go on at the next start.
func SelfPlay(ctx context.Context, opt SelfPlayOptions) (*PlaySummary, error) {
	s := &selfPlayer{opt: opt, log: opt.Log, began: time.Now()}
	var err error
	if s.SelfPlay, err = setup.SelfPlayOf(opt.Effective); err != nil {
		return nil, err
	}
	foreign := run.Foreign(s.Dir.Root, opt.Locked)
	o := run.Options{Run: run.RunShared, Locked: opt.Locked, Command: opt.Command, Log: opt.Log}
	if s.process, s.number, err = run.OpenNumbered(ctx, s.Dir, run.Player, opt.Process, o); err != nil {
		return nil, err
	}
	s.process.OnClose(s.nets.Close)
	if foreign != "" && opt.Courier == nil {
		s.log.Warn("the directory of the games is not empty; they go beside what is there", "dir", s.Dir.Root, "found", foreign)
	}
	err = s.run(s.process.Context())
	told := s.process.Context().Err() != nil
	if all := opt.MaxGames > 0 && s.games.Load() >= opt.MaxGames; told && !all && (err == nil || Stopped(err)) {
		err = run.ErrInterrupted // also when no game had begun, which is no error to the players
	}
	var summary *PlaySummary
	if s.store != nil {
		summary = s.summary()
	}
	return summary, s.process.Close(err)
}

// selfPlayer is a playing process.
type selfPlayer struct {
	opt SelfPlayOptions
	setup.SelfPlay
	log     *slog.Logger
	began   time.Time
	number  uint64 // of the process
	finder  *NetFinder
	nets    Nets
	store   *Store
	stages  *setup.Stages // rescorers alone
	plugins *setup.PluginMonitor
	swaps   *setup.Swapper
	process *run.Process
	meter   *monitor.Meter

	resign selfplay.ResignWatch
	course selfplay.CourseWatch
	worker selfplay.WorkerConfig
	taken  run.Ordinals // numbers of the games that need not be begun
	forked run.Ordinals // the same of what branched off them
	before int64        // games on disk at the start
	games  atomic.Int64 // on disk now, without branches
	stats  selfplay.Stats
	saved  int  // unfinished games that were saved
	lost   bool // the nets cannot be read, and that was said
}

// name is p1, p2, ...
func (s *selfPlayer) name() string { return "p" + strconv.FormatUint(s.number, 10) }

func (s *selfPlayer) run(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil || s.opt.MaxGames > 0 && s.before >= s.opt.MaxGames {
		return err // nothing to play: all asked for are there
	}
	unfinished := s.resumeGames()
	free := int64(-1)
	if s.opt.MaxGames > 0 {
		free = max(0, s.opt.MaxGames-int64(s.taken.Len()))
	}
	s.worker.Tickets = NewFreeTickets(&s.taken, free)
	if s.opt.Courier != nil {
		s.worker.Tickets = roomyTickets{s.worker.Tickets, s.opt.Courier}
	}
	if err := s.process.Listen(run.Commands{Status: s.page, Games: func() any { return s.stats.Shown.Games() }, Swap: s.swaps.Swap}); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	players, err := StartPlayers(groupCtx, &s.nets, s.worker, s.Workers, unfinished)
	if err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(groupCtx)
	group.Go(func() error {
		defer stopWatching()
		<-players.Done
		return errors.Join(players.Err, s.store.finish())
	})
	group.Go(func() error { return s.watch(watching) })
	group.Go(func() error {
		s.count()
		return nil
	})
	err = group.Wait()
	if s.process.Held() != nil {
		return err // the unfinished games are those of whoever has the lock now
	}
	left := players.unfinished()
	if saveErr := saveUnfinished(s.Dir.UnfinishedFile(s.name()), left); saveErr != nil {
		s.process.OnClose(func() error { return saveErr }) // an error of its own, whatever ended the players
		return err
	}
	s.saved = len(left)
	return err
}

// count takes the durable games until the store has ended. It must take them
// all, also after an error: the store waits for it.
func (s *selfPlayer) count() {
	for g := range s.store.Durable() {
		if _, _, _, branch := selfplay.BranchOrdinal(g.Ordinal); branch {
			continue
		}
		s.games.Add(1)
		if s.course.Count(g, s.worker.Game.Openings) {
			s.worker.Front.Store(int64(s.course.Lines))
		}
		if s.resign.Count(g, s.MaxFalseRate) {
			s.worker.Resign.Set(s.resign.Rule(s.Resign))
			s.log.Info("the resignation rule changed", "resign_q", s.resign.Q, "trusted", s.resign.Trusted,
				"tested", s.resign.Tested, "false", s.resign.False)
		}
	}
}

// begin loads the newest net and tells that this process plays.
func (s *selfPlayer) begin() (err error) {
	if setup.OwnModels(s.Dir, s.Models) {
		if err := fsx.MkdirAll(fsx.OS, s.Models); err != nil {
			return fmt.Errorf("make directory of nets: %w", err)
		}
	}
	if err := setup.CheckModels(s.opt.Effective, s.Dir); err != nil {
		return err
	}
	s.finder = NewNetFinder(s.opt.Effective, &s.SelfPlay)
	if s.nets.Inference, err = setup.OpenInference(s.opt.Effective.Config); err != nil {
		return err
	}
	found, unread := s.finder.Find()
	if found == nil {
		return unread
	}
	if err := s.nets.Publish(found.Name, found.Net, found.Samples); err != nil {
		return err
	}
	s.tellUnread(unread)
	if err := s.openEvents(); err != nil {
		return err
	}
	a := setup.ArithmeticOf(s.opt.Effective.Config, false, true)
	s.log.Info("playing", "net", found.Name, "arch", found.Net.Arch.String(), "process", s.name(), "workers", s.Workers,
		"device", setup.PlayerDevice(s.opt.Effective.Config).Describe(), "kernels", a.Kernels, "precision", a.ProducerPrecision)
	if lacks := setup.LacksPrecision(s.opt.Effective, false, true); lacks != "" {
		s.log.Warn(lacks)
	}
	return nil
}

// prepare reads this process's games, to know which are still to be played, and
// opens the store.
func (s *selfPlayer) prepare(ctx context.Context) error {
	err := s.openStages(ctx)
	if err != nil {
		return err
	}
	if s.worker, err = setup.WorkerConfig(s.opt.Effective.Config, s.number, &s.resign, &s.course, &s.stats); err != nil {
		return err
	}
	outputs, err := OpenOutputs(OutputOptions{Root: s.Dir.Root, Process: s.name(), Job: s.Job, GameForms: s.Forms, Log: s.log})
	if err != nil {
		return err
	}
	if err = s.lockGames(); err == nil {
		err = s.readGames(ctx, outputs)
	}
	if err != nil {
		return errors.Join(err, outputs.Close())
	}
	s.worker.Resign.Set(s.resign.Rule(s.Resign))
	s.worker.Front.Store(int64(s.course.Lines))
	s.before = int64(s.taken.Len())
	s.games.Store(s.before)
	store := StoreOptions{Dir: s.Dir, Process: s.name(), Net: s.nets.Name(), Job: s.Job, Rescorers: s.stages.Rescorers, Queue: MaxGroup, Outputs: outputs}
	if s.opt.Courier != nil {
		store.MaxBytes, store.SealEvery = s.opt.Courier.Chunks()
	}
	s.store = OpenStore(store)
	s.process.OnClose(func() error {
		defer s.store.LogFaults(s.log)
		return s.store.Close()
	})
	s.worker.Sink = s.store
	return nil
}

// lockGames keeps a process of the same number but of another run directory out of this one's
// games, where they lie outside the run: it would seal their chunks.
func (s *selfPlayer) lockGames() error {
	if s.Dir.Games == "" {
		return nil
	}
	if err := fsx.MkdirAll(fsx.OS, s.Dir.Games); err != nil {
		return fmt.Errorf("make directory of games: %w", err)
	}
	if err := s.process.Lock(filepath.Join(s.Dir.Games, "."+s.name()), false); err != nil {
		return fmt.Errorf("%w: give each of the players of one --output-dir a number of its own (--process)", err)
	}
	return nil
}

// openStages opens the rescorers and what exchanges them.
func (s *selfPlayer) openStages(ctx context.Context) (err error) {
	s.plugins = &setup.PluginMonitor{Root: s.Dir.Root, Process: s.name(), Job: s.Job, Log: s.log}
	s.plugins.Open(s.process.Bus())
	if s.stages, s.swaps, err = setup.OpenSwapper(ctx, s.opt.Effective, setup.PlayUses, s.plugins); err != nil {
		return err
	}
	s.process.OnClose(func() error {
		s.plugins.Report(s.stages.AllHosts())
		return s.stages.Close()
	})
	s.stages.Log(s.log)
	s.swaps.Exchange = func(_ context.Context, _ setup.Export, fresh *setup.Stages) (old *setup.Stages, began string, err error) {
		old = s.stages.Adopt(fresh)
		if retire := s.swaps.Retire(old); retire != nil {
			s.store.SetRescorers(s.stages.Rescorers, retire)
		}
		return old, "", nil
	}
	return nil
}

// readGames mends and reads the games that this process has played before, and
// adds what outputs lack of them.
func (s *selfPlayer) readGames(ctx context.Context, outputs *Outputs) error {
	nets, err := fsx.Dirs(fsx.OS, s.Dir.Selfplay())
	if err != nil {
		return fmt.Errorf("read games: %w", err)
	}
	var games []*record.Game
	for _, net := range nets {
		dir := s.Dir.GamesOf(net, s.name())
		if _, err := replay.SealTorn(ctx, fsx.OS, dir, false); errors.Is(err, fsx.ErrSync) {
			return err
		} else if err != nil {
			s.log.Error("a chunk could not be mended", "error", err)
		}
		scan, err := replay.ScanDir(ctx, fsx.OS, dir)
		if err != nil {
			return err
		}
		for _, bad := range scan.Quarantine {
			s.log.Error("damaged games were left out", "error", bad)
		}
		games = append(games, scan.Games...)
	}
	if err := s.takeRemoved(); err != nil {
		return err
	}
	if s.opt.Courier != nil {
		for _, r := range s.opt.Courier.Delivered().Ranges {
			for n := r[0]; n < r[1]; n++ {
				s.take(n)
			}
		}
	}
	slices.SortFunc(games, func(a, b *record.Game) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	for _, g := range games {
		if s.take(g.Ordinal) {
			s.resign.Count(g, s.MaxFalseRate)
			s.course.Count(g, s.worker.Game.Openings)
		}
	}
	return outputs.Put(games...)
}

// takeRemoved takes the numbers of the games that retention has removed: they were
// played, and count among those that were asked for.
func (s *selfPlayer) takeRemoved() error {
	removed, err := replay.ReadRemoved(fsx.OS, s.Dir.Selfplay())
	if err != nil {
		return fmt.Errorf("read games: %w", err)
	}
	for i := range removed {
		if removed[i].Process() != s.name() {
			continue
		}
		for _, r := range removed[i].Ordinals {
			for n := r[0]; n < r[1]; n++ {
				s.take(n)
			}
		}
	}
	return nil
}

// take notes that a game need not be begun and says whether that is new.
func (s *selfPlayer) take(ordinal uint64) bool {
	if _, _, _, branch := selfplay.BranchOrdinal(ordinal); branch {
		return s.forked.Add(ordinal)
	}
	return s.taken.Add(ordinal)
}

// resumeGames returns the games that an earlier start left unfinished, without
// those that were finished since, and takes their numbers out of the tickets.
func (s *selfPlayer) resumeGames() []selfplay.Unfinished {
	path := s.Dir.UnfinishedFile(s.name())
	games, err := ReadUnfinished(path)
	if err != nil {
		s.log.Error("unfinished games cannot be read; they are played again from their seeds", "error", err)
	}
	kept := games[:0]
	for _, g := range games {
		full := s.opt.MaxGames > 0 && int64(s.taken.Len()) >= s.opt.MaxGames
		if g.Seed() == s.Seed && !full && s.take(g.Ordinal()) {
			kept = append(kept, g)
		}
	}
	if len(kept) > 0 {
		s.log.Info("unfinished games go on", "games", len(kept))
	}
	return kept
}
