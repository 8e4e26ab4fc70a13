package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// restoreGames reads the games on disk once, fills the windows as the checkpoint
// had them, and returns the games that are to enter again or for the first time.
func (r *training) restoreGames(ctx context.Context, saved *checkpoint.Checkpoint, entries []run.Entry) (*backlog, error) {
	if saved != nil {
		if _, err := saved.Restore([]stage.Section{r.state.Section()}); err != nil {
			return nil, err
		}
	}
	if err := r.countedGames(entries); err != nil {
		return nil, err
	}
	later := entries[r.state.Episodes:]
	wanted, err := windowGames(saved)
	if err != nil {
		return nil, err
	}
	fresh, err := r.readGames(ctx, wanted, later)
	if err != nil {
		return nil, err
	}
	if saved != nil {
		if err := r.restoreSections(ctx, saved, func(id [16]byte) *record.Game { return wanted[id] }); err != nil {
			return nil, err
		}
	}
	back, kept := newBacklog(later, fresh)
	if kept < len(later) {
		r.log.Error("games of the journal are lost; the order of the rest is new", "lines", len(later), "kept", kept)
		if err := r.journal.Cut(int(r.state.Episodes) + kept); err != nil {
			return nil, err
		}
	}
	r.journal.Repeat(kept)
	return back, nil
}

// countedGames notes the games that the checkpoint has seen: they never enter
// again and their ordinals are used up, even where a damaged disk lost them.
func (r *training) countedGames(entries []run.Entry) error {
	corrupt := func(format string, args ...any) error {
		return &checkpoint.CorruptError{Path: r.dir.Journal(), Reason: fmt.Sprintf(format, args...)}
	}
	n := r.state.Episodes
	if int64(len(entries)) < n {
		return corrupt("%d lines, but the checkpoint has seen %d games", len(entries), n)
	}
	r.seen = make(map[[16]byte]bool, n)
	for i, e := range entries[:n] {
		id, ok := run.ParseID(e.Game)
		switch {
		case !ok || e.Episode != int64(i)+1:
			return corrupt("line %d is not that of episode %d", i+1, i+1)
		case r.seen[id]:
			return corrupt("game %s of line %d is there twice", e.Game, i+1)
		}
		r.seen[id] = true
		r.taken.Add(e.Ordinal)
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

// readGames reads the games on disk once. It fills in those of wanted, notes
// the ordinals that are used up and returns the games that are not counted yet:
// of a watched directory only those of the journal, since its feed finds the
// others.
func (r *training) readGames(ctx context.Context, wanted map[[16]byte]*record.Game, later []run.Entry) (map[[16]byte]*record.Game, error) {
	if !setup.HasGames(r.cfg) {
		return nil, nil
	}
	if err := r.mendGames(ctx); err != nil {
		return nil, err
	}
	journalled := map[[16]byte]bool{}
	for _, e := range later {
		if id, ok := run.ParseID(e.Game); ok {
			journalled[id] = true
		}
	}
	fresh := map[[16]byte]*record.Game{}
	var others []*record.Game // whose other forms are still to be looked at
	scan, err := replay.WalkGames(ctx, fsx.OS, r.gamesRoot(), func(path string, g *record.Game) error {
		if _, ok := wanted[g.ID]; ok {
			wanted[g.ID] = g
		}
		own := playsGames(r.cfg) && filepath.Base(filepath.Dir(path)) == trainProcess
		if own {
			r.taken.Add(g.Ordinal)
			others = append(others, g)
		}
		if !r.seen[g.ID] && (own || journalled[g.ID]) {
			fresh[g.ID] = g
		}
		if r.outputs == nil || len(others) >= play.MaxGroup {
			err := r.outputs.Put(others...)
			others = others[:0]
			return err
		}
		return nil
	})
	if err == nil {
		err = r.outputs.Put(others...)
	}
	if err != nil {
		return nil, err
	}
	for _, bad := range scan.Quarantine {
		r.log.Error("damaged games were left out", "error", bad)
	}
	return fresh, nil
}

// mendGames seals what a killed process left half written. Only the holder of
// the run's exclusive lock may.
func (r *training) mendGames(ctx context.Context) error {
	if !playsGames(r.cfg) {
		return nil
	}
	infos, err := replay.SealTorn(ctx, fsx.OS, r.dir.Selfplay())
	for _, c := range infos {
		if c.Lost > 0 {
			r.log.Warn("a chunk was cut off; its whole games are kept", "chunk", c.Path, "lost_bytes", c.Lost)
		}
	}
	if errors.Is(err, fsx.ErrSync) {
		return err
	}
	if err != nil { // such a chunk stays as it is; its games are read all the same
		r.log.Error("a chunk could not be mended", "error", err)
	}
	return nil
}

// gamesRoot is where the games of this run's source lie.
func (r *training) gamesRoot() string {
	if dir := r.cfg.GetTraining().GetSourceDir(); dir != "" {
		return dir
	}
	return r.dir.Selfplay()
}
