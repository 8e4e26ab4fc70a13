package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/chess/uci"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer/checkpoint"
)

// Players without a file.
const (
	randomPlayer  = "random"
	greedyPlayer  = "greedy"
	randomWeights = "random-weights"
)

// playerForms says what a player may be.
const playerForms = "FILE (safetensors or .pb.gz), RUN or CHECKPOINT (a directory), RUN@STEP, random-weights:SEED[:ARCH], random, greedy, or uci:PROGRAM [ARGUMENTS]"

// matchCache is how many answers a net player remembers in each worker.
const matchCache = 50_000

// matchPlayer is a player of the command line.
type matchPlayer struct {
	Name        string `json:"name"`
	Spec        string `json:"spec"`
	NetID       string `json:"net_id,omitempty"`
	WhiteSearch string `json:"white_search,omitempty"` // settings with which it searches
	BlackSearch string `json:"black_search,omitempty"` // as white, and as black
	Limits      string `json:"limits,omitempty"`       // of time; of an engine all, and its options

	player        arena.Player
	net           *setup.NetPlayer // nil of one that is no net
	programSHA256 string           // of an engine
}

// playerFlags are the flags that players are made with.
type playerFlags struct {
	settings settingFlags
	limits   limitFlags
	margin   time.Duration
	device   *config.Config // of nets; see playDevice
}

// newMatchPlayer makes the player (1 or 2) that a flag describes.
func newMatchPlayer(number int, spec string, flags playerFlags) (*matchPlayer, error) {
	m := &matchPlayer{Name: spec, Spec: spec}
	prefix := fmt.Sprintf("player%d.", number)
	var err error
	switch {
	case spec == "":
		return nil, usagef("--player%d: name a player: %s", number, playerForms)
	case spec == randomPlayer, spec == greedyPlayer:
		if m.player = arena.Random(); spec == greedyPlayer {
			m.player = arena.Greedy()
		}
		given := flags.settings.given(prefix)
		if given == "" {
			given = flags.limits.given(prefix, false)
		}
		if given != "" {
			return nil, usagef("%s: player %d is %s, which does not search", given, number, spec)
		}
		return m, nil
	case strings.HasPrefix(spec, enginePrefix):
		if given := flags.settings.given(prefix); given != "" {
			return nil, usagef("%s: player %d is an engine, which has --%snodes, --%smovetime, --%stc and --%soption", given, number, prefix, prefix, prefix, prefix)
		}
		err = m.makeEngine(number, strings.TrimPrefix(spec, enginePrefix), flags)
	default:
		if given := flags.limits.given(prefix, true); given != "" {
			return nil, usagef("%s: player %d is a net, which has --%svisits, --%smovetime and --%stc", given, number, prefix, prefix, prefix)
		}
		err = m.makeNet(number, spec, flags)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// makeNet makes the player of a net.
func (m *matchPlayer) makeNet(number int, spec string, flags playerFlags) error {
	limits, _ := flags.limits.of(number, flags.margin)
	limits.Nodes, limits.Depth = 0, 0 // of the other player, an engine
	settings, err := flags.settings.of(number)
	if err != nil {
		return usageError{err}
	}
	if limits.Timed() && !flags.settings.visitsGiven(number) {
		settings[chess.White].Search.Simulations, settings[chess.Black].Search.Simulations = 0, 0
	}
	net, name, err := playerNet(spec)
	if err != nil {
		return pathError(fmt.Errorf("--player%d: %w", number, err))
	}
	if m.net, err = setup.OpenNetPlayer(flags.device, net); err != nil {
		return fmt.Errorf("--player%d: %w", number, err)
	}
	m.Name, m.NetID, m.Limits = name, net.ID(), limits.String()
	m.WhiteSearch, m.BlackSearch = describeSettings(&settings[chess.White]), describeSettings(&settings[chess.Black])
	m.player, err = arena.NewNet(arena.NetConfig{
		Name:         name,
		NewEvaluator: m.net.NewEvaluator,
		Settings:     settings,
		CacheEntries: matchCache,
		Limits:       limits,
	})
	if err != nil {
		return usageError{fmt.Errorf("--player%d: %w", number, err)}
	}
	return nil
}

// makeEngine makes the player of a UCI engine: a program, or one with arguments
// behind it.
func (m *matchPlayer) makeEngine(number int, command string, flags playerFlags) error {
	cfg := arena.EngineConfig{Path: strings.TrimSpace(command)}
	cfg.Limits, cfg.Options = flags.limits.of(number, flags.margin)
	path, err := uci.FindEngine(cfg.Path)
	if words := strings.Fields(command); err != nil && len(words) > 1 {
		cfg.Path, cfg.Args = words[0], words[1:]
		path, err = uci.FindEngine(cfg.Path)
	}
	if err != nil {
		return usageError{fmt.Errorf("--player%d: %w", number, err)}
	}
	if m.programSHA256, err = fileSHA256(path); err != nil {
		return fmt.Errorf("--player%d: %w", number, err)
	}
	if m.player, err = arena.NewEngine(cfg); err != nil {
		return usageError{fmt.Errorf("--player%d: %w", number, err)}
	}
	m.Name, m.Limits = m.player.Name(), cfg.String()
	return nil
}

// fileSHA256 returns a file's SHA-256, hexadecimal.
func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// isEngine reports whether the player is a UCI engine.
func (m *matchPlayer) isEngine() bool { return m.programSHA256 != "" }

// search returns how the player searches, "" if it does not.
func (m *matchPlayer) search() string {
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
func (m *matchPlayer) settings(precision string) string {
	if m.NetID != "" {
		return m.search() + ", " + precision
	}
	return m.search()
}

// String returns the player's name and its search.
func (m *matchPlayer) String() string {
	if search := m.search(); search != "" {
		return m.Name + ", " + search
	}
	return m.Name
}

// playerNet reads or makes the net that a player's description means, and says
// what it is.
func playerNet(spec string) (*nn.Net, string, error) {
	if rest, ok := strings.CutPrefix(spec, randomWeights+":"); ok {
		return randomNet(rest)
	}
	if setup.NamesNet(spec) {
		return setup.FindNet(spec, "")
	}
	net, name, err := setup.FindNet("", spec)
	if errors.Is(err, checkpoint.ErrNoCheckpoint) || errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; want %s", err, playerForms)
	}
	return net, name, err
}

// randomNet makes the net of SEED or SEED:ARCH.
func randomNet(text string) (*nn.Net, string, error) {
	seedText, archText, hasArch := strings.Cut(text, ":")
	seed, err := strconv.ParseUint(seedText, 10, 64)
	if err != nil {
		return nil, "", usagef("%s:%s: want a seed, a number from 0, as in %s:7", randomWeights, text, randomWeights)
	}
	arch := nn.DefaultArch()
	if hasArch {
		if arch, err = nn.ParseArch(archText); err != nil {
			return nil, "", usageError{err}
		}
	}
	return nn.Init(arch, seed), fmt.Sprintf("%s:%d:%s", randomWeights, seed, arch), nil
}
