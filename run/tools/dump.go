package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/run/setup"
)

// DumpFormats are the forms of a dump.
var DumpFormats = []string{"text", "json", "npz"}

// MaxDumpRows bounds a dump, whose rows are held in memory (some 2 KB each).
const MaxDumpRows = 100_000

// targetNames name the value targets, in the order of encoding.Target.
var targetNames = [encoding.NumTargets]string{"result", "root", "best", "played", "orig", "st"}

// Dump collects the rows of an evaluation with the net's answers.
type Dump struct {
	batches []*encoding.TrainBatch
	rows    int
	net     *setup.NetPlayer
	eval    setup.Evaluator
	ctx     context.Context
}

// dumpBatch is the most positions that a dump's net answers at once on the CPU.
const dumpBatch = 256

// NewDump returns a dump of what the subject's net says, in fp32, on the device that
// its configuration trains on. The caller closes it.
func NewDump(ctx context.Context, s *Subject) (*Dump, error) {
	c := config.Defaults()
	trainers, fp32 := "auto", config.SelfPlay_FP32
	c.Training.Device = s.Effective.Config.GetTraining().Device
	c.Selfplay.ProducerDevice, c.Selfplay.Precision = &trainers, &fp32
	net, err := setup.OpenNetPlayer(c, s.Net)
	if err != nil {
		return nil, fmt.Errorf("answers for the dump: %w", err)
	}
	eval, err := net.Evaluator(dumpBatch)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("answers for the dump: %w", err), net.Close())
	}
	return &Dump{net: net, eval: eval, ctx: ctx}, nil
}

// Close gives the net's device back; what was kept can still be written.
func (d *Dump) Close() error { return d.net.Close() }

// Keep evaluates a batch and keeps it; it is EvalOptions.Keep.
func (d *Dump) Keep(b *encoding.TrainBatch) error {
	if d.rows += b.N; d.rows > MaxDumpRows {
		return inputError{fmt.Errorf("a dump of more than %d rows; say with --batches how many", MaxDumpRows)}
	}
	if err := d.eval.Evaluate(d.ctx, &b.Batch); err != nil {
		return fmt.Errorf("answers for the dump: %w", err)
	}
	d.batches = append(d.batches, b)
	return nil
}

// Write writes the dump in one of DumpFormats.
func (d *Dump) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return d.writeJSON(w)
	case "npz":
		return d.writeNPZ(w)
	}
	return d.writeText(w)
}

// each calls fn for all rows with their number.
func (d *Dump) each(fn func(n int, b *encoding.TrainBatch, i int) error) error {
	n := 0
	for _, b := range d.batches {
		for i := range b.N {
			if err := fn(n, b, i); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

// pieces draws the newest board of a row as rows of a FEN from the side to move's
// view: its own pieces are upper case, the eighth rank is first.
func pieces(b *encoding.TrainBatch, i int) string {
	const letters = "PNBRQKpnbrqk"
	var sb strings.Builder
	for rank := 7; rank >= 0; rank-- {
		empty := 0
		for file := range 8 {
			letter := byte(0)
			for p := range len(letters) {
				if b.Masks[i][p]>>(8*rank+file)&1 == 1 {
					letter = letters[p]
				}
			}
			if letter == 0 {
				empty++
				continue
			}
			if empty > 0 {
				sb.WriteByte(byte('0' + empty))
				empty = 0
			}
			sb.WriteByte(letter)
		}
		if empty > 0 {
			sb.WriteByte(byte('0' + empty))
		}
		if rank > 0 {
			sb.WriteByte('/')
		}
	}
	return sb.String()
}

// writeText prints every row for a person: board, values, and the moves in the
// order of their targets.
func (d *Dump) writeText(w io.Writer) error {
	out := bufio.NewWriter(w)
	err := d.each(func(n int, b *encoding.TrainBatch, i int) error {
		s := &b.Scalars[i]
		fmt.Fprintf(out, "row %d  %s  black to move %d, castling %d%d%d%d (our O-O-O O-O, their), rule50 %d, weight %g\n",
			n, pieces(b, i), s.BlackToMove, s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.Rule50, b.Weight[i])
		for t, name := range targetNames {
			v := b.Targets[i][t]
			fmt.Fprintf(out, "  target %-7s Q %+.4f  D %.4f  M %.1f\n", name, v.Q, v.D, v.M)
		}
		wdl := b.WDL[i]
		fmt.Fprintf(out, "  net            Q %+.4f  D %.4f  M %.1f  (W %.4f L %.4f)\n", wdl[0]-wdl[2], wdl[1], b.M[i], wdl[0], wdl[2])
		order := make([]int, len(b.LegalOf(i)))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(x, y int) int {
			switch p := b.PolicyOf(i); {
			case p[x] > p[y]:
				return -1
			case p[x] < p[y]:
				return 1
			}
			return 0
		})
		for _, k := range order {
			m := b.LegalOf(i)[k]
			fmt.Fprintf(out, "  %-6s %4d  target %.4f  net %.4f\n", encoding.PolicyString(m), m, b.PolicyOf(i)[k], b.PriorOf(i)[k])
		}
		_, err := fmt.Fprintln(out)
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}
