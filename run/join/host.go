package join

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
)

// HostOptions open a run to players.
type HostOptions struct {
	Effective *config.Effective
	Listen    string // address, such as :4222, of a server within this process, or a directory; or
	NATS      string // HOST:PORT,... of servers that stand for themselves
	Command   string
	Version   string // of the program
	Log       *slog.Logger
	Locked    bool            // the caller holds the run
	Traces    *monitor.Traces // of chunks
	Batches   *Batches        // of the training beside, which players keep pace with; nil = none
	Matches   *Matches        // of the run, for players to take part in; nil = none

	// Greet tells people the link with which players join. It is secret, so it goes into
	// no log.
	Greet func(link fleet.Link)
}

const (
	hostRole   run.Role = "fleet"
	netPoll             = 5 * time.Second // for newer nets
	memberPoll          = 2 * time.Second // for changes of who may join
	rosterTime          = 10 * time.Second
	ledgerTime          = time.Minute
	maxPlayers          = 100_000
	syncing             = 8 // chunks that may wait for the disk while others are read
)

// host is a run that is open to players. It answers them, so its methods may be called
// concurrently.
type host struct {
	opt    HostOptions
	log    *slog.Logger
	dir    run.Dir
	fleet  Dir
	job    string
	seed   uint64
	config string // that players play by

	server *fleet.Server // nil with a directory, and with servers that stand for themselves
	inbox  fleet.Inbox
	finder *play.NetFinder
	ledger *ledger

	auditor *auditor

	mu      sync.Mutex
	roster  Roster
	players map[fleet.Player]*PlayerEntry // those of the roster
	nets    map[string]bool               // names of those of the roster
	joins   *run.Lines[joinLine]
	members fleet.Members
	state   fleet.State
	changed bool // what the roster says of its players, since it was written
}

// Host opens a run to players until ctx ends. It shares the run with whoever plays and
// trains there.
func Host(ctx context.Context, opt HostOptions) error {
	h := &host{opt: opt, log: opt.Log}
	playing, err := setup.SelfPlayOf(opt.Effective)
	if err != nil {
		return err
	}
	h.dir, h.job, h.seed, h.fleet = playing.Dir, playing.Job, playing.Seed, DirOf(playing.Dir.Root)
	h.config = playersConfig(opt.Effective.Config)
	h.finder = play.NewNetFinder(opt.Effective, &playing)
	if setup.OwnModels(h.dir, playing.Models) {
		if err := fsx.MkdirAll(fsx.OS, playing.Models); err != nil {
			return err
		}
	}
	p, err := run.Open(ctx, h.dir, hostRole, run.Options{Run: run.RunShared, Locked: opt.Locked, Command: opt.Command, Log: opt.Log})
	if err != nil {
		return err
	}
	return p.Close(h.run(p.Context()))
}

// gameSettings is the part of a configuration that says how games are played. What is each
// machine's own is left out, and so is what one machine must not say to another: programs
// to run, places to write to.
func gameSettings(c *config.Config) *config.Config {
	c = config.Clone(c)
	if s := c.Selfplay; s != nil {
		s.ModelsDir, s.OutputDir, s.ProducerWorkers, s.ProducerOnEachCore, s.ProducerDevice = nil, nil, nil, nil, nil
		s.Precision, s.Pools, s.Episodes, s.PgnShare, s.Lc0Chunks = nil, nil, nil, nil, nil
	}
	games := &config.Config{Version: c.Version, Name: c.Name, Selfplay: c.Selfplay, Mcts: c.Mcts}
	if p := c.Plugins; p != nil {
		games.Plugins = &config.Plugins{Rescorer: p.Rescorer}
	}
	return games
}

// playersConfig is what players are told.
func playersConfig(c *config.Config) string { return string(config.Marshal(gameSettings(c))) }

func (h *host) run(ctx context.Context) (err error) {
	if err = h.fleet.make(); err == nil {
		err = h.readRoster()
	}
	if err == nil {
		defer func() { err = errors.Join(err, h.joins.Close()) }()
		err = h.invite()
	}
	if err == nil {
		h.ledger, err = readLedger(ctx, h.dir, h.fleet.ledger(), h.roster.Players)
	}
	if err == nil {
		h.auditor, err = newAuditor(h.config, h.seed, h.log, h.distrust)
	}
	if err == nil {
		err = h.listen()
	}
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, h.inbox.Close(), h.auditor.inference.Close())
		if h.server != nil {
			h.server.Close()
		}
	}()
	if err := h.publish(ctx); err != nil {
		return err
	}
	h.greet()
	group, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) + syncing {
		group.Go(func() error { return h.ingest(ctx) })
	}
	group.Go(func() error { return every(ctx, netPoll, func() error { return h.publish(ctx) }) })
	group.Go(func() error { return every(ctx, memberPoll, h.reread) })
	group.Go(func() error { return every(ctx, rosterTime, h.writeRoster) })
	group.Go(func() error { return h.auditor.run(ctx) })
	if h.opt.Matches != nil {
		group.Go(func() error { return every(ctx, memberPoll, func() error { return h.matches(ctx) }) })
		group.Go(func() error { return h.opt.Matches.take(ctx, h.audited) })
	}
	group.Go(func() error { return every(ctx, ledgerTime, h.ledger.write) })
	if err = group.Wait(); errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, h.writeRoster(), h.ledger.write())
}

// readRoster reads who has joined. The numbers of players are those of their own file: the
// roster may be older.
func (h *host) readRoster() (err error) {
	if h.roster, err = h.fleet.Roster(); err != nil {
		return err
	}
	h.players, h.nets = map[fleet.Player]*PlayerEntry{}, map[string]bool{}
	for _, e := range h.roster.Players {
		h.players[e.player()] = e
	}
	for _, n := range h.roster.Nets {
		h.nets[n.Name] = true
	}
	var lines []joinLine
	if h.joins, lines, err = joinLines.Open(h.fleet.joins()); err != nil {
		return err
	}
	for _, l := range lines {
		if e := h.enter(fleet.Player{Member: l.Member, Instance: l.Instance}, l.Process); e.Process != l.Process {
			return errors.Join(fmt.Errorf("%s: process %d of a player that is %d in %s; put one of the two back from a copy", h.fleet.joins(), l.Process, e.Process, h.fleet.roster()), h.joins.Close())
		}
	}
	return nil
}

// enter returns the entry of a player, a new one with the given number where there is none.
func (h *host) enter(p fleet.Player, process uint64) *PlayerEntry {
	e := h.players[p]
	if e == nil {
		e = &PlayerEntry{Member: p.Member, Instance: p.Instance, Process: process, Joined: time.Now().UTC()}
		h.players[p] = e
		h.roster.Players = append(h.roster.Players, e)
	}
	return e
}

// every calls do again and again until ctx ends.
func every(ctx context.Context, d time.Duration, do func() error) error {
	for {
		if err := run.Sleep(ctx, d); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
	}
}

// invite makes the first member where there is none.
func (h *host) invite() (err error) {
	if err = h.fleet.Change((*fleet.Members).First); err == nil {
		h.members, err = h.fleet.Members()
		h.state.Drain = h.members.Drain
	}
	return err
}

func (h *host) listen() (err error) {
	address, pinned := h.opt.NATS, true
	switch {
	case fleet.IsDirectory(h.opt.Listen):
		address, err = h.share()
	case address == "":
		address, err = h.serve()
	default:
		var cluster fleet.Cluster
		if cluster, err = h.fleet.Cluster(address); err == nil {
			cluster.Log = h.log
			h.inbox, pinned, err = cluster.Inbox(h)
		}
	}
	if err != nil {
		return err
	}
	h.mu.Lock() // players ask already
	h.roster.Address, h.roster.Unpinned, h.changed = address, !pinned, true
	h.mu.Unlock()
	return h.writeRoster()
}

// share opens a directory and returns where players find it.
func (h *host) share() (address string, err error) {
	key, err := h.fleet.readKey()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(h.opt.Listen)
	if err != nil {
		return "", err
	}
	if h.inbox, err = fleet.OpenDirectory(fleet.DirectoryOptions{Dir: dir, Key: key, Command: h.opt.Command, Log: h.log}, h); err != nil {
		return "", err
	}
	return fleet.CheckAddress(dir)
}

// serve starts a server within this process and returns where players reach it.
func (h *host) serve() (address string, err error) {
	key, err := h.fleet.readKey()
	if err != nil {
		return "", err
	}
	if h.server, err = fleet.Serve(fleet.ServerOptions{Address: h.opt.Listen, Dir: h.fleet.server(), Key: key, Members: h.members, Log: h.log}); err != nil {
		return "", err
	}
	if h.inbox, err = h.server.Inbox(h); err != nil {
		h.server.Close()
		return "", err
	}
	address, _, err = net.SplitHostPort(h.opt.Listen)
	if ip := net.ParseIP(address); err != nil || address == "" || ip != nil && ip.IsUnspecified() {
		address = ownAddress()
	}
	return net.JoinHostPort(address, strconv.Itoa(h.server.Port())), nil
}

// ownAddress is where others may reach this machine.
func ownAddress() string {
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// greet says how to join.
func (h *host) greet() {
	for _, m := range h.members.List {
		if !m.Revoked.IsZero() {
			continue
		}
		link, err := h.fleet.Link(m.Seed, h.roster.Address, h.roster.Unpinned)
		if err != nil {
			h.log.Error("no link for players", "error", err)
			return
		}
		h.opt.Greet(link)
		return
	}
}

// publish makes a newer net known, if there is one.
func (h *host) publish(ctx context.Context) error {
	found, err := h.finder.Find()
	if err != nil {
		h.log.Error("the newest net cannot be read; players go on with one before it", "error", err)
	}
	if found == nil {
		return nil
	}
	var file bytes.Buffer
	if err := nn.WriteSafetensors(&file, found.Net, nil); err != nil {
		return err
	}
	ref := fleet.NewNetRef(found.Name, file.Bytes())
	if err := h.inbox.Publish(ctx, ref, file.Bytes()); err != nil {
		h.finder.Forget() // it is published the next time
		h.log.Error("the newest net is not published yet", "error", err)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.roster.Nets = append(slices.DeleteFunc(h.roster.Nets, func(n fleet.NetRef) bool { return n.Name == ref.Name }), ref)
	h.roster.Nets = h.roster.Nets[max(0, len(h.roster.Nets)-maxKnownNets):]
	h.nets[ref.Name] = true
	if err := run.WriteJSON(h.fleet.roster(), h.roster); err != nil { // before a game of it can come
		return err
	}
	h.state.Net = ref
	h.auditor.know(found)
	h.log.Info("net for players", "net", ref.Name, "bytes", ref.Bytes)
	return nil
}

// reread takes over who may join.
func (h *host) reread() error {
	m, err := h.fleet.Members()
	if err != nil {
		h.log.Error("who may join stays as it was", "error", err)
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Equal(m.List, h.members.List) && m.Drain == h.members.Drain {
		return nil
	}
	if h.server == nil { // this process looks who asks and delivers
		if h.opt.NATS != "" && !slices.Equal(m.List, h.members.List) {
			h.log.Warn("who may join has changed: give the servers their files (chessbrain fleet cluster) and let them read these again")
		}
	} else if err := h.server.SetMembers(m); err != nil {
		h.log.Error("who may join stays as it was", "error", err)
		return nil
	}
	h.members, h.state.Drain = m, m.Drain
	h.log.Info("who may join has changed", "members", len(m.List), "drain", m.Drain)
	return nil
}

// writeRoster writes what beats have changed.
func (h *host) writeRoster() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.changed {
		return nil
	}
	h.changed = false
	return run.WriteJSON(h.fleet.roster(), h.roster)
}

// Join answers a player that wants to play. A new one gets a number, which is on disk
// before the player knows it.
func (h *host) Join(p fleet.Player, hello fleet.Hello) fleet.Welcome {
	if refused := fleet.CheckProtocol(hello, h.opt.Version); refused != "" {
		return fleet.Welcome{Refused: refused}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.members.Name(p.Member) == "" {
		return fleet.Welcome{Refused: revoked}
	}
	e := h.players[p]
	if e == nil {
		process := uint64(run.FirstJoined)
		if len(h.roster.Players) >= maxPlayers {
			return fleet.Welcome{Refused: fmt.Sprintf("%d players have joined this run, which is the most", maxPlayers)}
		}
		if n := len(h.roster.Players); n > 0 {
			process = max(process, h.roster.Players[n-1].Process+1)
		}
		if err := h.joins.Add(joinLine{p.Member, p.Instance, process}); err != nil {
			h.log.Error("a player cannot join", "host", plain(hello.Host), "error", err)
			return fleet.Welcome{Refused: "the run cannot write its list of players: " + err.Error()}
		}
		e = h.enter(p, process)
	}
	e.Host, e.Version, e.CPU, e.Seen, h.changed = plain(hello.Host), plain(hello.Version), plain(hello.CPU), time.Now().UTC(), true
	h.log.Info("a player joined", "host", e.Host, "member", h.members.Name(p.Member), "process", e.Process, "version", e.Version, "cpu", e.CPU)
	return fleet.Welcome{Job: h.job, Process: e.Process, Seed: h.seed, Config: h.config, State: h.state}
}

// revoked is what players of a member are told whose membership ended. A server of this
// process has cut them off by then.
const revoked = "its membership was ended (chessbrain fleet revoke); ask for a new link"

// Beat notes that a player is there.
func (h *host) Beat(p fleet.Player, b fleet.Beat) fleet.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.members.Name(p.Member) == "" {
		return fleet.State{Refused: revoked}
	}
	e := h.players[p]
	if e == nil {
		return fleet.State{Refused: "this run does not know the player: it has begun anew. Join it with another --run-dir"}
	}
	b.Net, b.Arithmetic = plain(b.Net), plain(b.Arithmetic)
	e.Beat, e.Seen, h.changed = b, time.Now().UTC(), true
	state := h.state
	state.Rest = h.opt.Batches.behind(time.Now())
	return state
}

// plain makes what a player says fit for a terminal: short, and printable.
func plain(text string) string {
	const most = 80
	out := []rune{}
	for _, r := range text {
		if len(out) == most {
			break
		}
		if !strconv.IsPrint(r) {
			r = '?'
		}
		out = append(out, r)
	}
	return string(out)
}

// ingest takes deliveries until ctx ends.
func (h *host) ingest(ctx context.Context) error {
	for {
		d, err := h.inbox.Next(ctx)
		if err != nil {
			return cmp.Or(ctx.Err(), err)
		}
		if err := h.take(ctx, d); err != nil {
			return err
		}
	}
}
