package pipeline

import (
	"fmt"
	"strconv"

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
type setting struct{ flag, value string }

// resolve makes a configuration of the groups with flags set; fields are
// path=value texts that lose against the user's.
func (s ConfigSource) resolve(groups []config.Group, flags []setting, fields ...string) (*config.Effective, error) {
	set := config.NewFlagSet(groups...)
	for _, f := range flags {
		v := set.Lookup(f.flag)
		if v == nil {
			return nil, fmt.Errorf("no setting --%s", f.flag)
		}
		if err := v.Set(f.value); err != nil {
			return nil, fmt.Errorf("--%s %s: %w", f.flag, f.value, err)
		}
	}
	return config.Resolve(config.Input{Path: s.Path, Flags: set, Overrides: append(fields, s.Overrides...)})
}

// playing is the configuration of worker number n, from 0, of which the run
// plays games in all.
func (o *Options) playing(n int, models string) (*config.Effective, error) {
	flags := []setting{
		{"run-dir", o.workerDir(n)}, {"name", fmt.Sprintf("pipeline-%s-%d", o.T, n)}, {"seed", strconv.FormatUint(o.seed(), 10)},
		{"producer-workers", "1"}, {"games-per-worker", strconv.FormatInt(max(1, min(int64(o.Parallel), o.gamesOf(n))), 10)},
		{"temperature", strconv.FormatFloat(o.Temperature, 'g', -1, 64)}, {"mcts-simulations", strconv.Itoa(o.Visits)},
		{"gumbel", strconv.FormatBool(o.Candidates > 0)},
	}
	if o.Candidates > 0 {
		flags = append(flags, setting{"gumbel-candidates", strconv.Itoa(o.Candidates)})
	}
	if models != "" {
		flags = append(flags, setting{"models-dir", models})
	}
	return o.Config.resolve(config.SelfPlayGroups, flags, "mcts.cache_entries="+strconv.Itoa(o.CacheSize))
}

// training is the configuration of the training run. steps 0 and net "" leave
// what the configuration says.
func (o *Options) training(source string, steps int64, net string) (*config.Effective, error) {
	flags := []setting{{"run-dir", o.Dir(Train)}, {"name", "pipeline-" + o.T}, {"source", "SHUFFLED"}, {"source-dir", source}}
	if o.Seed != 0 {
		flags = append(flags, setting{"seed", strconv.FormatUint(o.Seed, 10)})
	}
	if steps > 0 {
		flags = append(flags, setting{"steps", strconv.FormatInt(steps, 10)})
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
