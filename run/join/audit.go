package join

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/selfplay"
)

const (
	auditShare   = 100       // one game in so many is audited, and the first one of each player
	auditRoom    = 64        // games that wait for it; others are not audited
	auditNets    = 8         // nets that are kept for it
	rawTolerance = 0.1       // between the raw values of two machines with different arithmetic
	rawOutliers  = 50        // one ply in so many may be beyond it
	distrustTime = time.Hour // games of a player that are taken back when one is found altered
)

// auditor plays games of players again. A game is a function of net, seed and settings, bit
// for bit where the arithmetic is the same; elsewhere the net's raw values must agree.
type auditor struct {
	cfg        *config.Config
	arithmetic string // of this machine
	exact      bool   // nothing but net, seed and settings decides a game
	inference  setup.Inference
	log        *slog.Logger
	queue      chan audited
	found      func(e *PlayerEntry, reason string)

	mu   sync.Mutex
	nets []*play.FoundNet // the newest last
}

// audited is a game that is to be played again.
type audited struct {
	entry      *PlayerEntry
	arithmetic string // of the player
	game       *record.Game
}

// newAuditor returns an auditor for the games that players play by text. found is called
// with each player of which a game was found altered.
func newAuditor(text string, seed uint64, log *slog.Logger, found func(*PlayerEntry, string)) (*auditor, error) {
	file, err := config.Parse("players' configuration", []byte(text))
	if err != nil {
		return nil, err
	}
	file.Config.Seed = &seed
	e, err := config.Resolve(config.Input{File: file})
	if err != nil {
		return nil, err
	}
	a := &auditor{cfg: e.Config, arithmetic: arithmeticOf(e.Config), log: log, queue: make(chan audited, auditRoom), found: found}
	a.exact = setup.GamesAreFunctions(e.Config)
	a.inference, err = setup.OpenInference(e.Config)
	return a, err
}

// arithmeticOf says how a configuration's players compute on this machine.
func arithmeticOf(c *config.Config) string {
	a := setup.ArithmeticOf(c, false, true)
	return strings.Join([]string{a.ProducerDevice, a.Kernels, a.ProducerPrecision}, " ")
}

// offer lets a share of a player's games be audited; first says that they are its first.
func (a *auditor) offer(e *PlayerEntry, arithmetic string, games []*record.Game, first bool) {
	for _, g := range games {
		if _, _, _, branch := selfplay.BranchOrdinal(g.Ordinal); branch || g.Flags&record.NetChanged != 0 || arithmetic == "" {
			continue
		}
		if first || rand.IntN(auditShare) == 0 {
			first = false
			select {
			case a.queue <- audited{e, arithmetic, g}:
			default: // it is busy
			}
		}
	}
}

// know keeps a net.
func (a *auditor) know(net *play.FoundNet) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nets = append(a.nets, net)
	a.nets = a.nets[max(0, len(a.nets)-auditNets):]
}

// run audits until ctx ends.
func (a *auditor) run(ctx context.Context) error {
	for {
		select {
		case x := <-a.queue:
			reason, err := a.audit(ctx, x)
			if err != nil && ctx.Err() == nil {
				a.log.Error("a game of a player cannot be audited", "process", x.entry.Process, "error", err)
			}
			if reason != "" {
				a.found(x.entry, reason)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// audit says what is wrong with a game, "" where nothing is, or where its net is gone.
func (a *auditor) audit(ctx context.Context, x audited) (reason string, err error) {
	a.mu.Lock()
	i := slices.IndexFunc(a.nets, func(n *play.FoundNet) bool { return n.Name == x.game.NetID })
	var net *play.FoundNet
	if i >= 0 {
		net = a.nets[i]
	}
	a.mu.Unlock()
	if net == nil {
		return "", nil
	}
	if a.exact && x.arithmetic == a.arithmetic {
		return a.playAgain(ctx, x, net)
	}
	return a.compareRaw(ctx, x, net)
}

// collector is a sink that keeps the game of one number.
type collector struct {
	ordinal uint64
	game    *record.Game
}

func (c *collector) Put(_ context.Context, g *record.Game) error {
	if g.Ordinal == c.ordinal {
		c.game = g
	}
	return nil
}

// playAgain plays a game again and compares all of it.
func (a *auditor) playAgain(ctx context.Context, x audited, net *play.FoundNet) (reason string, err error) {
	w, err := setup.WorkerConfig(a.cfg, x.entry.Process, &selfplay.ResignWatch{}, &selfplay.CourseWatch{}, nil)
	if err != nil {
		return "", err
	}
	sink := &collector{ordinal: x.game.Ordinal}
	w.Parallel, w.Pools, w.Tickets, w.Sink = 1, 1, selfplay.NewList([]uint64{x.game.Ordinal}), sink
	nets := &play.Nets{Inference: a.inference}
	if err := nets.Publish(net.Name, net.Net, net.Samples); err != nil {
		return "", err
	}
	players, err := play.StartPlayers(ctx, nets, w, 1, nil)
	if err != nil {
		return "", err
	}
	<-players.Done
	if players.Err != nil || sink.game == nil {
		return "", players.Err
	}
	theirs, err := record.Append(nil, x.game)
	if err != nil {
		return "", err
	}
	ours, err := record.Append(nil, sink.game)
	if err != nil || bytes.Equal(ours, theirs) {
		return "", err
	}
	at := 0
	for at < min(len(x.game.Plies), len(sink.game.Plies)) && x.game.Plies[at].Move == sink.game.Plies[at].Move {
		at++
	}
	return fmt.Sprintf("game %d is not what its net and seed give: played again with the same arithmetic it differs, in its moves from ply %d of %d on, or in its values", x.game.Ordinal, at, len(x.game.Plies)), nil
}

// compareRaw evaluates a game's positions and compares the net's own values.
func (a *auditor) compareRaw(ctx context.Context, x audited, net *play.FoundNet) (reason string, err error) {
	packed, err := a.inference.Pack(net.Net)
	if err != nil {
		return "", err
	}
	ev, err := a.inference.NewEvaluator(packed, 1)
	if err != nil {
		return "", err
	}
	var r record.Replayer
	far, known, at := 0, 0, -1
	for ply := range x.game.Plies {
		raw := x.game.Plies[ply].Orig
		if math.IsNaN(float64(raw.Q)) {
			continue
		}
		b := &encoding.TrainBatch{}
		b.Reset()
		if err := r.AppendRow(b, x.game, ply); err != nil {
			return "", err
		}
		if err := ev.Evaluate(ctx, &b.Batch); err != nil {
			return "", err
		}
		known++
		q, d := b.WDL[0][0]-b.WDL[0][2], b.WDL[0][1]
		if math.Abs(float64(q-raw.Q)) > rawTolerance || math.Abs(float64(d-raw.D)) > rawTolerance {
			far++
			if at < 0 {
				at = ply
			}
		}
	}
	if far > known/rawOutliers {
		return fmt.Sprintf("game %d is not of net %s: its raw values are others in %d of %d positions, from ply %d on", x.game.Ordinal, net.Name, far, known, at), nil
	}
	return "", nil
}

// distrust refuses a player's games from now on, and takes those of the last hour out of
// the run, into quarantine.
func (h *host) distrust(e *PlayerEntry, reason string) {
	h.mu.Lock()
	told := e.Distrusted != ""
	e.Distrusted, e.Reason, h.changed = "an audit found that "+reason, reason, true
	h.mu.Unlock()
	if told {
		return
	}
	n, err := h.takeBack(e)
	h.log.Error("a player's games are refused from now on, and those of the last hour are in quarantine: an audit found an altered one",
		"process", e.Process, "host", e.Host, "reason", reason, "games", n, "error", err)
}

// takeBack moves the newest chunks of a player from the run's games into quarantine.
func (h *host) takeBack(e *PlayerEntry) (games int, err error) {
	a := h.ledger.account(e.Process)
	a.mu.Lock()
	defer a.mu.Unlock()
	paths, err := replay.ListChunks(fsx.OS, h.dir.Selfplay())
	if err != nil {
		return 0, err
	}
	name, root := processName(e.Process), h.dir.Selfplay()
	aside := h.fleet.distrusted(name)
	var entries []replay.RemovedFile
	for _, path := range paths {
		if filepath.Base(filepath.Dir(path)) != name || !strings.HasSuffix(path, replay.SealedSuffix) {
			continue
		}
		info, err := fsx.OS.Stat(path)
		if err != nil {
			return 0, err
		}
		if time.Since(info.ModTime()) > distrustTime {
			continue
		}
		list, _, err := replay.ReadChunk(fsx.OS, path)
		if err != nil {
			return 0, err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return 0, err
		}
		entry, err := replay.DescribeRemoved(fsx.OS, root, filepath.ToSlash(rel), list)
		if err != nil {
			return 0, err
		}
		entry.Removed = time.Now().UTC()
		data, err := fsx.ReadFile(fsx.OS, path)
		to := filepath.Join(aside, strings.ReplaceAll(filepath.ToSlash(rel), "/", "_"))
		if err == nil {
			err = fsx.PutFile(fsx.OS, to, data)
		}
		if err != nil {
			return 0, err
		}
		entries = append(entries, entry)
		games += len(list)
	}
	if len(entries) == 0 {
		return 0, nil
	}
	return games, replay.Remove(fsx.OS, root, entries)
}
