package pipeline

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/replay/prepare"
)

// The steps, in their order.
const (
	SelfPlay   = "selfplay"
	Preprocess = "preprocess"
	Process    = "process"
	Shuffle    = "shuffle"
	Train      = "train"
)

// AllSteps returns the steps in their order.
func AllSteps() []string { return []string{SelfPlay, Preprocess, Process, Shuffle, Train} }

// Options say what a run does.
type Options struct {
	Base    string // directory of the data
	T       string // name of the run, see NewT
	Steps   []string
	Cleanup bool

	// What was asked for, by name: it is kept with the run, and a run that goes on
	// is asked for the same.
	Settings map[string][]string

	Net     *nn.Net // that plays; nil = random weights of the configuration
	NetName string

	Inputs
	Games
	Rows
	Training
}

// Inputs are the data that are there already, and which parts of all data are taken.
type Inputs struct {
	SelfPlayDir string   // games that are there already; then no self-play
	Existing    string   // shuffle that training mixes in; "" = that for all runs of Base, if there is one
	DataDirs    []string // more to mix in: shuffles, or games for the step Process
	Skip        []int    // first files to leave out, by source: the new data, Existing, DataDirs
	Ranges      []string // files to take, "A-B" or "all", by source; wins over Skip
}

// Games say how games are played.
type Games struct {
	NumGames    int64
	NumWorkers  int
	Parallel    int // games that a worker plays at once
	CacheSize   int // positions, of a worker
	Temperature float64
	Visits      int
	Candidates  int // of Gumbel search; 0 = PUCT
}

// Rows say how games become rows.
type Rows struct {
	ChunkSize  int
	Selector   prepare.Selector
	Workers    int   // of Process
	Buckets    int   // files of the shuffle
	MaxSamples int64 // that training sees at most
}

// Training says how nets are trained: that of a run, or the trials of a sweep.
type Training struct {
	Results string // directory of training runs
	Epochs  int64  // passes over the rows
	Seed    uint64 // of a run: 0 = of T
	Config  ConfigSource

	Command  string // for locks and the run event
	Version  string
	Log      *slog.Logger
	Progress monitor.Sink // nil = none
}

const layoutT = "20060102_150405"

var formT = regexp.MustCompile(`^[0-9]{8}_[0-9]{6}$`)

// NewT returns the name of a run that begins now: that of the time, or of the
// next second that no run has.
func (o *Options) NewT(now time.Time) string {
	for {
		next := *o
		next.T = now.UTC().Format(layoutT)
		_, err := os.Stat(statePath(o.Base, next.T))
		_, trained := os.Stat(next.Dir(Train))
		if err != nil && trained != nil {
			return next.T
		}
		now = now.Add(time.Second)
	}
}

// begun is the time that T says.
func (o *Options) begun() time.Time {
	t, _ := time.Parse(layoutT, o.T) // validate has seen it
	return t
}

// seed returns the seed of the games. Without a given one it is T's, so that two
// runs never play the same games: a game's id comes of its seed, worker and number.
func (o *Options) seed() uint64 {
	return cmp.Or(o.Seed, uint64(o.begun().Unix()))
}

// runs says whether a step is to run.
func (o *Options) runs(step string) bool { return slices.Contains(o.Steps, step) }

// places are the directories of the steps below Base, without the run's name.
var places = map[string]string{SelfPlay: "selfplay_", Preprocess: "cleaned/run_", Process: "processed/run_", Shuffle: "processed/shuffled_"}

// Dir is the directory that a step writes.
func (o *Options) Dir(step string) string {
	if step == Train {
		return filepath.Join(o.Results, "run_"+o.T)
	}
	return filepath.Join(o.Base, places[step]+o.T)
}

func (o *Options) buckets() string { return filepath.Join(o.Base, "processed", "temp_buckets_"+o.T) }
func (o *Options) mixDir() string  { return filepath.Join(o.Base, "processed", "mix_"+o.T) }
func (o *Options) netsDir() string { return filepath.Join(o.Base, "nets_"+o.T) }

// validate says which option is missing or out of range.
func (o *Options) validate() error {
	if !formT.MatchString(o.T) {
		return fmt.Errorf("run %q: want the time of its beginning, YYYYMMDD_HHMMSS", o.T)
	}
	if _, err := time.Parse(layoutT, o.T); err != nil {
		return fmt.Errorf("run %q: %w", o.T, err)
	}
	if len(o.Steps) == 0 {
		return fmt.Errorf("no step is left to run")
	}
	for _, v := range []struct {
		name             string
		value, low, high int64
	}{
		{"num-games", o.NumGames, 1, 1 << 40}, {"num-workers", int64(o.NumWorkers), 1, 1024}, {"batch-size", int64(o.Parallel), 1, 65536},
		{"cache-size", int64(o.CacheSize), 0, 1e8}, {"visits", int64(o.Visits), 1, 1e8}, {"gumbel-candidates", int64(o.Candidates), 0, 218},
		{"chunk-size", int64(o.ChunkSize), 1, math.MaxInt32}, {"max-workers-process", int64(o.Workers), 1, 1024},
		{"num-buckets-shuffle", int64(o.Buckets), 1, 1 << 20}, {"max-samples", o.MaxSamples, 1, 1 << 50}, {"epochs", o.Epochs, 1, 1e6},
	} {
		if v.value < v.low || v.value > v.high {
			return fmt.Errorf("--%s %d: want %d to %d", v.name, v.value, v.low, v.high)
		}
	}
	for i, n := range o.Skip {
		if n < 0 {
			return fmt.Errorf("--skip-files: number %d is %d: want 0 or more", i+1, n)
		}
	}
	for i := range o.Ranges {
		if _, err := o.part(i, ""); err != nil {
			return err
		}
	}
	return nil
}

var formRange = regexp.MustCompile(`^([0-9]{1,9})-([0-9]{1,9})?$`)

// part says which files of source number i, from 0, are taken.
func (o *Options) part(i int, dir string) (prepare.Input, error) {
	in := prepare.Input{Dir: dir}
	if i < len(o.Skip) {
		in.From = o.Skip[i]
	}
	if i >= len(o.Ranges) {
		return in, nil
	}
	in.From = 0
	if o.Ranges[i] == "all" {
		return in, nil
	}
	m := formRange.FindStringSubmatch(o.Ranges[i])
	if m == nil {
		return in, fmt.Errorf("--shard-ranges %q: want A-B (files number A to B-1, from 0), A- or all", o.Ranges[i])
	}
	in.From, _ = strconv.Atoi(m[1]) // digits, nine at most
	in.To, _ = strconv.Atoi(m[2])   // nothing: up to the last
	if m[2] != "" && in.To <= in.From {
		return in, fmt.Errorf("--shard-ranges %q: no file lies between; want A-B (files number A to B-1, from 0)", o.Ranges[i])
	}
	return in, nil
}

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
