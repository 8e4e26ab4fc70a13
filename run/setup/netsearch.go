package setup

import (
	"encoding/json"
	"fmt"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/mcts"
)

// MetaSearch is the metadata of a net that has the search that made its training data,
// as JSON of mcts.Config: with it the net plays best.
const MetaSearch = "search"

// searchText is the MetaSearch of a configuration.
func searchText(c *config.Config) string {
	text, err := json.Marshal(searchConfig(c.GetMcts()))
	if err != nil {
		panic(err) // a struct of finite numbers
	}
	return string(text)
}

// SearchOf returns the search that a net should play with, by its metadata: the one
// that it was trained with, where it says so, else mcts.DefaultConfig. What belongs to
// self-play (noise, limits, batches) is the default's, and the caller sets Simulations.
func SearchOf(meta map[string]string) (mcts.Config, error) {
	usual := mcts.DefaultConfig()
	text, ok := meta[MetaSearch]
	if !ok {
		return usual, nil
	}
	s := usual
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return usual, fmt.Errorf("the net's metadata %q: %w", MetaSearch, err)
	}
	s.Simulations, s.Playouts, s.MaxNodes = usual.Simulations, usual.Playouts, usual.MaxNodes
	s.MaxBatch, s.VirtualLoss, s.ForcedPlayouts, s.Prober = usual.MaxBatch, usual.VirtualLoss, usual.ForcedPlayouts, nil
	s.NoiseAlpha, s.NoiseEpsilon, s.NoisyFPU, s.Gumbel.Scale = usual.NoiseAlpha, usual.NoiseEpsilon, usual.NoisyFPU, usual.Gumbel.Scale
	if err := s.Validate(); err != nil {
		return usual, fmt.Errorf("the net's metadata %q: %w", MetaSearch, err)
	}
	return s, nil
}
