package verify

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// run verifies a run directory. The order matters where the run is at work: the
// journal and the checkpoints are read before the games, which were durable
// before either spoke of them.
func (c *checker) run(root string) {
	dir, info, err := setup.OpenDir(root)
	if err != nil {
		c.report.problem(root, Corrupt, "put run.json and config.textproto back from a copy, or begin a new run", "%v", err)
		dir = run.Dir{Root: root}
	}
	c.locks(dir.Locks())
	c.configs(dir.History())
	trainings := []run.Dir{dir}
	if err == nil {
		if trainings, err = setup.Trainings(root); err != nil {
			c.report.problem(root, Corrupt, "put the configuration back from a copy, or remove the training", "%v", err)
		}
	}
	lines := map[string]int{} // of each journal
	for _, d := range trainings {
		if _, read := lines[d.Journal()]; !read {
			lines[d.Journal()] = len(c.journal(d.Journal()))
		}
	}
	if err == nil {
		c.report.note("job %s, %s, last with %s", info.Job, monitor.Count(info.Starts, "start"), info.Program)
	}
	c.tree(root)
	c.elsewhere(dir)
	for _, d := range trainings {
		if d.Checkpoints == "" {
			continue
		}
		if seen, path := c.counted(d.Checkpoints); seen > int64(lines[d.Journal()]) {
			c.report.problem(d.Journal(), Missing, "put the journal back from a copy, or begin a new run",
				"%d lines, but checkpoint %s has seen %d games", lines[d.Journal()], path, seen)
		}
	}
	c.references()
	c.gates(root)
}

// elsewhere verifies the parts of a run that lie outside its directory.
func (c *checker) elsewhere(dir run.Dir) {
	for _, part := range append([]string{dir.Checkpoints, dir.Metrics}, setup.GamesElsewhere(dir)...) {
		if part != "" && !inside(part, dir.Root) && exists(part) {
			c.report.note("%s is part of the run and was read too", part)
			c.tree(part)
		}
	}
}

// inside says whether path lies below root.
func inside(path, root string) bool {
	a, errA := filepath.Abs(path)
	b, errB := filepath.Abs(root)
	rel, err := filepath.Rel(b, a)
	return errors.Join(errA, errB, err) == nil && filepath.IsLocal(rel)
}

// locks tells who works in the run, and of owners that do not live any more.
func (c *checker) locks(dir string) {
	alive := map[string]bool{}
	for _, e := range c.entries(dir) { // a lock comes before its owners
		switch lock, _, owner := strings.Cut(e.Name(), ".owner."); {
		case owner && !alive[lock]:
			c.report.note("%s: left by a process that was killed; the next holder of the lock removes it", filepath.Join(dir, e.Name()))
		case owner, e.IsDir(), strings.HasSuffix(lock, ".sock"):
		default:
			alive[lock] = c.lock(dir, lock)
		}
	}
}

// entries lists a directory that may be missing, without what is hidden.
func (c *checker) entries(dir string) []fs.DirEntry {
	entries, err := fsx.Entries(fsx.OS, dir)
	if err != nil {
		c.unreadable(dir, err)
	}
	return entries
}

// lock tells who holds a lock and says whether anybody does.
func (c *checker) lock(dir, name string) bool {
	path := filepath.Join(dir, name)
	owners, err := fsx.Owners(path)
	if err != nil {
		c.unreadable(path, err)
	}
	for _, o := range owners {
		c.live = true
		c.report.note("%s is held by process %d on %s (%s)", path, o.PID, o.Host, o.Command)
	}
	return len(owners) > 0
}

// configs reads the configurations of all starts.
func (c *checker) configs(dir string) {
	for _, e := range c.entries(dir) {
		path := filepath.Join(dir, e.Name())
		if filepath.Ext(path) != ".textproto" {
			continue
		}
		if _, err := config.Load(path); err != nil {
			c.report.problem(path, Corrupt, "remove it; it is a record of an earlier start only", "%v", err)
		}
	}
}

// journal verifies the journal's lines and notes their games.
func (c *checker) journal(path string) []run.Entry {
	const remedy = "put it back from a copy, or begin a new run"
	if there, err := fsx.Exists(path); !there && err == nil {
		c.report.note("%s: there is no journal: no game has entered yet", path)
		return nil
	}
	entries := readLines(c, path, run.ReadJournal, remedy)
	c.report.Entries += len(entries)
	ids := make([][16]byte, 0, len(entries))
	lines := make(map[[16]byte]int, len(entries))
	for i, e := range entries {
		id, ok := e.GameID()
		switch {
		case !ok || e.Episode != int64(i)+1:
			c.report.problem(path, Contradiction, remedy, "line %d is not that of episode %d: episode %d, game %q", i+1, i+1, e.Episode, e.Game)
		case lines[id] > 0:
			c.report.problem(path, Duplicate, remedy, "game %s of line %d stands in line %d too", e.Game, i+1, lines[id])
		default:
			lines[id] = i + 1
			ids = append(ids, id)
		}
	}
	c.wanted = append(c.wanted, reference{path, "the journal", ids})
	return entries
}
