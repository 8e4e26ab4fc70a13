package train

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// ledger is the games of a training: the journal of those that entered, the windows
// that hold the newest of them, and the games on disk that are still to enter.
type ledger struct {
	*core
	root    string // where the games lie; "" = none enters
	outputs *play.Outputs
	journal *run.Journal
	games   *replay.Split
	back    *backlog          // that are to enter first; whoever delivers games takes them
	seen    map[[16]byte]bool // that entered before the checkpoint
	taken   run.Ordinals      // numbers of the run's games at the start
}

// newLedger returns the ledger of a training, without games.
func newLedger(c *core, outputs *play.Outputs) *ledger {
	l := &ledger{core: c, outputs: outputs, games: replay.NewSplit(int(c.cfg.Window.Rows), c.cfg.Window.HeldOut)}
	if c.cfg.Source.HasGames() {
		l.root = c.cfg.From(c.dir)
	}
	return l
}

// own says whether the run plays its games itself.
func (l *ledger) own() bool { return l.cfg.Source == setup.OwnGames }

// read opens the journal and reads the games on disk once, after so many games that
// the checkpoint has seen. load fills the windows as the checkpoint had them.
func (l *ledger) read(ctx context.Context, saved *checkpoint.Checkpoint, n int64, load func(lookup func([16]byte) *record.Game) error) error {
	var entries []run.Entry
	var err error
	if l.journal, entries, err = run.OpenJournal(l.dir.Journal()); err != nil {
		return err
	}
	if err := l.count(n, entries); err != nil {
		return err
	}
	later := entries[n:]
	wanted, err := windowGames(saved)
	if err != nil {
		return err
	}
	fresh, err := l.scan(ctx, wanted, later)
	if err != nil {
		return err
	}
	if err := load(func(id [16]byte) *record.Game { return wanted[id] }); err != nil {
		return err
	}
	back, kept := newBacklog(later, fresh)
	if kept < len(later) {
		l.log.Error("games of the journal are lost; the order of the rest is new", "lines", len(later), "kept", kept)
		if err := l.journal.Cut(int(n) + kept); err != nil {
			return err
		}
	}
	l.journal.Repeat(kept)
	l.back = back
	return nil
}

// count notes the games that the checkpoint has seen: they never enter again and
// their ordinals are used up, even where a damaged disk lost them.
func (l *ledger) count(n int64, entries []run.Entry) error {
	corrupt := func(format string, args ...any) error {
		return &checkpoint.CorruptError{Path: l.dir.Journal(), Reason: fmt.Sprintf(format, args...) + "; put it back from a copy, or begin a new run"}
	}
	if int64(len(entries)) < n {
		return corrupt("%d lines, but the checkpoint has seen %d games", len(entries), n)
	}
	l.seen = make(map[[16]byte]bool, n)
	for i, e := range entries[:n] {
		id, ok := e.GameID()
		switch {
		case !ok || e.Episode != int64(i)+1:
			return corrupt("line %d is not that of episode %d", i+1, i+1)
		case l.seen[id]:
			return corrupt("game %s of line %d is there twice", e.Game, i+1)
		}
		l.seen[id] = true
		l.taken.Add(e.Ordinal)
	}
	return nil
}

// windowGames returns the ids of the games that the checkpoint's windows hold.
// The games themselves are still to be found.
func windowGames(saved *checkpoint.Checkpoint) (map[[16]byte]*record.Game, error) {
	wanted := map[[16]byte]*record.Game{}
	if saved == nil {
		return wanted, nil
	}
	for _, name := range []string{"window", "validation"} {
		f, err := saved.Open(name + ".section")
		if err != nil {
			return nil, err
		}
		_, ids, err := replay.ReadWindowSection(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", saved.Path, err)
		}
		for _, id := range ids {
			wanted[id] = nil
		}
	}
	return wanted, nil
}

// scan reads the games on disk once. It fills in those of wanted, notes the ordinals
// that are used up and returns the games that are not counted yet: of a watched
// directory only those of the journal, since who watches it finds the others.
func (l *ledger) scan(ctx context.Context, wanted map[[16]byte]*record.Game, later []run.Entry) (map[[16]byte]*record.Game, error) {
	if l.root == "" {
		return nil, nil
	}
	if err := l.mend(ctx); err != nil {
		return nil, err
	}
	journalled := map[[16]byte]bool{}
	for _, e := range later {
		if id, ok := e.GameID(); ok {
			journalled[id] = true
		}
	}
	fresh := map[[16]byte]*record.Game{}
	var others []*record.Game // whose other forms are still to be looked at
	scan, err := replay.WalkGames(ctx, fsx.OS, l.root, func(path string, g *record.Game) error {
		if _, ok := wanted[g.ID]; ok {
			wanted[g.ID] = g
		}
		own := l.own() && filepath.Base(filepath.Dir(path)) == trainProcess
		if own {
			l.taken.Add(g.Ordinal)
			others = append(others, g)
		}
		if !l.seen[g.ID] && (own || journalled[g.ID]) {
			fresh[g.ID] = g
		}
		if l.outputs == nil || len(others) >= play.MaxGroup {
			err := l.outputs.Put(others...)
			others = others[:0]
			return err
		}
		return nil
	})
	if err == nil {
		err = l.outputs.Put(others...)
	}
	if err != nil {
		return nil, err
	}
	for _, bad := range scan.Quarantine {
		l.log.Error("damaged games were left out", "error", bad)
	}
	return fresh, nil
}

// mend seals what a killed process left half written. Only the holder of the run's
// exclusive lock may.
func (l *ledger) mend(ctx context.Context) error {
	if !l.own() {
		return nil
	}
	infos, err := replay.SealTorn(ctx, fsx.OS, l.root, true)
	for _, c := range infos {
		if c.Lost > 0 {
			l.log.Warn("a chunk was cut off; its whole games are kept", "chunk", c.Path, "lost_bytes", c.Lost)
		}
	}
	if errors.Is(err, fsx.ErrSync) {
		return err
	}
	if err != nil { // such a chunk stays as it is; its games are read all the same
		l.log.Error("a chunk could not be mended", "error", err)
	}
	return nil
}

// enter writes a game into the journal and puts it into its window.
func (l *ledger) enter(g *record.Game, episode, step int64) (validation bool, err error) {
	if err := l.journal.Enter(run.Entry{Episode: episode, Game: fmt.Sprintf("%x", g.ID), Ordinal: g.Ordinal, Step: step}); err != nil {
		return false, err
	}
	l.games.Resize(int(l.cfg.Window.RowsOf(l.state.Rows)))
	window := l.games.Window(g.ID)
	window.Add(g)
	return window == l.games.Validation, nil
}

// section is a window's section that goes on without games that are not
// on disk any more: they were lost with a damaged chunk. The run can go on, but
// not to the same weights, so this is said loudly. Where all games that are trained on
// are gone the disk or the directory is, not a chunk: the run goes no further.
func (l *ledger) section(name string, w *replay.Window, lookup func([16]byte) *record.Game) stage.Section {
	return withLoad(w.Section(name, lookup), func(data []byte, _ int, err error) error {
		missing, lost := errors.AsType[*replay.MissingGamesError](err)
		if !lost {
			return err
		}
		if missing.Missing == missing.Wanted && w == l.games.Train {
			return &checkpoint.CorruptError{Path: l.root, Reason: fmt.Sprintf("not one of the %d games of the window can be read there; "+
				"put them back, name their directory with --source dir --source-dir, or begin a new run with --net %s", missing.Wanted, l.dir.Root)}
		}
		l.log.Error("games are lost; the run goes on without them, to other weights than it would have had",
			"section", name, "lost", missing.Missing, "of", missing.Wanted)
		_, ids, err := replay.ReadWindowSection(bytes.NewReader(data))
		for _, id := range ids {
			if g := lookup(id); g != nil {
				w.Add(g)
			}
		}
		return err
	})
}

func (l *ledger) close() error {
	if l.journal == nil {
		return nil
	}
	return l.journal.Close()
}

// backlog holds the games that were durable at the start but not part of the
// checkpoint: first those of the journal in its order, then the others by
// ordinal.
type backlog struct {
	games   []*record.Game
	inOrder int // the first so many are the journal's
}

// newBacklog sorts the games found on disk. entries are the journal's lines
// after the checkpoint; it returns how many of them still hold: a game that is
// lost ends the order that can be repeated.
func newBacklog(entries []run.Entry, games map[[16]byte]*record.Game) (b *backlog, kept int) {
	b = &backlog{}
	used := map[[16]byte]bool{}
	for _, e := range entries {
		id, ok := e.GameID()
		if !ok || games[id] == nil || used[id] {
			break
		}
		b.games = append(b.games, games[id])
		used[id] = true
	}
	b.inOrder = len(b.games)
	for id, g := range games {
		if !used[id] {
			b.games = append(b.games, g)
		}
	}
	slices.SortFunc(b.games[b.inOrder:], func(x, y *record.Game) int {
		return cmp.Or(cmp.Compare(x.Ordinal, y.Ordinal), slices.Compare(x.ID[:], y.ID[:]))
	})
	return b, b.inOrder
}

func (b *backlog) Len() int { return len(b.games) }

// nextOrdinal is the ordinal of the next game, MaxUint64 without one.
func (b *backlog) nextOrdinal() uint64 {
	if len(b.games) == 0 {
		return math.MaxUint64
	}
	return b.games[0].Ordinal
}

// popJournalled returns the next game of the journal's order, or nil.
func (b *backlog) popJournalled() *record.Game {
	if b.inOrder == 0 {
		return nil
	}
	return b.pop()
}

// pop returns the next game, or nil.
func (b *backlog) pop() *record.Game {
	b.inOrder = max(0, b.inOrder-1)
	return pop(&b.games)
}

// pop takes the first game off a list and lets go of it; nil if there is none.
func pop(list *[]*record.Game) *record.Game {
	if len(*list) == 0 {
		return nil
	}
	g := (*list)[0]
	(*list)[0] = nil
	*list = (*list)[1:]
	return g
}
