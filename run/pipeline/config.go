package pipeline

import (
	"fmt"

	"github.com/chessbrain/chessbrain/internal/config"
)

// ConfigSource is where the configuration of self-play and training comes from.
// The environment has no part in it: a variable such as MODEL_CHECKPOINT_DIR
// would put results elsewhere than the run says.
type ConfigSource struct {
	Path      string   // file; empty = defaults
	Overrides []string // path=value; they win over everything else
}

// setting is a flag of train or selfplay with its value.
type setting struct {
	flag  string
	value any
}

// resolve makes a configuration of the groups with flags set; fields are
// path=value texts that lose against the user's.
func (s ConfigSource) resolve(groups []config.Group, flags []setting, fields ...string) (*config.Effective, error) {
	set := config.NewFlagSet(groups...)
	for _, f := range flags {
		v := set.Lookup(f.flag)
		if v == nil {
			return nil, fmt.Errorf("no setting --%s", f.flag)
		}
		if err := v.Set(fmt.Sprint(f.value)); err != nil {
			return nil, fmt.Errorf("--%s %v: %w", f.flag, f.value, err)
		}
	}
	return config.Resolve(config.Input{Path: s.Path, Flags: set, Overrides: append(fields, s.Overrides...)})
}

// playing is the configuration of worker number n, from 0, of which the run
// plays games in all.
func (o *Options) playing(n int, models string) (*config.Effective, error) {
	flags := []setting{
		{"run-dir", o.workerDir(n)}, {"name", fmt.Sprintf("pipeline-%s-%d", o.T, n)}, {"seed", o.seed()},
		{"producer-workers", 1}, {"games-per-worker", max(1, min(int64(o.Parallel), o.gamesOf(n)))},
		{"temperature", o.Temperature}, {"mcts-simulations", o.Visits}, {"gumbel", o.Candidates > 0},
	}
	if o.Candidates > 0 {
		flags = append(flags, setting{"gumbel-candidates", o.Candidates})
	}
	if models != "" {
		flags = append(flags, setting{"models-dir", models})
	}
	return o.Config.resolve(config.SelfPlayGroups, flags, fmt.Sprintf("mcts.cache_entries=%d", o.CacheSize))
}

// training is the configuration of the training run. steps 0 and net "" leave
// what the configuration says.
func (o *Options) training(source string, steps int64, net string) (*config.Effective, error) {
	flags := []setting{{"run-dir", o.Dir(Train)}, {"name", "pipeline-" + o.T}, {"source", "SHUFFLED"}, {"source-dir", source}}
	if o.Seed != 0 {
		flags = append(flags, setting{"seed", o.Seed})
	}
	if steps > 0 {
		flags = append(flags, setting{"steps", steps})
	}
	if net != "" {
		flags = append(flags, setting{"net", net})
	}
	return o.Config.resolve(config.TrainGroups, flags)
}

// gamesOf is the share of worker number n of the games.
func (o *Options) gamesOf(n int) int64 {
	share := o.NumGames / int64(o.NumWorkers)
	if int64(n) < o.NumGames%int64(o.NumWorkers) {
		share++
	}
	return share
}
