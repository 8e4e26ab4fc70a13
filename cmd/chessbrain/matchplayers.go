package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/chessbrain/chessbrain/arena"
	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/loop"
	"github.com/chessbrain/chessbrain/mcts"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/trainer"
)

// Players without a file.
const (
	randomPlayer  = "random"
	greedyPlayer  = "greedy"
	randomWeights = "random-weights"
)

// playerForms says what a player may be.
const playerForms = "FILE (safetensors or .pb.gz), RUN or CHECKPOINT (a directory), RUN@STEP, random-weights:SEED[:ARCH], random, or greedy"

// matchCache is how many answers a net player remembers in each worker.
const matchCache = 50_000

// matchPlayer is a player of the command line.
type matchPlayer struct {
	Name        string `json:"name"`
	Spec        string `json:"spec"`
	NetID       string `json:"net_id,omitempty"`
	WhiteSearch string `json:"white_search,omitempty"` // settings with which it searches
	BlackSearch string `json:"black_search,omitempty"` // as white, and as black

	player arena.Player
}

// newMatchPlayer makes the player (1 or 2) that a flag describes.
func newMatchPlayer(number int, spec string, flags settingFlags, p kernel.Precision) (*matchPlayer, error) {
	flag := fmt.Sprintf("--player%d", number)
	m := &matchPlayer{Name: spec, Spec: spec}
	switch spec {
	case "":
		return nil, usagef("%s: name a player: %s", flag, playerForms)
	case randomPlayer:
		m.player = arena.Random()
	case greedyPlayer:
		m.player = arena.Greedy()
	}
	if m.player != nil {
		if given := flags.given(fmt.Sprintf("player%d.", number)); given != "" {
			return nil, usagef("%s: player %d is %s, which does not search", given, number, spec)
		}
		return m, nil
	}
	settings, err := flags.of(number)
	if err != nil {
		return nil, usageError{err}
	}
	net, name, err := playerNet(spec)
	if err != nil {
		return nil, pathError(fmt.Errorf("%s: %w", flag, err))
	}
	packed, err := cpu.New(net, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	m.Name, m.NetID = name, net.ID()
	m.WhiteSearch, m.BlackSearch = describeSettings(&settings[chess.White]), describeSettings(&settings[chess.Black])
	m.player, err = arena.NewNet(arena.NetConfig{
		Name:         name,
		NewEvaluator: func(maxBatch int) mcts.Evaluator { return packed.NewEvaluator(maxBatch) },
		Settings:     settings,
		CacheEntries: matchCache,
	})
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", flag, err)}
	}
	return m, nil
}

// String returns the player's name and its search.
func (m *matchPlayer) String() string {
	switch {
	case m.NetID == "":
		return m.Name
	case m.WhiteSearch == m.BlackSearch:
		return m.Name + ", " + m.WhiteSearch
	}
	return fmt.Sprintf("%s, as white %s, as black %s", m.Name, m.WhiteSearch, m.BlackSearch)
}

// playerNet reads or makes the net that a player's description means, and says
// what it is.
func playerNet(spec string) (*nn.Net, string, error) {
	if rest, ok := strings.CutPrefix(spec, randomWeights+":"); ok {
		return randomNet(rest)
	}
	if loop.NamesNet(spec) {
		return loop.FindNet(spec, "")
	}
	net, name, err := loop.FindNet("", spec)
	if errors.Is(err, trainer.ErrNoCheckpoint) || errors.Is(err, fs.ErrNotExist) {
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
