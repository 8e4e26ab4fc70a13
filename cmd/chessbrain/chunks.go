package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/encoding/lc0"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/plugins/sample/chance"
	"github.com/chessbrain/chessbrain/replay/chunks"
	"github.com/chessbrain/chessbrain/replay/prepare"
)

func newDumpChunk() *cobra.Command {
	var member int
	c := &cobra.Command{
		Use:   "dump-chunk FILE",
		Short: "Show every field of every record of a Leela training chunk",
		Long: `Shows every field of every record of a chunk (*.gz, a member of a *.tar, or bare records; versions 3 to 7)
under Leela's names. Moves of the policy are seen by the mover, castling is king takes rook; planes are masks, bit i
= square i, a1 = 0. What a version does not hold is "-" (null with --json).`,
		Args: exactArgs(1, "name one file"),
		RunE: func(c *cobra.Command, args []string) error {
			src, err := lc0.OpenSource(args[0])
			if err != nil {
				return chunkFileError(err)
			}
			if member < 0 || member >= src.Len() {
				return usagef("--member %d: %s has %d chunks, counted from 0", member, args[0], src.Len())
			}
			raw, err := src.Chunk(member)
			if err != nil {
				return chunkFileError(err)
			}
			records, damage := lc0.DecodeRecords(raw)
			frames, noGame := chunks.Frames(records)
			damage = cmp.Or(damage, noGame)
			fmt.Fprintf(textOut(c), "chunk %d of %d: %s, %d records\n", member, src.Len(), src.Name(member), len(records))
			for i := range frames {
				if err := answer(c, &frames[i]); err != nil {
					return err
				}
			}
			if damage != nil {
				return corruptf("%s: %w", args[0], damage)
			}
			return nil
		},
	}
	c.Flags().IntVar(&member, "member", 0, "which chunk of a tar, counted from 0")
	bindJSON(c, "one JSON object a record")
	return c
}

// chunkFileError sorts an error about a file of chunks: damage, or a wrong path.
func chunkFileError(err error) error {
	if isAny(err, lc0.ErrCorruptRecord, lc0.ErrNoGame, lc0.ErrNoSource) {
		return corrupt(err)
	}
	return pathError(err)
}

// filterOptions are the flags of filter-chunks.
type filterOptions struct {
	chunks.Filter
	chunks.CopyOptions
	results  []string
	ends     []string
	versions []uint
	formats  []uint
	dryRun   bool
}

func newFilterChunks() *cobra.Command {
	var o filterOptions
	c := &cobra.Command{
		Use:   "filter-chunks FILE|DIR... --out DIR|FILE.tar",
		Short: "Copy the Leela chunks that pass conditions",
		Long: `Copies chunks (*.gz, and members of *.tar, in files or directories) that pass all the conditions given,
byte for byte. Nothing is written over. What is damaged is named and left out, and the exit code is 3.`,
		Example: `  chessbrain filter-chunks training-1.tar --out decided --result white,black --min-plies 20`,
		Args:    someArgs("name files or directories"),
		RunE:    o.run,
	}
	f := c.Flags()
	f.StringVar(&o.Out, "out", "", "directory, or file *.tar, for the copies")
	f.StringSliceVar(&o.results, "result", nil, "only these results: white, draw, black")
	f.StringSliceVar(&o.ends, "end", nil, "only games that ended so: "+strings.Join(chunks.EndNames(), ", "))
	f.IntVar(&o.MinPlies, "min-plies", 0, "only games of so many plies or more")
	f.IntVar(&o.MaxPlies, "max-plies", 0, "only games of so many plies or fewer; 0 = no limit")
	f.IntVar(&o.MinPositions, "min-positions", 0, "only chunks of so many positions to train on or more")
	f.UintSliceVar(&o.versions, "version", nil, "only records of these versions: 3 to 7")
	f.UintSliceVar(&o.formats, "input-format", nil, "only these input formats: 1 to 5, 132, 133")
	f.BoolVar(&o.StartOnly, "startpos", false, "only games from the standard start position")
	f.BoolVar(&o.Distinct, "distinct", false, "of equal games only the first")
	f.IntVar(&o.Limit, "limit", 0, "stop after so many copies; 0 = no limit")
	f.BoolVar(&o.dryRun, "dry-run", false, "count what would be copied, write nothing")
	bindJSON(c, "one JSON object")
	return c
}

func (o *filterOptions) run(c *cobra.Command, args []string) error {
	if (o.Out == "") != o.dryRun {
		return usagef("--out: name a directory or a file *.tar for the copies, or give --dry-run instead")
	}
	for _, name := range []string{"min-plies", "max-plies", "min-positions", "limit"} {
		if value, _ := c.Flags().GetInt(name); value < 0 {
			return usagef("--%s %d: want 0 or more", name, value)
		}
	}
	if err := o.Filter.Parse(o.results, o.ends, o.versions, o.formats); err != nil {
		return usageError{err}
	}
	r, problems, err := chunks.Copy(c.Context(), fsx.OS, args, &o.Filter, o.CopyOptions)
	if err != nil {
		return errors.Join(inputError(err), reportProblems(c, problems))
	}
	err = answerf(c, r, "%s read, %s", monitor.Count(r.Read, "chunk"), r.Text())
	return errors.Join(err, reportProblems(c, problems))
}

func newResultDistribution() *cobra.Command {
	c := &cobra.Command{
		Use:   "result-distribution FILE|DIR...",
		Short: "Count results, lengths and ends of games or Leela chunks",
		Long: `Counts results, lengths in plies, ends, versions and input formats of Leela's chunks (*.gz, *.tar) and of
our own *.games, in files or directories. What is damaged is named and left out, and the exit code is 3.`,
		Args: someArgs("name files or directories"),
		RunE: func(c *cobra.Command, args []string) error {
			t := chunks.NewTally()
			return reportGames(c, args, t.Add, func() printed { r := t.Report(); return &r })
		},
	}
	bindJSON(c, "one JSON object")
	return c
}

// reportGames walks over the games of args and writes the report on them, as JSON
// if asked for; what is damaged is named at the end.
func reportGames(c *cobra.Command, args []string, add func(*chunks.Game), report func() printed) error {
	problems, err := chunks.Walk(c.Context(), fsx.OS, args, func(g *chunks.Game) error {
		add(g)
		return nil
	})
	if err != nil {
		return inputError(err)
	}
	return errors.Join(answer(c, report()), reportProblems(c, problems))
}

// inputError makes usage errors of inputs that cannot be used.
func inputError(err error) error {
	if errors.Is(err, chunks.ErrInput) || errors.Is(err, chunks.ErrExists) {
		return usageError{err}
	}
	return pathError(err)
}

// reportProblems names what could not be read, and makes an error of it.
func reportProblems(c *cobra.Command, problems []error) error {
	tellEach(c, "%v", problems)
	if len(problems) == 0 {
		return nil
	}
	return corruptf("%d parts of the input could not be read and were left out", len(problems))
}

func newPositionWeights() *cobra.Command {
	f := chance.Focus{QWeight: 6, PolicyScale: 3.5, Alpha: 1, Beta: 0.5, Gamma: 1, Tau: 1}
	c := &cobra.Command{
		Use:   "position-weights FILE|DIR...",
		Short: "Show how diff focus would weigh the positions of games or Leela chunks",
		Long: `Shows how far the search moved from the raw network in the positions to train on, and how many of them, and
of the rows that are drawn, have which of the weights that diff focus gives them (position_weight of the data
loader, the sampler diff-focus):

  min(((q_weight*|best_q - orig_q| + kld) / (q_weight + pol_scale) * alpha + beta)^gamma, tau)

What is damaged is named and left out, and the exit code is 3.`,
		Example: "  chessbrain position-weights training.tar --beta 0.1 --tau 2",
		Args:    someArgs("name files or directories"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Check(func(setting string) string { return "--" + strings.ReplaceAll(setting, "_", "-") }); err != nil {
				return usageError{err}
			}
			w := chunks.NewWeights(f)
			return reportGames(c, args, w.Add, func() printed { r := w.Report(); return &r })
		},
	}
	bindJSON(c, "one JSON object")
	c.Flags().Float64Var(&f.QWeight, "q-weight", f.QWeight, "weight of the difference of Q")
	c.Flags().Float64Var(&f.PolicyScale, "pol-scale", f.PolicyScale, "scale of the policy's difference")
	c.Flags().Float64Var(&f.Alpha, "alpha", f.Alpha, "factor")
	c.Flags().Float64Var(&f.Beta, "beta", f.Beta, "what every position has, above 0")
	c.Flags().Float64Var(&f.Gamma, "gamma", f.Gamma, "power")
	c.Flags().Float64Var(&f.Tau, "tau", f.Tau, "largest weight, above 0")
	return c
}

func newStartposPolicy() *cobra.Command {
	c := &cobra.Command{
		Use:   "startpos-policy FILE|DIR...",
		Short: "Average the policy of the start position over games or Leela chunks",
		Long: `Averages the policy target of the standard start position over the games of Leela's chunks (*.gz, *.tar)
and of our own *.games: its mean, its standard deviation between games, and how often each move was played. Games
that begin elsewhere are only counted. What is damaged is named and left out, and the exit code is 3.`,
		Args: someArgs("name files or directories"),
		RunE: func(c *cobra.Command, args []string) error {
			s := chunks.NewStartPolicy()
			return reportGames(c, args, s.Add, func() printed { r := s.Report(); return &r })
		},
	}
	bindJSON(c, "one JSON object")
	return c
}

// positionsOptions are the flags of positions.
type positionsOptions struct {
	prepare.Options
	selector string
	seed     uint64
}

func newPositions() *cobra.Command {
	var o positionsOptions
	c := &cobra.Command{
		Use:   "positions DIR... --out DIR --position-selector SELECTOR",
		Short: "Choose which positions of games are trained on",
		Long: `Copies games into a directory of their own in which only chosen positions are rows: the others keep their
moves and get weight 0. Games without a chosen row are left out. SELECTOR is all, final (the last row of a game),
penultimate (the one before it), every-K (each K-th row, from a random one of the first K) or one-per-game (at
random). The choice depends on --seed and a game's id alone. A stopped command goes on.`,
		Example: "  chessbrain positions games --out chosen --position-selector every-4",
		Args:    someArgs("name directories of games"),
		RunE:    func(c *cobra.Command, args []string) error { return o.run(c, args) },
	}
	f := c.Flags()
	f.StringVar(&o.Out, "out", "", "directory for the games; new, empty, or of the same command")
	f.StringVar(&o.selector, "position-selector", prepare.SelectAll, "all, final, penultimate, every-K or one-per-game")
	f.Uint64Var(&o.seed, "seed", 1, "of the random choices")
	f.IntVar(&o.ChunkSize, "chunk-size", 10000, "games a file")
	f.IntVar(&o.Workers, "max-workers-process", runtime.GOMAXPROCS(0), "files read at once")
	bindJSON(c, "print the manifest as one JSON object")
	return c
}

// run chooses and prints what came of it.
func (o *positionsOptions) run(c *cobra.Command, dirs []string) error {
	var err error
	o.Select, err = prepare.ParseSelector(o.selector, o.seed)
	switch {
	case err != nil:
		return usageError{fmt.Errorf("--position-selector: %w", err)}
	case o.Out == "":
		return usagef("--out: name a directory for the games")
	case o.ChunkSize < 1 || o.Workers < 1 || o.Workers > 1024:
		return usagef("--chunk-size %d, --max-workers-process %d: want 1 or more, and 1 to 1024", o.ChunkSize, o.Workers)
	}
	for _, dir := range dirs {
		o.Inputs = append(o.Inputs, prepare.Input{Dir: dir})
	}
	ctx, stop := interruptible(c.Context())
	defer stop()
	m, err := prepare.Process(ctx, o.Options)
	if err != nil {
		return endedBy(err, "interrupted; whole files are kept in %s, and the same command goes on", o.Out)
	}
	n := m.Counts
	err = answerf(c, m, "%d of %s, %d rows of %s -> %s (%s)\n", n.Games, monitor.Count(n.Read, "game"), n.Rows, monitor.Count(n.Positions, "position"), o.Out, monitor.Count(len(m.Files), "file"))
	if n.Damaged > 0 {
		return errors.Join(err, corruptf("%d damaged stretches of the input were left out; chessbrain verify names them", n.Damaged))
	}
	return err
}
