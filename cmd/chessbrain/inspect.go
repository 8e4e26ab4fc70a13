package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/monitor/report"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/cycle"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
	"github.com/chessbrain/chessbrain/run/verify"
	"github.com/chessbrain/chessbrain/run/watch"
)

func newStatus() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [RUN]",
		Short: "One page of a run's state: stage, progress, nets, Elo, rates, disk, and what limits it",
		Long: `Reads the files and locks of a run directory, asks the processes that work on it over their control
sockets, and prints one page. It changes nothing and needs no running process. "limits" says what holds the run up
most, and which flag changes it.`,
		Example: "  watch -n 5 chessbrain status runs/a",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := cycle.ReadStatus(c.Context(), runArg(args))
			if err != nil {
				return usageError{err}
			}
			if wantsJSON(c) {
				e := json.NewEncoder(data(c))
				e.SetIndent("", "  ")
				return e.Encode(s)
			}
			return s.Write(c.OutOrStdout())
		},
	}
	bindJSON(c, "print one JSON object")
	return c
}

func newReport() *cobra.Command {
	var output, mlflow, wandb string
	var html bool
	c := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Plot a run's losses and games (SVG) and sum it up",
		Long: `Plots a run's losses and games from its metrics and sums it up. With --html it also writes report.html: the pages of
chessbrain watch in one file that needs nothing else, with the curves and the newest games. Of a run with several
trainings the report has each one, in a directory of its name, and their losses in one picture.

--mlflow and --wandb write the metrics for MLflow and for Weights & Biases. The same run again writes the same anew.
chessbrain train and run have the flags, too: there the metrics follow the run.`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			dir, _, err := setup.OpenDir(runArg(args))
			if err != nil {
				return usageError{err}
			}
			output = cmp.Or(output, filepath.Join(dir.Root, reportDir))
			text, files, err := plot(dir.Root, output)
			if err == nil && html {
				var path string
				path, err = savePage(c.Context(), dir, output)
				files = append(files, path)
			}
			if err == nil {
				err = trackOnce(dir.Root, mlflow, wandb)
			}
			if err != nil {
				return pathError(err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n%s\n", text, strings.Join(files, "\n"))
			return err
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "directory for the plots (default: report in the run directory)")
	c.Flags().BoolVar(&html, "html", false, "write a page for browsers, too")
	c.Flags().StringVar(&mlflow, "mlflow", "", "directory of a file store of MLflow that the metrics go to as well, such as mlruns")
	c.Flags().StringVar(&wandb, "wandb", "", "directory of offline runs of Weights & Biases that the metrics go to as well, such as wandb")
	return c
}

// savePage writes the page of a run into a directory and returns its path.
func savePage(ctx context.Context, dir run.Dir, output string) (string, error) {
	var text bytes.Buffer
	if err := watch.New(watch.Options{Dir: dir, Version: version()}).Save(ctx, &text); err != nil {
		return "", err
	}
	path := filepath.Join(output, "report.html")
	return path, fsx.WriteFile(fsx.OS, path, text.Bytes())
}

// reportDir is where the plots of a run lie in it.
const reportDir = "report"

// plot makes the report of a run and returns its text for a terminal. The last file is the
// text of the run's own training, with what the ladder said last of a net of the run. Each
// other training has a directory of its name for its report.
func plot(root, output string) (text string, files []string, err error) {
	all, err := readReports(root)
	if err != nil {
		return "", nil, err
	}
	status, err := cycle.ReadStatus(context.Background(), root)
	if err != nil {
		return "", nil, err
	}
	var more strings.Builder
	if r := status.Ladder; r != nil {
		more.WriteString("\n## Ladder\n\n```\n")
		if err := r.Write(&more); err != nil {
			return "", nil, err
		}
		more.WriteString("```\n")
	}
	if l := status.Loop; l != nil {
		all[0].Loop = monitor.Count(l.Cycles, "cycle") + ", " + monitor.Count(l.Games, "game")
	}
	if len(all) > 1 {
		all[0].Compare(all)
		more.WriteString("\n## Other trainings of the run\n\n")
	}
	for _, data := range all {
		for _, r := range status.Ratings {
			line, samples, _, ok := run.ParseNetName(r.Name)
			if ok && (len(all) == 1 || strings.HasSuffix(line, "-"+data.Training)) {
				data.Curves[report.Elo] = append(data.Curves[report.Elo], report.Point{X: float64(samples), Y: r.Elo})
			}
		}
		slices.SortFunc(data.Curves[report.Elo], func(a, b report.Point) int { return cmp.Compare(a.X, b.X) })
	}
	for _, data := range all[1:] {
		fmt.Fprintf(&more, "* [%[1]s](%[1]s/report.md)\n", data.Training)
		others, err := report.Write(data, filepath.Join(output, data.Training), "")
		if err != nil {
			return "", nil, err
		}
		text, files = text+"\n"+report.Summary(data), append(files, others...)
	}
	own, err := report.Write(all[0], output, more.String())
	return report.Summary(all[0]) + text, append(files, own...), err
}

// readReports reads the metrics of the trainings of a run that have any, the run's own first.
func readReports(root string) (all []*report.Data, err error) {
	dirs, err := setup.Trainings(root)
	if err != nil {
		return nil, err
	}
	var empty error
	for _, dir := range dirs {
		data, err := report.Read(filepath.Join(dir.Learning, monitor.MetricsName))
		switch {
		case errors.Is(err, report.ErrEmpty):
			empty = cmp.Or(empty, err)
			continue
		case err != nil:
			return nil, err
		}
		if len(dirs) > 1 {
			data.Training = dir.Training
		}
		all = append(all, data)
	}
	if len(all) == 0 {
		return nil, usageError{empty}
	}
	return all, nil
}

func newDescribe() *cobra.Command {
	c := &cobra.Command{
		Use:   "describe [RUN | CHECKPOINT | FILE | builtin]",
		Short: "Show what a checkpoint or a net file holds",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			path := runArg(args)
			if path == config.NetBuiltin {
				net, err := tools.OpenNet(path, tools.NetForms)
				if err != nil {
					return err
				}
				return answer(c, tools.Describe(path, net.Net, nil))
			}
			if setup.NamesNet(path) {
				net, err := setup.ReadNet(path)
				if err != nil {
					return pathError(err)
				}
				return answer(c, tools.Describe(path, net, nil))
			}
			checkpoint, err := setup.FindCheckpoint(path)
			if err != nil {
				return pathError(err)
			}
			tellEach(c, "%s", checkpoint.Warnings)
			net, err := setup.CheckpointNet(checkpoint)
			if err != nil {
				return err
			}
			return answer(c, tools.Describe(checkpoint.Path, net, checkpoint.Manifest))
		},
	}
	bindJSON(c, "one JSON object")
	return c
}

func newVerify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Read all that a run has written and list what is wrong",
		Long: `Reads everything below a run directory, or any other directory, a checkpoint or a file (games, nets,
metrics.jsonl, Leela's chunks and networks, PGN), and changes nothing. Games are played through and held against the
board; checkpoints and nets against their hashes; the journal and the gatekeeper's decisions against what is there.
A run at work may be verified.

Each problem is a line: file, byte, what is wrong, what to do. The exit code is 0 only if there is none, and 3
otherwise.`,
		Example: "  chessbrain verify games/*.games net.safetensors --json",
		Args:    someArgs("name a run, a directory, a checkpoint or a file"),
		RunE:    runVerify,
	}
	bindJSON(c, "one JSON object a path")
	return c
}

// runVerify verifies the paths one after the other.
func runVerify(c *cobra.Command, paths []string) error {
	problems := 0
	for _, path := range paths {
		r, err := verify.Path(c.Context(), path)
		if errors.Is(err, verify.ErrUnknown) {
			return usageError{err}
		}
		if err != nil {
			return pathError(notThere(path, err, "name a run, a directory, a checkpoint or a file"))
		}
		problems += r.NumProblems
		if err := answer(c, r); err != nil {
			return err
		}
	}
	if problems > 0 {
		return corruptf("%s found; each is listed with what to do", monitor.Count(problems, "problem"))
	}
	return nil
}

// gamesOptions are the flags of games.
type gamesOptions struct {
	last       int
	pgn, board bool
}

// gamesOf returns where the games of root lie, a run directory, that of players alone or
// one of games, and the run's name, as PGN has it.
func gamesOf(root string) (dir, job string, err error) {
	isDir := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	at, info, err := setup.OpenDir(root)
	if err == nil {
		return at.Selfplay(), info.Job, nil
	}
	noRun := run.Dir{Root: root}
	if _, missing := os.Stat(noRun.RunFile()); !errors.Is(missing, fs.ErrNotExist) || !isDir(root) {
		return "", "", usageError{err}
	}
	if isDir(noRun.Selfplay()) {
		return noRun.Selfplay(), "?", nil
	}
	return root, "?", nil
}

func newGames() *cobra.Command {
	var o gamesOptions
	c := &cobra.Command{
		Use:   "games [RUN | DIR]",
		Short: "The newest games of a run: a line each, as PGN, or with their last position",
		Long: `Prints the newest games that a run, or whoever wrote into DIR, has played: number, result, how it ended, length
and net of each, the newest last. With --pgn the games themselves, with what the search thought of each move; with
--board the position at the end of each. It changes nothing, and the run may be at work.`,
		Example: "  chessbrain games runs/a\n  chessbrain games runs/a --last 1 --board\n  chessbrain games runs/a --last 100 --pgn > a.pgn",
		Args:    atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			if o.last < 1 {
				return usagef("--last %d: want 1 or more", o.last)
			}
			if o.pgn && o.board {
				return usagef("--pgn and --board: keep one of the two")
			}
			root := runArg(args)
			dir, job, err := gamesOf(root)
			if err != nil {
				return err
			}
			var newest []*record.Game
			const longest = 600 // plies, but for few games: so many positions have as many games as are wanted
			for g, err := range replay.DirGames(c.Context(), dir, int64(o.last)*longest, 0, warnings(c)) {
				if err != nil {
					return err
				}
				if newest = append(newest, g); len(newest) > o.last {
					newest = newest[1:]
				}
			}
			if len(newest) == 0 {
				return usagef("%s has no games yet", root)
			}
			to := c.OutOrStdout()
			if o.pgn {
				to = data(c)
			}
			out := bufio.NewWriter(to)
			if !o.pgn {
				fmt.Fprintf(out, "%7s  %-7s  %-11s  %-9s  %s\n", "game", "result", "end", "length", "net")
			}
			for _, g := range newest {
				if err := o.write(out, g, job); err != nil {
					return errors.Join(err, out.Flush())
				}
			}
			return out.Flush()
		},
	}
	c.Flags().IntVar(&o.last, "last", 10, "so many games")
	c.Flags().BoolVar(&o.pgn, "pgn", false, "as PGN, with the search's values as comments")
	c.Flags().BoolVar(&o.board, "board", false, "with the position at the end")
	return c
}

// write prints a game of a job.
func (o *gamesOptions) write(w io.Writer, g *record.Game, job string) error {
	if o.pgn {
		return export.WritePGN(w, g, job)
	}
	v, err := g.View()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%7d  %-7s  %-11s  %3d plies  %s\n", v.Game, v.Result, g.End, len(v.Moves), v.Net)
	if !o.board {
		return nil
	}
	for i, row := range v.Rows() {
		fmt.Fprintf(w, "%11d  %s\n", 8-i, row)
	}
	mover := "White"
	if strings.Contains(v.FEN, " b ") {
		mover = "Black"
	}
	_, err = fmt.Fprintf(w, "%13s%s   %s to move\n", "", "a b c d e f g h", mover)
	return err
}
