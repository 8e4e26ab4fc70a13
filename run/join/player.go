package join

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fleet"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/play"
	"github.com/chessbrain/chessbrain/run/setup"
)

// PlayerOptions start a player.
type PlayerOptions struct {
	Link fleet.Link
	Root string // the player's own run directory
	CPU  string // the kernels' tier, for people
	Log  *slog.Logger

	Traces *monitor.Traces // of chunks

	// Configure returns how to play: file is the run's configuration, and the rest what
	// only the player can know.
	Configure func(file *config.File, job string, seed uint64, models string) (*config.Effective, error)
	Play      play.SelfPlayOptions // Effective, Process and Courier are set here
}

// joined is the file of a player's directory that says where it belongs.
type joined struct {
	Instance string `json:"instance"`
	Server   string `json:"server"` // fleet.Link.Server
	Job      string `json:"job"`
	Process  uint64 `json:"process"`
}

const keptModels = 3 // nets in a player's directory

// player is a player at work.
type player struct {
	opt     PlayerOptions
	log     *slog.Logger
	post    fleet.Post
	models  string
	courier *courier
	welcome fleet.Welcome
	net     fleet.NetRef // that was fetched last
	silent  bool         // the run does not answer, and that was said
	numbers string       // arithmetic of this player
	matches *matchPlayer
}

// Play plays for the run of a link until ctx ends, the run drains its players, or
// Play.MaxGames are played. What it could not deliver stays in its directory and goes on
// its way at the next start.
func Play(ctx context.Context, opt PlayerOptions) (*play.PlaySummary, error) {
	p := &player{opt: opt, log: opt.Log, models: run.Dir{Root: opt.Root}.Models()}
	mine, err := belong(opt.Root, opt.Link)
	if err != nil {
		return nil, err
	}
	if p.post, err = fleet.Dial(opt.Link, mine.Instance, mine.Job != "", opt.Log); err != nil {
		return nil, err
	}
	summary, err := p.play(ctx, mine)
	return summary, errors.Join(err, p.post.Close())
}

// CheckPlayer says why a directory cannot be that of a player for a link's run; known says
// that it is one.
func CheckPlayer(root string, link fleet.Link) (known bool, err error) {
	mine, err := belong(root, link)
	return mine.Job != "", err
}

// belong reads what a player's directory says of itself, or makes that of a new one.
func belong(root string, link fleet.Link) (mine joined, err error) {
	path := joinedFile(root)
	server := link.Server()
	there, err := run.ReadJSON(path, &mine)
	switch {
	case err != nil:
		return mine, fmt.Errorf("read %s: %w; join with another --run-dir", path, err)
	case there && mine.Server != server:
		return mine, fmt.Errorf("%s plays for another run (%s): name another directory with --run-dir", root, mine.Job)
	case there:
		return mine, nil
	}
	entries, err := fsx.Entries(fsx.OS, root)
	if err != nil {
		return mine, err
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(run.Dir{}.Logs()) { // of a start that nobody answered
			return mine, fmt.Errorf("%s is no player's directory, and not empty: name another one with --run-dir", root)
		}
	}
	return joined{Instance: newInstance(), Server: server}, nil // written when the run has answered
}

func joinedFile(root string) string { return filepath.Join(root, "joined.json") }

// play joins and plays.
func (p *player) play(ctx context.Context, mine joined) (*play.PlaySummary, error) {
	if err := p.join(ctx, &mine); err != nil {
		return nil, err
	}
	var err error
	if p.courier, err = newCourier(p.post, run.Dir{Root: p.opt.Root}, processName(p.welcome.Process), p.log); err != nil {
		return nil, err
	}
	if p.welcome.State.Drain {
		p.log.Info(letGo)
		return nil, p.deliver(ctx)
	}
	file, err := config.Parse("configuration of run "+p.welcome.Job, []byte(p.welcome.Config))
	if err != nil {
		return nil, fmt.Errorf("%w: install the same chessbrain on both machines", err)
	}
	file.Config = gameSettings(file.Config) // whatever else the run says
	o := p.opt.Play
	if o.Effective, err = p.opt.Configure(file, p.welcome.Job, p.welcome.Seed, p.models); err != nil {
		return nil, err
	}
	o.Process, p.numbers = p.welcome.Process, arithmeticOf(o.Effective.Config)
	o.Courier, p.courier.traces = p.courier, p.opt.Traces
	playsAs, err := setup.SelfPlayOf(o.Effective)
	if err != nil {
		return nil, err
	}
	p.matches = &matchPlayer{post: p.post, cfg: o.Effective.Config, workers: playsAs.Workers, log: p.log, offered: make(chan struct{}, 1)}

	playing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	working, end := context.WithCancel(context.WithoutCancel(ctx)) // beats and deliveries go on while the last games end
	defer end()
	beats, delivered, matches := make(chan error, 1), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(matches)
		p.matches.run(playing)
	}()
	go func() { beats <- p.beat(working, stop) }()
	go func() {
		err := p.courier.run(working)
		if err != nil {
			stop(err)
		}
		delivered <- err
	}()
	summary, err := play.SelfPlay(playing, o)
	drained := errors.Is(context.Cause(playing), errDrained)
	if drained && errors.Is(err, run.ErrInterrupted) {
		err = nil
		p.log.Info(letGo)
	}
	stop(nil)
	<-matches
	end()
	err = errors.Join(err, <-beats, <-delivered)
	return summary, errors.Join(err, p.deliver(context.WithoutCancel(ctx)))
}

// deliver delivers what is left.
func (p *player) deliver(ctx context.Context) error {
	left, err := p.courier.finish(ctx)
	if left > 0 {
		p.log.Warn("games stay here until the next start with the same --run-dir: the run has not confirmed them", "chunks", left, "directory", p.opt.Root)
	}
	return err
}

const letGo = "the run lets its players go (chessbrain fleet drain)"

// errDrained is why a player stops that the run lets go.
var errDrained = errors.New(letGo)

// join asks until it is answered, and fetches the first net.
func (p *player) join(ctx context.Context, mine *joined) (err error) {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	hello := fleet.Hello{Protocol: fleet.Protocol, Version: p.opt.Play.Version, Host: name, CPU: p.opt.CPU}
	for {
		p.welcome, err = p.post.Join(ctx, hello)
		if errors.Is(err, fleet.ErrNoMember) {
			return err
		}
		if err == nil && p.welcome.Refused != "" {
			return fmt.Errorf("the run at %s refuses this player: %s", p.opt.Link.Address, p.welcome.Refused)
		}
		if err == nil {
			p.answered()
			if p.welcome.State.Net.SHA256 != "" {
				if err = p.fetch(ctx, p.welcome.State.Net); err == nil {
					break
				}
				p.log.Warn("waiting for a net", "error", err)
			}
		} else if ctx.Err() == nil {
			p.unanswered(err)
		}
		if run.Sleep(ctx, fleet.BeatEvery/2) != nil {
			return run.ErrInterrupted
		}
	}
	p.log.Info("joined", "run", p.welcome.Job, "at", p.opt.Link.Address, "process", p.welcome.Process, "net", p.net.Name)
	if mine.Job == p.welcome.Job && mine.Process == p.welcome.Process {
		return nil
	}
	if mine.Job != "" { // the run's list of players was lost
		return fmt.Errorf("%s was process %d of run %s, and is process %d of run %s now: name another directory with --run-dir", p.opt.Root, mine.Process, mine.Job, p.welcome.Process, p.welcome.Job)
	}
	mine.Job, mine.Process = p.welcome.Job, p.welcome.Process
	return run.WriteJSON(joinedFile(p.opt.Root), mine)
}

// unanswered says once that the run does not answer, and answered that it does again.
func (p *player) unanswered(err error) {
	if !p.silent {
		p.log.Warn("the run does not answer; this player goes on by itself as long as it can", "at", p.opt.Link.Address, "error", err)
	}
	p.silent = true
}

func (p *player) answered() {
	if p.silent {
		p.log.Info("the run answers again", "at", p.opt.Link.Address)
	}
	p.silent = false
}

// beat tells the run of this player until ctx ends, and follows what it says.
func (p *player) beat(ctx context.Context, stop context.CancelCauseFunc) error {
	for {
		games, waiting := p.courier.counts()
		state, err := p.post.Beat(ctx, fleet.Beat{Net: p.net.Name, Games: games, Waiting: waiting, Arithmetic: p.numbers})
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, fleet.ErrNoMember):
			stop(err)
			return err
		case err != nil:
			p.unanswered(err)
			p.courier.rest(false)
		case state.Refused != "":
			err := fmt.Errorf("the run at %s refuses this player: %s", p.opt.Link.Address, state.Refused)
			stop(err)
			return err
		default:
			p.answered()
			p.courier.rest(state.Rest)
			if state.Drain {
				stop(errDrained)
			}
			if state.Matches {
				select {
				case p.matches.offered <- struct{}{}:
				default:
				}
			}
			if state.Net.SHA256 != "" && state.Net.SHA256 != p.net.SHA256 {
				if err := p.fetch(ctx, state.Net); err != nil && ctx.Err() == nil {
					p.log.Warn("the newest net is not here yet", "error", err)
				}
			}
		}
		if run.Sleep(ctx, fleet.BeatEvery) != nil {
			return nil
		}
	}
}

// fetch puts a net into the directory of nets, and removes the oldest of them and those that
// would play in its place.
func (p *player) fetch(ctx context.Context, r fleet.NetRef) error {
	if filepath.Base(r.Name) != r.Name {
		return fmt.Errorf("net %q is no name", r.Name)
	}
	file, err := p.post.Fetch(ctx, r)
	path := filepath.Join(p.models, r.Name+run.NetSuffix)
	if err == nil {
		err = fsx.PutFile(fsx.OS, path, file)
	}
	if err != nil {
		return err
	}
	now := time.Now() // the newest plays, whatever the clock was before
	if err := os.Chtimes(path, now, now); err != nil {
		return err
	}
	p.net = r
	nets, err := run.ListNets(run.Dir{}, p.models)
	for i, there := 0, false; i < len(nets); i++ {
		there = there || nets[i].Name == r.Name
		if err == nil && (i >= keptModels || !there) { // the run knows better which net is the newest
			err = fsx.OS.Remove(nets[i].Path)
		}
	}
	return err
}
