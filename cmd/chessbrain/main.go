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
	os.Exit(execute())
}

// execute runs the command line and returns the exit code. Whatever fails before
// a command begins is a mistake in the command line.
func execute() int {
	root, began := newRoot(), false
	root.SetArgs(config.JoinWords(os.Args[1:]))
	prepare := root.PersistentPreRunE
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		began = true
		return prepare(c, args)
	}
	err := root.ExecuteContext(context.Background())
	if err != nil && !began {
		if text, near, ok := strings.Cut(err.Error(), "\n\nDid you mean this?\n"); ok { // cobra's way to say it
			err = errors.New(text + "; did you mean " + strings.Join(strings.Fields(near), " or ") + "?")
		}
		err = usageError{err}
	}
	if err != nil {
		printError(os.Stderr, err)
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
			if wantsAll(c) && c.Name() != "help" { // it would have no effect
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
	completeArgs(root)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text := err.Error()
		if number, ok := errors.AsType[*strconv.NumError](err); ok {
			text = strings.Replace(text, number.Error(), number.Err.Error(), 1) // without the name of Go's function
		}
		hint := ""
		if name, unknown := strings.CutPrefix(text, "unknown flag: --"); unknown {
			hint = meant(c, name)
		}
		return usagef("%s%s (see %s --help)", text, hint, c.CommandPath())
	})
	return root
}

// meant asks whether one of the command's flags was meant by a name that none has; it
// has them compared as names of commands are.
func meant(c *cobra.Command, name string) string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	near := names.SuggestionsFor(name)
	if len(near) == 0 || len(near) > 4 {
		return ""
	}
	return "; did you mean --" + strings.Join(near, " or --") + "?"
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
	broken := make(chan os.Signal, 1) // nobody reads it: a write to a closed terminal or pipe fails, and ends nothing
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
	return ctx, func() { signal.Stop(signals); signal.Stop(broken); close(signals); cancel() }
}
