package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/replay/prepare"
	"github.com/chessbrain/chessbrain/run/pipeline"
	"github.com/chessbrain/chessbrain/run/tools"
)

// pipelineFlags are the flags of pipeline.
type pipelineFlags struct {
	pipeline.Options
	on, off   map[string]*bool // --run-STEP, --no-STEP
	only      string           // pipeline STEP
	net       string
	step      int64
	selector  string
	noCleanup bool
	resume    string
	fresh     bool
	logDir    string
	quiet     bool
	dryRun    bool
}

// otherNames are the names of flags in the pipeline that this one follows.
var otherNames = map[string]string{
	"no-preprocessing": "no-preprocess", "no-trmph-processing": "no-process", "no-shuffling": "no-shuffle", "no-training": "no-train",
	"run-preprocessing": "run-preprocess", "run-trmph-processing": "run-process", "run-shuffling": "run-shuffle", "run-training": "run-train",
	"max-workers-trmph": "max-workers-process", "model-path": "net", "model-epoch": "step",
}

// howOnly are flags that say how a run is done, not what: they may change when it
// goes on.
var howOnly = []string{"dry-run", "json", "resume", "new", "log-dir", "no-cleanup", "max-workers-process", "quiet", "cpu-tier", "help"}

func newPipeline() *cobra.Command {
	c := newPipelineStep("")
	for _, step := range pipeline.AllSteps() {
		c.AddCommand(newPipelineStep(step))
	}
	c.AddCommand(newSweep())
	return c
}

// newPipelineStep makes the command of all steps, or of one.
func newPipelineStep(only string) *cobra.Command {
	o := &pipelineFlags{only: only, on: map[string]*bool{}, off: map[string]*bool{}}
	c := &cobra.Command{
		Use:   "pipeline",
		Short: "Run the steps from self-play to training as one batch, with directories that can be kept",
		Long: `Plays games, combines and cleans them, chooses positions, shuffles their rows and trains on
them: a batch pipeline, one step after the other (docs/DATA.md).

  selfplay    --num-games by --num-workers    BASE/selfplay_T/worker_N
  preprocess  without doubles, in chunks      BASE/cleaned/run_T
  process     --position-selector             BASE/processed/run_T
  shuffle     rows in a uniform random order  BASE/processed/shuffled_T
  train       on the new and on existing rows RESULTS/run_T

T is the time of the beginning, YYYYMMDD_HHMMSS (UTC). Each step can be left out with --no-STEP, or run alone as
chessbrain pipeline STEP. The first step of the data takes --selfplay-dir where no step before it runs.

Training takes files of rows from the new shuffle, from the existing one and from those of --data-dirs, in that
order. A data directory of games goes through process. In place of --search-widths 13 8, which evaluate up to 13 +
13 x 8 = 117 positions a move, there are 117 visits, or --gumbel-candidates 13.

Ctrl-C keeps all work (exit code 5); the same command goes on with that T. At the end the directories that this run
made for later steps are removed: never one that was named here, nor one that is pinned. The environment's variables
play no part.`,
		Example: `  chessbrain pipeline --net runs/a --num-games 50000 --num-workers 5 --temperature 1.0
  chessbrain pipeline --no-selfplay --no-preprocess --no-process --no-shuffle --net runs/a`,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args) },
		Args: func(*cobra.Command, []string) error { return nil }, // o.lists
	}
	if only != "" {
		c.Use, c.Short = only, fmt.Sprintf("Run the step %s of a pipeline alone", only)
		c.Long, c.Example = fmt.Sprintf("Runs the step %s alone; its flags are those of chessbrain pipeline, whose help says more.", only), ""
	}
	o.bind(c)
	takeNames(c, otherNames)
	return c
}

// bind declares the flags.
func (o *pipelineFlags) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.net, "net", "", "net that plays, and that training begins with: "+tools.NetForms+" (default: random weights of the configuration)")
	f.Int64Var(&o.step, "step", -1, "checkpoint of this step of the run that --net names (default: the newest)")
	f.Int64Var(&o.NumGames, "num-games", 100_000, "games of all workers together")
	f.IntVar(&o.NumWorkers, "num-workers", 3, "workers that play, each with a directory, a cache and games of its own")
	f.Float64Var(&o.Temperature, "temperature", 1.5, "of the choice of moves")
	f.IntVar(&o.Parallel, "batch-size", 128, "games that a worker plays at once: so many positions are evaluated together")
	f.IntVar(&o.CacheSize, "cache-size", 60_000, "positions in a worker's cache of evaluations; 0 = none")
	f.IntVar(&o.Visits, "visits", 117, "visits of a search; widths of 13 and 8 evaluate as many positions")
	f.IntVar(&o.Candidates, "gumbel-candidates", 0, "moves that Gumbel search considers at the root; 0 = PUCT")
	f.StringVar(&o.Base, "base-data-dir", "data", "directory of all the data")
	f.StringVar(&o.Existing, "existing-shuffled-data-dir", "", "shuffle to train on too (default BASE/processed/shuffled, if it is there)")
	f.StringVar(&o.SelfPlayDir, "selfplay-dir", "", "directory of games that are there already; nothing is played then")
	f.IntVar(&o.ChunkSize, "chunk-size", 10_000, "games of a file of preprocess and process")
	f.StringVar(&o.selector, "position-selector", prepare.SelectAll, "all, final, penultimate, every-K or one-per-game")
	f.IntVar(&o.Workers, "max-workers-process", 6, "files that process reads at once")
	f.IntVar(&o.Buckets, "num-buckets-shuffle", 100, "files that the shuffled training rows are spread over")
	f.Int64Var(&o.MaxSamples, "max-samples", 35_000_000, "rows that training sees at most")
	f.Int64Var(&o.Epochs, "epochs", 1, "passes over the rows, as far as --max-samples allows")
	f.StringVar(&o.Results, "results-dir", "checkpoints/pipeline", "directory of the training runs")
	f.IntSliceVar(&o.Skip, "skip-files", []int{0, 0, 200}, "first files to leave out: of the new data, of the existing shuffle, of each of --data-dirs")
	f.StringArrayVar(&o.DataDirs, "data-dirs", nil, "more data: directories of shuffles, or of games; may come several times")
	f.StringArrayVar(&o.Ranges, "shard-ranges", nil, "files to take, A-B (number A to B-1, from 0), A- or all, in the same order; wins over --skip-files")
	f.Uint64Var(&o.Seed, "seed", 0, "of everything random; 0 = of T, so that no two runs play the same games")
	for _, step := range pipeline.AllSteps() {
		if o.only == "" {
			o.on[step] = f.Bool("run-"+step, true, "run the step "+step)
			o.off[step] = f.Bool("no-"+step, false, "leave the step "+step+" out")
		}
	}
	f.BoolVar(&o.noCleanup, "no-cleanup", false, "keep the directories between the steps")
	f.StringVar(&o.resume, "resume", "", "go on with the run T, with the flags it was begun with")
	f.BoolVar(&o.fresh, "new", false, "begin another run although one is unfinished")
	f.StringVar(&o.logDir, "log-dir", "logs", "directory of the log")
	f.StringVar(&o.Config.Path, "config", "", "configuration file of self-play and training (textproto)")
	f.StringArrayVar(&o.Config.Overrides, "override-config", nil, "fields of the configuration, path=value[,path=value...]; wins over everything else")
	f.BoolVar(&o.quiet, "quiet", false, "no progress on the terminal")
	f.BoolVar(&o.dryRun, "dry-run", false, "check everything, say what would be done, create nothing")
	bindJSON(c, "print one JSON object")
}

// lists adds arguments behind the flags that take several values, as in
// --skip-files 0 0 200: a number, a range, and directories for --data-dirs.
func (o *pipelineFlags) lists(c *cobra.Command, args []string) error {
	for _, arg := range args {
		flag := "data-dirs"
		if digits := strings.Trim(arg, "0123456789"); digits == "" {
			flag = "skip-files"
		} else if digits == "-" && arg[0] != '-' || arg == "all" {
			flag = "shard-ranges"
		}
		f := c.Flags().Lookup(flag)
		if !f.Changed {
			return noArgs(c, []string{arg})
		}
		if err := f.Value.(pflag.SliceValue).Append(arg); err != nil {
			return usagef("--%s %s: %w", flag, arg, err)
		}
	}
	return nil
}

// settings are the flags that say what the run is, by name.
func (o *pipelineFlags) settings(c *cobra.Command) map[string][]string {
	all := map[string][]string{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(howOnly, f.Name) {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			all[f.Name] = list.GetSlice()
		} else {
			all[f.Name] = []string{f.Value.String()}
		}
	})
	all["steps"] = o.Steps
	return all
}

// take sets the flags that are not given to what a run was begun with.
func (o *pipelineFlags) take(c *cobra.Command, s *pipeline.State) (err error) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		values, ok := s.Settings[f.Name]
		if !ok || f.Changed || err != nil {
			return
		}
		if list, isList := f.Value.(pflag.SliceValue); isList {
			err = list.Replace(values)
		} else if len(values) == 1 {
			err = f.Value.Set(values[0])
		}
	})
	return err
}

// steps are those that run.
func (o *pipelineFlags) steps() (steps []string, err error) {
	if o.only == pipeline.SelfPlay && o.SelfPlayDir != "" {
		return nil, usagef("--selfplay-dir: chessbrain pipeline selfplay plays games; leave it away")
	}
	if o.only != "" {
		return []string{o.only}, nil
	}
	for _, step := range pipeline.AllSteps() {
		if *o.on[step] && !*o.off[step] && !(step == pipeline.SelfPlay && o.SelfPlayDir != "") {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		return nil, usagef("no step is left to run: leave one of --no-STEP away")
	}
	return steps, nil
}

// which finds the run to go on with, nil for a new one.
func (o *pipelineFlags) which(c *cobra.Command) (*pipeline.State, error) {
	if o.resume != "" {
		s, err := pipeline.ReadState(o.Base, o.resume)
		if err != nil {
			return nil, pathError(fmt.Errorf("--resume %s: %w", o.resume, err))
		}
		return s, o.take(c, s)
	}
	if o.fresh {
		return nil, nil
	}
	return pipeline.Unfinished(o.Base)
}

// prepare completes the options and says whether a run goes on.
func (o *pipelineFlags) prepare(c *cobra.Command, args []string) (goesOn bool, err error) {
	if err := o.lists(c, args); err != nil {
		return false, err
	}
	old, err := o.which(c)
	if err != nil {
		return false, err
	}
	if o.Steps, err = o.steps(); err != nil {
		return false, err
	}
	if o.Selector, err = prepare.ParseSelector(o.selector, o.Seed); err != nil {
		return false, usagef("--position-selector: %w", err)
	}
	o.Settings = o.settings(c)
	o.T = o.NewT(time.Now())
	if old != nil {
		if why := old.Differs(o.Settings); why != "" {
			if old.Done {
				return false, usagef("--resume: pipeline %s in %s is done, with other flags (%s); begin another run", old.T, o.Base, why)
			}
			return false, usagef("pipeline %s in %s is unfinished and was asked for otherwise (%s): --resume %s goes on with it as it was, --new begins another",
				old.T, o.Base, why, old.T)
		}
		o.T = old.T
	}
	o.Cleanup, o.Version, o.Command = !o.noCleanup, version(), commandLine(c)
	return old != nil, nil
}
