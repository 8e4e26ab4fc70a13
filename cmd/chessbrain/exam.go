package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/exam"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/run/tools"
)

func newExam() *cobra.Command {
	c := &cobra.Command{
		Use:   "exam",
		Short: "Examine a net: on three-men endings, whose values are known, and against an engine",
	}
	c.AddCommand(newExamStarts(), newExamMeasure(), newExamValues())
	return c
}

func newExamStarts() *cobra.Command {
	var count int
	var seed uint64
	var output string
	var staged bool
	c := &cobra.Command{
		Use:   "starts",
		Short: "Write start positions for self-play (KQK, KRK, KPK; none of the held-out ones)",
		Long: `Writes start positions as FENs, one a line, for train --openings. With --staged
they are a course, to be played in their order (--openings-order sequential): from
mates in one to farther and farther away.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := between("count", count, 3, 1e6); err != nil {
				return err
			}
			write := func(w io.Writer) error {
				tables := exam.Solve()
				starts := tables.Starts
				if staged {
					starts = tables.StagedStarts
				}
				for _, fen := range starts(count, seed) {
					if _, err := fmt.Fprintln(w, fen); err != nil {
						return err
					}
				}
				return nil
			}
			if output == "" {
				return write(c.OutOrStdout())
			}
			if _, err := os.Stat(filepath.Dir(output)); err != nil {
				return pathError(fmt.Errorf("--output: %w", err))
			}
			return pathError(fsx.WriteFileFunc(fsx.OS, output, write))
		},
	}
	c.Flags().IntVar(&count, "count", 30000, "positions, a third from each ending")
	c.Flags().Uint64Var(&seed, "seed", 1, "of the choice")
	c.Flags().BoolVar(&staged, "staged", false, "a course from mates in one to the longest")
	c.Flags().StringVarP(&output, "output", "o", "", "file (default: standard output)")
	return c
}

// examOptions are the flags of exam measure.
type examOptions struct {
	exam.Options
	net       string
	untrained bool
	device    string
	precision string
	players   *config.Config // what device and precision mean here
}

// validate says which flag is out of range.
func (o *examOptions) validate() error {
	return cmp.Or(between("visits", o.Visits, 1, 1e6), between("moves", o.Moves, 1, 1000),
		between("questions", o.Questions, 24, 1e5), between("mates", o.Mates, 1, 1e5))
}

func newExamMeasure() *cobra.Command {
	var o examOptions
	c := &cobra.Command{
		Use:   "measure [RUN]",
		Short: "Ask a net about held-out endings and let it mate the solver's longest defence",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			var err error
			if o.players, err = playDevice(c, o.device, o.precision); err != nil {
				return err
			}
			net, err := openNet(cmp.Or(o.net, runArg(args)))
			if err != nil {
				return err
			}
			nets := []*tools.Net{net}
			if o.untrained {
				nets = append(nets, &tools.Net{Net: nn.Init(net.Arch, o.Seed), Name: "untrained", Meta: net.Meta})
			}
			return o.measure(c, nets)
		},
	}
	f := c.Flags()
	f.StringVar(&o.net, "net", "", "examine this .safetensors file")
	f.IntVar(&o.Visits, "visits", 100, "visits of each move of the attacker")
	f.IntVar(&o.Moves, "moves", 50, "moves within which the mate must come")
	f.IntVar(&o.Questions, "questions", 1200, "held-out positions for the value head")
	f.IntVar(&o.Mates, "mates", 200, "won positions of each ending to play out")
	f.Uint64Var(&o.Seed, "seed", 1, "of the choice of positions, and of the untrained net")
	f.BoolVar(&o.untrained, "untrained", true, "examine an untrained net of the same form too")
	bindJSON(c, "one JSON object a net")
	bindPlayDevice(c, &o.device, "auto", &o.precision)
	return c
}

// measure examines the nets and prints what it found.
func (o *examOptions) measure(c *cobra.Command, nets []*tools.Net) error {
	tables := exam.Solve()
	set := tables.HeldOutSet(o.Questions, o.Seed)
	var reports []*exam.Report
	for _, net := range nets {
		tell(c)("examining %s", net.Name)
		player, err := readyNet(o.players, net)
		if err != nil {
			return err
		}
		r, err := tables.Measure(c.Context(), net.Name, player.NewEvaluator, player.Search(), set, o.Options)
		if err := errors.Join(err, player.Close()); err != nil {
			return err
		}
		reports = append(reports, r)
	}
	if !wantsJSON(c) {
		return exam.Write(c.OutOrStdout(), reports, o.Options)
	}
	device, precision := setup.DescribePlayers(o.players)
	for i, r := range reports {
		if err := printJSON(c, struct {
			Net       string `json:"net"`
			NetID     string `json:"net_id"`
			Seed      uint64 `json:"seed"`
			Visits    int    `json:"visits"`
			Moves     int    `json:"moves"`
			Device    string `json:"device"`
			Precision string `json:"precision"`
			*exam.Report
		}{r.Name, nets[i].ID(), o.Seed, o.Visits, o.Moves, device, precision, r}); err != nil {
			return err
		}
	}
	return nil
}
