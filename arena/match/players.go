package match

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/mcts"
)

// Players without a file.
const (
	randomPlayer = "random"
	greedyPlayer = "greedy"
)

// PlayerForms says what a player may be.
const PlayerForms = "FILE (safetensors or .pb.gz), RUN or CHECKPOINT (a directory), RUN@STEP, builtin (the net inside the program), random-weights:SEED[:ARCH], random, greedy, or uci:PROGRAM [ARGUMENTS]"

// enginePrefix begins the description of a player that is a UCI engine.
const enginePrefix = "uci:"

// Player is a player of the command line.
type Player struct {
	Name        string `json:"name"`
	Spec        string `json:"spec"`
	NetID       string `json:"net_id,omitempty"`
	WhiteSearch string `json:"white_search,omitempty"` // settings with which it searches
	BlackSearch string `json:"black_search,omitempty"` // as white, and as black
	Limits      string `json:"limits,omitempty"`       // of time; of an engine all, and its options

	player        arena.Player
	net           Net    // nil of one that is no net
	programSHA256 string // of an engine
}

// Net is a net that is ready to play.
type Net interface {
	Name() string
	ID() string
	// Search is how the net searches unless flags say otherwise.
	Search() mcts.Config
	// NewEvaluator is arena.NetConfig's.
	NewEvaluator(maxBatch int) mcts.Evaluator
	// Warm makes the net ready before a clock runs.
	Warm(ctx context.Context, maxBatch int) error
	Close() error
}

// newPlayer makes the player (1 or 2) that a flag describes.
func newPlayer(number int, spec string, o *Options) (*Player, error) {
	m := &Player{Name: spec, Spec: spec}
	prefix := ofPlayer(number)
	var err error
	switch {
	case spec == "":
		return nil, askedf("--player%d: name a player: %s", number, PlayerForms)
	case spec == randomPlayer, spec == greedyPlayer:
		if m.player = arena.Random(); spec == greedyPlayer {
			m.player = arena.Greedy()
		}
		if given := o.Flags.given(prefix, forNets, forSearchers, forEngines); given != "" {
			return nil, askedf("%s: player %d is %s, which does not search", given, number, spec)
		}
		return m, nil
	case strings.HasPrefix(spec, enginePrefix):
		if given := o.Flags.given(prefix, forNets); given != "" {
			return nil, askedf("%s: player %d is an engine, which has --%snodes, --%smovetime, --%stc and --%soption", given, number, prefix, prefix, prefix, prefix)
		}
		err = m.makeEngine(number, strings.TrimPrefix(spec, enginePrefix), o)
	default:
		if given := o.Flags.given(prefix, forEngines); given != "" {
			return nil, askedf("%s: player %d is a net, which has --%svisits, --%smovetime and --%stc", given, number, prefix, prefix, prefix)
		}
		err = m.makeNet(number, spec, o)
	}
	return m, err
}

// makeNet makes the player of a net.
func (m *Player) makeNet(number int, spec string, o *Options) error {
	var err error
	if m.net, err = o.OpenNet(spec); err != nil {
		return fmt.Errorf("--player%d: %w", number, err)
	}
	search := m.net.Search()
	t := o.Flags.of(number, o.Margin, search)
	timed := t[0].limits.Timed() && !o.Flags.visitsGiven(number)
	if timed || max(t[chess.White].Search.Simulations, t[chess.Black].Search.Simulations) > mcts.GumbelVisits {
		search.Gumbel.Enabled = false // unless a flag asks for it
		t = o.Flags.of(number, o.Margin, search)
	}
	if timed {
		t[chess.White].Search.Simulations, t[chess.Black].Search.Simulations = 0, 0
	}
	white, black, limits := &t[chess.White], &t[chess.Black], t[0].limits
	limits.Nodes, limits.Depth = 0, 0 // of the other player, an engine
	m.Name, m.NetID, m.Limits = m.net.Name(), m.net.ID(), limits.String()
	m.WhiteSearch, m.BlackSearch = white.describe(), black.describe()
	m.player, err = arena.NewNet(arena.NetConfig{
		Name:         m.Name,
		NewEvaluator: m.net.NewEvaluator,
		Settings:     [2]arena.Settings{chess.White: white.Settings, chess.Black: black.Settings},
		CacheEntries: arena.DefaultCache,
		Limits:       limits,
	})
	if err != nil {
		return askedError{fmt.Errorf("--player%d: %w", number, err)}
	}
	return nil
}

// makeEngine makes the player of a UCI engine: a program, or one with arguments
// behind it.
func (m *Player) makeEngine(number int, command string, o *Options) error {
	t := o.Flags.of(number, o.Margin, mcts.DefaultConfig())
	cfg := arena.EngineConfig{Path: strings.TrimSpace(command), Limits: t[0].limits, Options: t[0].options}
	path, err := uci.FindEngine(cfg.Path)
	if words := strings.Fields(command); err != nil && len(words) > 1 {
		cfg.Path, cfg.Args = words[0], words[1:]
		path, err = uci.FindEngine(cfg.Path)
	}
	if err != nil {
		return askedError{fmt.Errorf("--player%d: %w", number, err)}
	}
	if m.programSHA256, _, err = fsx.HashFile(fsx.OS, path); err != nil {
		return fmt.Errorf("--player%d: %w", number, err)
	}
	if m.player, err = arena.NewEngine(cfg); errors.Is(err, arena.ErrEndless) {
		return askedf("--player%d: %w with --nodes, --depth, --movetime or --tc", number, err)
	}
	if err != nil {
		return askedError{fmt.Errorf("--player%d: %w", number, err)}
	}
	m.Name, m.Limits = m.player.Name(), cfg.String()
	return nil
}

// search returns how the player searches, "" if it does not.
func (m *Player) search() string {
	text := m.WhiteSearch
	if m.WhiteSearch != m.BlackSearch {
		text = fmt.Sprintf("as white %s, as black %s", m.WhiteSearch, m.BlackSearch)
	}
	if text != "" && m.Limits != "" {
		text += ", "
	}
	return text + m.Limits
}

// settings returns all that decides the player's moves, for a log.
func (m *Player) settings(precision string) string {
	if m.NetID != "" {
		return m.search() + ", " + precision
	}
	return m.search()
}

// String returns the player's name and its search.
func (m *Player) String() string {
	if search := m.search(); search != "" {
		return m.Name + ", " + search
	}
	return m.Name
}
