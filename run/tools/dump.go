package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/plugins/export/npz"
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
	net, err := setup.OpenTrainedNet(s.Effective.Config, s.Net)
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

// Write writes the dump in one of DumpFormats; w is better buffered.
func (d *Dump) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return d.writeJSON(w)
	case "npz":
		return d.writeNPZ(w)
	}
	return d.writeText(w)
}

// all are the rows: a batch and the number in it.
func (d *Dump) all(yield func(b *encoding.TrainBatch, i int) bool) {
	for _, b := range d.batches {
		for i := range b.N {
			if !yield(b, i) {
				return
			}
		}
	}
}

// shorter are the numbers of a FEN for runs of empty squares.
var shorter = strings.NewReplacer("11111111", "8", "1111111", "7", "111111", "6", "11111", "5", "1111", "4", "111", "3", "11", "2")

// pieces draws the newest board of a row as rows of a FEN from the side to move's
// view: its own pieces are upper case, the eighth rank is first.
func pieces(b *encoding.TrainBatch, i int) string {
	board := []byte(strings.Repeat("11111111/", 8))
	for p, letter := range []byte("PNBRQKpnbrqk") {
		for men := b.Masks[i][p]; men != 0; men &= men - 1 {
			square := bits.TrailingZeros64(men)
			board[9*(7-square/8)+square%8] = letter
		}
	}
	return shorter.Replace(strings.TrimSuffix(string(board), "/"))
}

// writeText prints every row for a person: board, values, and the moves in the
// order of their targets.
func (d *Dump) writeText(w io.Writer) error {
	n := 0
	for b, i := range d.all {
		s := &b.Scalars[i]
		fmt.Fprintf(w, "row %d  %s  black to move %d, castling %d%d%d%d (our O-O-O O-O, their), rule50 %d, weight %g\n",
			n, pieces(b, i), s.BlackToMove, s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.Rule50, b.Weight[i])
		for t, name := range targetNames {
			v := b.Targets[i][t]
			fmt.Fprintf(w, "  target %-7s Q %+.4f  D %.4f  M %.1f\n", name, v.Q, v.D, v.M)
		}
		wdl := b.WDL[i]
		fmt.Fprintf(w, "  net            Q %+.4f  D %.4f  M %.1f  (W %.4f L %.4f)\n", wdl[0]-wdl[2], wdl[1], b.M[i], wdl[0], wdl[2])
		target := b.PolicyOf(i)
		order := make([]int, len(target))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(target[y], target[x]) })
		for _, k := range order {
			m := b.LegalOf(i)[k]
			fmt.Fprintf(w, "  %-6s %4d  target %.4f  net %.4f\n", encoding.PolicyString(m), m, target[k], b.PriorOf(i)[k])
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		n++
	}
	return nil
}

// dumpRow is a row as one line of JSON. Everything is from the view of the side
// to move; unknown numbers are null.
type dumpRow struct {
	Row     int                `json:"row"`
	Pieces  string             `json:"pieces"` // newest board as rows of a FEN, own pieces upper case
	Masks   []jsonMask         `json:"masks"`  // planes 0..103 as bit masks, bit i = square i, a1 = 0
	Scalars dumpScalars        `json:"scalars"`
	Weight  float32            `json:"weight"`
	Targets map[string]dumpQDM `json:"targets"`
	Output  dumpOutput         `json:"output"`
	Moves   []dumpMove         `json:"moves"` // the legal ones
}

// jsonMask is a mask as a hexadecimal string: JSON numbers have 53 bits.
type jsonMask uint64

func (m jsonMask) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(m)), nil }

type dumpScalars struct {
	OurOOO      uint8 `json:"our_ooo"`
	OurOO       uint8 `json:"our_oo"`
	TheirOOO    uint8 `json:"their_ooo"`
	TheirOO     uint8 `json:"their_oo"`
	BlackToMove uint8 `json:"black_to_move"`
	Rule50      uint8 `json:"rule50"`
}

type dumpQDM struct {
	Q *float32 `json:"q"`
	D *float32 `json:"d"`
	M *float32 `json:"m"`
}

type dumpOutput struct {
	W float32 `json:"w"`
	D float32 `json:"d"`
	L float32 `json:"l"`
	M float32 `json:"m"`
}

type dumpMove struct {
	Move   string  `json:"move"`
	Index  uint16  `json:"index"`
	Target float32 `json:"target"`
	P      float32 `json:"p"`
}

// known is a number for JSON, nil where it is not known.
func known(x float32) *float32 {
	if x != x {
		return nil
	}
	return &x
}

// writeJSON writes one object a line.
func (d *Dump) writeJSON(w io.Writer) error {
	enc, n := json.NewEncoder(w), 0
	for b, i := range d.all {
		if err := enc.Encode(newDumpRow(n, b, i)); err != nil {
			return err
		}
		n++
	}
	return nil
}

func newDumpRow(n int, b *encoding.TrainBatch, i int) *dumpRow {
	s := &b.Scalars[i]
	r := &dumpRow{Row: n, Pieces: pieces(b, i), Weight: b.Weight[i], Targets: map[string]dumpQDM{},
		Scalars: dumpScalars{s.OurOOO, s.OurOO, s.TheirOOO, s.TheirOO, s.BlackToMove, s.Rule50},
		Output:  dumpOutput{b.WDL[i][0], b.WDL[i][1], b.WDL[i][2], b.M[i]}}
	for _, m := range b.Masks[i] {
		r.Masks = append(r.Masks, jsonMask(m))
	}
	for t, name := range targetNames {
		v := b.Targets[i][t]
		r.Targets[name] = dumpQDM{known(v.Q), known(v.D), known(v.M)}
	}
	for k, m := range b.LegalOf(i) {
		r.Moves = append(r.Moves, dumpMove{encoding.PolicyString(m), m, b.PolicyOf(i)[k], b.PriorOf(i)[k]})
	}
	return r
}

// illegal marks the policy target of moves that are not legal, as in Leela's
// records.
const illegal = -1

// array is one array of a dump: float32, little endian, C order, a row after the
// other.
type array struct {
	name  string
	shape []int // of one row
	fill  func(dst []float32, b *encoding.TrainBatch, i int)
}

// arrays are those of a dump with N rows:
//
//	inputs         [N,112,8,8] planes, square a1 first
//	policy_target  [N,1858] probabilities; -1 = not legal
//	value_targets  [N,6,3] Q, D, M of result, root, best, played, orig, st; NaN = not known
//	weight         [N]
//	policy         [N,1858] the net's probabilities, 0 = not legal
//	wdl            [N,3] the net's win, draw, loss
//	moves_left     [N] the net's, in plies
var arrays = []array{
	{"inputs", []int{encoding.NumPlanes, 8, 8}, func(dst []float32, b *encoding.TrainBatch, i int) {
		encoding.ExpandPlanes(dst, &b.Masks[i], &b.Scalars[i])
	}},
	{"policy_target", []int{encoding.NumPolicy}, func(dst []float32, b *encoding.TrainBatch, i int) {
		for k := range dst {
			dst[k] = illegal
		}
		for k, m := range b.LegalOf(i) {
			dst[m] = b.PolicyOf(i)[k]
		}
	}},
	{"value_targets", []int{int(encoding.NumTargets), 3}, func(dst []float32, b *encoding.TrainBatch, i int) {
		for t, v := range b.Targets[i] {
			dst[3*t], dst[3*t+1], dst[3*t+2] = v.Q, v.D, v.M
		}
	}},
	{"weight", nil, func(dst []float32, b *encoding.TrainBatch, i int) { dst[0] = b.Weight[i] }},
	{"policy", []int{encoding.NumPolicy}, func(dst []float32, b *encoding.TrainBatch, i int) {
		clear(dst)
		for k, m := range b.LegalOf(i) {
			dst[m] = b.PriorOf(i)[k]
		}
	}},
	{"wdl", []int{3}, func(dst []float32, b *encoding.TrainBatch, i int) { copy(dst, b.WDL[i][:]) }},
	{"moves_left", nil, func(dst []float32, b *encoding.TrainBatch, i int) { dst[0] = b.M[i] }},
}

// writeNPZ writes the arrays as numpy.savez_compressed does.
func (d *Dump) writeNPZ(w io.Writer) error {
	z := npz.NewWriter(w)
	for _, a := range arrays {
		size := 1
		for _, n := range a.shape {
			size *= n
		}
		values, raw := make([]float32, size), make([]byte, 0, 4*size)
		if err := z.Array(a.name, npz.Float32, append([]int{d.rows}, a.shape...), func(out io.Writer) error {
			for b, i := range d.all {
				a.fill(values, b, i)
				raw = npz.Append(raw[:0], values...)
				if _, err := out.Write(raw); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return z.Close()
}
