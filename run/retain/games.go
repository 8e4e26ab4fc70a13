package retain

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/replay/shuffle"
)

type gameFile struct {
	shuffle.GameFile
	rel   string // below selfplay, with slashes
	held  string // why it stays whatever the limits say; empty = it may go
	newer int64  // rows of the files that are newer
	gone  bool
}

// findGames lists the game files, and which of them may go: those that are older
// than the window of the newest shuffle. The window moves towards newer rows as
// games come, so they are not looked for again.
func (g *collector) findGames() error {
	dir := g.dir.Selfplay()
	files, err := shuffle.GameFiles(g.ctx, fsx.OS, []string{dir}, g.dir.Shuffled(), runtime.GOMAXPROCS(0))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	oldest, reason, err := g.oldestNeeded(files)
	if err != nil {
		return err
	}
	rows := int64(0)
	for i, f := range files {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil {
			return err
		}
		file := gameFile{GameFile: f, rel: filepath.ToSlash(rel), newer: rows}
		switch {
		case i <= oldest:
			file.held = reason
		case f.Growing:
			file.held = "it is not finished"
		case f.Damaged:
			file.held = "it is damaged"
		case strings.Count(file.rel, "/") != 2:
			file.held = "it does not lie in <net>/<process>/"
		}
		rows += f.Rows
		g.games = append(g.games, file)
	}
	slices.Reverse(g.games)
	return nil
}

// oldestNeeded returns the last of the files, which come newest first, that a
// shuffle may still read: without a finished shuffle all of them.
func (g *collector) oldestNeeded(files []shuffle.GameFile) (last int, reason string, err error) {
	if len(g.shuffles) == 0 {
		return len(files) - 1, "there is no finished shuffle yet", nil
	}
	unfinished, err := shuffle.UnfinishedInputs(fsx.OS, g.dir.Shuffled())
	if err != nil {
		return 0, "", err
	}
	window := map[string]bool{}
	for _, in := range slices.Concat(g.shuffles[len(g.shuffles)-1].manifest.Inputs, unfinished) {
		window[gameKey(in.Path)] = true
	}
	last = -1
	for i, f := range files {
		if window[gameKey(f.Path)] {
			last = i
		}
	}
	if last < 0 { // it was made of other games: nothing is known of these
		return len(files) - 1, "the newest shuffle has read none of these", nil
	}
	return last, "it is in the window of the newest shuffle, or newer", nil
}

// gameKey tells game files apart wherever the run lies: a shuffle notes paths as
// they were given to it. A file keeps its key when it is finished.
func gameKey(path string) string {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	key := strings.Join(parts[max(0, len(parts)-3):], "/")
	return strings.TrimSuffix(key, strings.TrimPrefix(replay.GrowingSuffix, replay.SealedSuffix))
}

// pruneGames removes game files beyond a number of rows, and those of an age.
func (g *collector) pruneGames() error {
	rows, days := g.opt.Keep.GameRows, g.opt.Keep.GameDays
	since := g.opt.Now().Add(-time.Duration(min(days, 1e5) * float64(24*time.Hour)))
	for i := range g.games {
		var err error
		switch f := &g.games[i]; {
		case rows > 0 && f.newer >= rows:
			err = g.removeGames(f, fmt.Sprintf("older than the newest %d rows", rows))
		case days > 0 && f.Modified.Before(since):
			err = g.removeGames(f, fmt.Sprintf("older than %g days", days))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pruneSize removes games and shuffles, the oldest of both first, until they take
// no more than they may.
func (g *collector) pruneSize() error {
	type thing struct {
		at     time.Time
		bytes  int64
		remove func(reason string) error
		gone   *bool
	}
	var things []thing
	for i := range g.games {
		if f := &g.games[i]; !f.gone {
			things = append(things, thing{f.Modified, f.Bytes, func(r string) error { return g.removeGames(f, r) }, &f.gone})
		}
	}
	for i := range g.shuffles {
		if s := &g.shuffles[i]; !s.gone {
			things = append(things, thing{s.manifest.Created, s.bytes, func(r string) error { return g.removeShuffle(s, r) }, &s.gone})
		}
	}
	for i := range things {
		g.report.Kept += things[i].bytes
	}
	limit := g.opt.Keep.MaxBytes()
	if limit == 0 {
		return nil
	}
	slices.SortStableFunc(things, func(a, b thing) int { return a.at.Compare(b.at) })
	for i := 0; i < len(things) && g.report.Kept > limit; i++ {
		if err := things[i].remove(fmt.Sprintf("games and shuffles take more than %g GiB", g.opt.Keep.MaxGiB)); err != nil {
			return err
		}
		if *things[i].gone {
			g.report.Kept -= things[i].bytes
		}
	}
	g.report.Over = max(0, g.report.Kept-limit)
	return nil
}

// removeGames removes a game file, unless it is held, pinned, not the run's, or one
// of its games is needed.
func (g *collector) removeGames(f *gameFile, reason string) error {
	if f.gone || f.held != "" {
		return nil
	}
	entry, held, err := g.describeGames(f)
	if err != nil {
		return err
	}
	if held != "" {
		f.held = held
		g.note("%s/%s: %s", inRun.Selfplay(), f.rel, held)
		return nil
	}
	f.gone = true
	return g.remove(ClassGames, f.Path, f.Bytes, reason, func() error {
		return replay.Remove(fsx.OS, g.dir.Selfplay(), []replay.RemovedFile{entry})
	})
}

// describeGames reads a game file for the list of removed ones, and says why it
// must stay.
func (g *collector) describeGames(f *gameFile) (entry replay.RemovedFile, held string, err error) {
	if pinned, err := g.pinned(f.Path); err != nil || pinned {
		return entry, "it is pinned", err
	}
	games, info, err := replay.ReadChunk(fsx.OS, f.Path)
	if err != nil {
		return entry, "", err
	}
	switch {
	case info.Torn || len(info.Damage) > 0:
		return entry, "it is damaged", nil
	case info.RunID != g.job:
		return entry, fmt.Sprintf("job %q wrote it, not %q", info.RunID, g.job), nil
	}
	if g.needed == nil {
		if g.needed, err = g.neededGames(); err != nil {
			return entry, "", err
		}
	}
	for _, game := range games {
		if g.needed[game.ID] {
			return entry, "a game of it stands in the journal or in the window of a checkpoint", nil
		}
	}
	settings := g.shuffles[len(g.shuffles)-1].manifest.Settings // there is one: else no file may go
	if entry, err = replay.DescribeRemoved(fsx.OS, g.dir.Selfplay(), f.rel, games); err != nil {
		return entry, "", err
	}
	entry.TrainRows, entry.ValRows = settings.SideRows(f.Path, games)
	entry.Random = shuffle.Untrained(strings.Split(f.rel, "/")[0])
	entry.Removed = g.opt.Now().UTC()
	return entry, "", nil
}
