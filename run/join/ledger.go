package join

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
)

// ledger knows the games of all players that are in the run, by their numbers. Its truth
// are the run's files. Those that its own file covers are not read again when it is opened.
type ledger struct {
	path      string // of its own file
	mu        sync.Mutex
	processes map[uint64]*account
}

// account is one player's: whoever adds its games holds mu.
type account struct {
	mu    sync.Mutex
	Games run.Ordinals   `json:"games"`
	Last  map[string]int `json:"last"` // by net: chunks up to this number are covered
}

// processName is p100001, p100002, ...
func processName(n uint64) string { return "p" + strconv.FormatUint(n, 10) }

// readLedger reads the games of players that are in the run, or were removed from it.
// Chunks that a kill left torn are sealed first.
func readLedger(ctx context.Context, dir run.Dir, path string, players []*PlayerEntry) (*ledger, error) {
	l := &ledger{path: path, processes: map[uint64]*account{}}
	if _, err := run.ReadJSON(path, &l.processes); err != nil {
		return nil, fmt.Errorf("read %s: %w; remove it: it is made again of the run's games", path, err)
	}
	byName := map[string]*account{}
	for _, p := range players {
		byName[processName(p.Process)] = l.account(p.Process)
	}
	nets, err := fsx.Dirs(fsx.OS, dir.Selfplay())
	if err != nil {
		return nil, fmt.Errorf("read games of players: %w", err)
	}
	for _, net := range nets {
		for name, a := range byName {
			if err := a.read(ctx, dir.GamesOf(net, name), net); err != nil {
				return nil, fmt.Errorf("read games of players: %w", err)
			}
		}
	}
	removed, err := replay.ReadRemoved(fsx.OS, dir.Selfplay())
	if err != nil {
		return nil, fmt.Errorf("read games of players: %w", err)
	}
	for i := range removed {
		a := byName[removed[i].Process()]
		if a == nil {
			continue
		}
		for _, r := range removed[i].Ordinals {
			for n := r[0]; n < r[1]; n++ {
				a.Games.Add(n)
			}
		}
	}
	return l, nil
}

// read reads the chunks of a directory that are not covered.
func (a *account) read(ctx context.Context, dir, net string) error {
	if err := fsx.RemoveTemps(fsx.OS, dir, ""); err != nil {
		return err
	}
	if _, err := replay.SealTorn(ctx, fsx.OS, dir, false); err != nil {
		return err
	}
	paths, err := replay.ListChunks(fsx.OS, dir)
	if err != nil {
		return err
	}
	for _, path := range paths {
		number := chunkNumber(path)
		if number <= a.Last[net] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		games, _, err := replay.ReadChunk(fsx.OS, path)
		if err != nil {
			return err
		}
		for _, g := range games {
			a.Games.Add(g.Ordinal)
		}
		a.cover(net, number)
	}
	return nil
}

// cover notes that a chunk, and those before it, are covered.
func (a *account) cover(net string, number int) {
	if a.Last == nil {
		a.Last = map[string]int{}
	}
	a.Last[net] = max(a.Last[net], number)
}

// chunkNumber is the number in the name of a chunk, 0 of another file.
func chunkNumber(path string) int {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	n, _ := strconv.Atoi(base)
	return n
}

// write writes the ledger's own file.
func (l *ledger) write() error {
	l.mu.Lock()
	copied := maps.Clone(l.processes)
	l.mu.Unlock()
	for process, a := range copied {
		a.mu.Lock()
		copied[process] = &account{Games: a.Games.Clone(), Last: maps.Clone(a.Last)}
		a.mu.Unlock()
	}
	return run.WriteJSON(l.path, copied)
}

// account returns that of a process.
func (l *ledger) account(process uint64) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.processes[process]
	if a == nil {
		a = &account{}
		l.processes[process] = a
	}
	return a
}

// take puts the games of a delivery that the run has not into its directory, and says what
// became of them. The error is of the run's own disk.
func (h *host) take(ctx context.Context, d *fleet.Delivery) error {
	began := time.Now()
	h.mu.Lock()
	e, member := h.players[d.Player], h.members.Name(d.Player.Member) != ""
	h.mu.Unlock()
	if !member {
		return d.Reject(revoked)
	}
	if e == nil {
		return d.Reject("this run does not know the player: it has begun anew. Join it with another --run-dir")
	}
	var games []*record.Game
	var net string
	h.mu.Lock()
	reason := e.Distrusted
	h.mu.Unlock()
	if reason == "" {
		games, net, reason = h.check(e, d.Data)
	}
	if h.opt.Traces != nil {
		defer func() {
			s := spanOf(d.Sum(), spanTaken, began, len(d.Data))
			s.Attributes["player"], s.Attributes["net"], s.Failed = processName(e.Process), net, reason
			h.opt.Traces.Add(s)
		}()
	}
	if reason != "" {
		h.mu.Lock()
		e.Rejected++
		e.Reason, h.changed = reason, true
		h.mu.Unlock()
		h.log.Warn("games of a player are not taken", "process", e.Process, "host", e.Host, "reason", reason)
		return d.Reject(reason)
	}
	n, err := h.add(e, net, games, d.Data)
	if err != nil {
		if errors.Is(err, fsx.ErrSync) {
			return err
		}
		reason = err.Error()
		h.log.Error("games of a player wait: the run cannot write them", "process", e.Process, "error", err)
		return run.Sleep(ctx, rosterTime) // nothing is settled: they come again
	}
	h.mu.Lock()
	first := e.Games == 0
	e.Games += int64(n)
	h.changed = true
	arithmetic := h.arithmetic(e)
	h.mu.Unlock()
	if n > 0 {
		h.auditor.offer(e, arithmetic, games, first)
	}
	return d.Commit(n)
}

// arithmetic says how a player computes: as nobody else does where its program is not the
// run's, which may play other games. The caller holds mu.
func (h *host) arithmetic(e *PlayerEntry) string {
	if e.Version != h.opt.Version && e.Beat.Arithmetic != "" {
		return e.Beat.Arithmetic + " of " + e.Version
	}
	return e.Beat.Arithmetic
}

// check reads a chunk of a player and says what is wrong with it.
func (h *host) check(e *PlayerEntry, data []byte) (games []*record.Game, net, reason string) {
	games, info, err := replay.DecodeChunk("chunk", data)
	switch {
	case err != nil:
		return nil, "", err.Error()
	case info.Torn:
		return nil, "", info.Unsealed().Error()
	case len(info.Damage) > 0:
		return nil, "", info.Damage[0].Error()
	case info.RunID != h.job:
		return nil, "", fmt.Sprintf("the chunk is of run %q, this one is %q", info.RunID, h.job)
	}
	if !h.knows(info.NetID) || !filepath.IsLocal(info.NetID) || filepath.Base(info.NetID) != info.NetID {
		return nil, "", fmt.Sprintf("net %q is none that this run gave to players", info.NetID)
	}
	for i, g := range games {
		switch {
		case g.Seed != h.seed || g.ID != record.GameID(h.seed, e.Process, g.Ordinal):
			return nil, "", fmt.Sprintf("game %d of %d is none of process %d of this run", i+1, len(games), e.Process)
		case g.NetID != info.NetID && !h.knows(g.NetID):
			return nil, "", fmt.Sprintf("game %d of %d begins with net %q, which this run did not give to players", i+1, len(games), g.NetID)
		}
	}
	return games, info.NetID, ""
}

// knows says whether a net was given to players.
func (h *host) knows(net string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.nets[net]
}

// add puts what is new of a chunk onto stable storage, and counts it.
func (h *host) add(e *PlayerEntry, net string, games []*record.Game, data []byte) (n int, err error) {
	a := h.ledger.account(e.Process)
	a.mu.Lock()
	defer a.mu.Unlock()
	var fresh []*record.Game
	seen := map[uint64]bool{}
	for _, g := range games {
		if !a.Games.Has(g.Ordinal) && !seen[g.Ordinal] {
			fresh, seen[g.Ordinal] = append(fresh, g), true
		}
	}
	h.opt.Batches.expect(data, fresh)
	dir := h.dir.GamesOf(net, processName(e.Process))
	switch {
	case len(fresh) == 0:
	case len(fresh) == len(games):
		var path string
		if path, err = replay.AddSealed(fsx.OS, dir, data); err == nil {
			a.cover(net, chunkNumber(path))
		}
	default:
		w := replay.NewWriter(fsx.OS, dir, replay.WriterOptions{NetID: net, RunID: h.job})
		for _, g := range fresh {
			err = errors.Join(err, w.Append(g))
		}
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return 0, err
	}
	for _, g := range fresh {
		a.Games.Add(g.Ordinal)
	}
	return len(fresh), nil
}
