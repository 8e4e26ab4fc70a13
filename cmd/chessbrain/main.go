// Command chessbrain trains a chess network from nothing: it plays against itself,
// learns from the games, and hands the new weights to the players.
//
//	chessbrain train --episodes 200 --producer-workers 8 --run-dir runs/first
//
// A sub-command has a file of its name, match.go or importpgn.go; small ones share that of
// their kin: stages.go, inspect.go, machine.go, nets.go, chunks.go, trainertools.go. It parses,
// validates, wires and runs. The work is done in other packages, where a second command
// and a test can reach it. The rest of the files is what several commands share: help.go
// and helplayout.go (--help and --help --all), errors.go (arguments and exit codes),
// session.go (a configuration, its flags and what a command on a run does with them),
// arithmetic.go (kernels, devices and the GPU program), output.go (reports as text and
// JSON).
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/handover"
	"github.com/chessbrain/chessbrain/internal/typo"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

func main() {
	if servePlugin() {
		return
	}
	if err := handover.TakeOver(setup.CUDABuild, version()); err != nil {
		printError(os.Stderr, err)
		os.Exit(exitFailure)
	}
	if handover.AfterFault() {
		setup.Machine.Leave()
	}
	os.Exit(execute())
}

// execute runs the command line and returns the exit code. Whatever fails before
// a command begins is a mistake in the command line.
func execute() int {
	root, began := newRoot(), false
	out, notes := &console{stream: stream{file: os.Stdout}}, &console{stream: stream{file: os.Stderr}}
	root.SetOut(out)
	root.SetErr(notes)
	root.SetArgs(config.JoinWords(os.Args[1:]))
	prepare := root.PersistentPreRunE
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		began = true
		return prepare(c, args)
	}
	err := root.ExecuteContext(context.Background())
	if err != nil && !began && out.err == nil {
		err = usageError{err}
	}
	if err == nil {
		err = out.err
	}
	if err != nil {
		printError(notes, err)
	}
	if as[gpuFault](err) {
		tell(root)("--on-gpu-fault cpu: going on with the CPU")
		err = handover.Again()
		printError(notes, err)
	}
	return exitCode(err)
}

// newRoot builds the command tree.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "chessbrain",
		Short: "Train a chess network from nothing on one machine",
		Long: `chessbrain plays chess against itself, learns from the games, and goes on.

  chessbrain train --episodes 200 --producer-workers 8

Stop it at any moment with Ctrl-C; the same command goes on.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,

		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if wantsAll(c) && c.Name() != "help" && !c.HasSubCommands() { // it would have no effect
				return usagef("--%s goes with --help", allFlag)
			}
			return chooseTier(c)
		},
	}
	bindTier(root)
	bindHelp(root)
	addGroup(root, "Playing and learning",
		newNew(), newRecipes(), newRun(), newStatus(), newWatch(), newTrain(), newSelfplay(), newFleet(), newExport(), newGatekeeper(), newMatch(), newLadder(), newRatings(), newUCI(), newDaemon(), newCtl(), newReport(), newGames(), newDescribe(), newExam())
	addGroup(root, "Games, chunks and rows",
		newPipeline(), newShuffle(), newImportPGN(), newRescore(), newPositions(), newPin(), newGC(), newVerify(), newTestDataloader(), newDataloaderGraph(),
		newDumpChunk(), newFilterChunks(), newResultDistribution(), newPositionWeights(), newStartposPolicy())
	addGroup(root, "Nets", newImportNet(), newExportNet(), newProbe(), newNetMath(), newGrow())
	addGroup(root, "Around the trainer",
		newPlugins(), newEval(), newOverfit(), newTuneLR(), newTrainEpoch(), newMigrateCheckpoint(), newBackfillMetrics())
	addGroup(root, "This machine", newBench(), newPerft(), newDoctor(), newMan(), newVersion())
	root.InitDefaultCompletionCmd()
	groupCommands(root)
	completeArgs(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text := err.Error()
		if number, ok := errors.AsType[*strconv.NumError](err); ok {
			text = strings.Replace(text, number.Error(), number.Err.Error(), 1) // without the name of Go's function
		}
		hint := ""
		if name, unknown := strings.CutPrefix(text, "unknown flag: "); unknown {
			var names []string
			c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			hint = typo.Meant(cmp.Or(map[string]string{"--fen": "--position"}[name], name), names...)
			if name == "--grow" && c.Name() == "train" {
				hint = "; a closed loop grows its net (chessbrain run --grow), and so does --source shuffled in its directory; chessbrain grow makes a larger net for a new run"
			}
			if name == "--set" && c.Flags().Lookup("config") != nil {
				hint = "; settings of stages stand in the file of --config: plugins { sampler { name: ... settings { key: ... value: ... } } }"
			}
		}
		return usagef("%s%s (see %s --help)", text, hint, c.CommandPath())
	})
	return root
}

// groupCommands has the commands that only group others show their help, and refuse words
// that name none of these.
func groupCommands(c *cobra.Command) {
	if c.HasSubCommands() && !c.Runnable() {
		c.Use += " COMMAND"
		c.Args, c.RunE = noArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, below := range c.Commands() {
		groupCommands(below)
	}
}

// addGroup adds commands under a heading of the help.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// interruptible returns a context for a command that saves its work: it ends at
// the first SIGINT or SIGTERM. The second one ends the process at once with 130,
// but waits for a checkpoint whose rename is under way. The caller calls stop.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	broken := make(chan os.Signal, 1) // nobody reads it: a write to a closed terminal or pipe fails, and ends nothing, up to the last line
	signal.Notify(broken, syscall.SIGPIPE)
	go func() {
		if <-signals == nil {
			return // stop was called
		}
		fmt.Fprintln(os.Stderr, "chessbrain: finishing the current step, then saving; press Ctrl-C again to end at once")
		cancel()
		if <-signals != nil {
			run.ExitNow(exitKilled)
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel() }
}
