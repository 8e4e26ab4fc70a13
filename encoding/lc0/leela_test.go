package lc0

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/chesstest"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/internal/testing/reference"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/kernel"
)

// TestAgainstLeela holds the whole path (file, rules, planes, tower, heads,
// policy indices) against what lc0's float32 backend says of nine positions, and
// so a file that was written from what was read.
//
// V and M are what the net says, rounded: 4 and 1 decimals. P and D are printed
// after passes through quadratic approximations of 2^x and log2 (D through a WDL
// rescaling that is the identity but for them), whose relative error reaches
// 0.3 %: besides its rounding D is off by up to 0.003 as a smooth function of itself, P
// by 0.3 % of itself.
func TestAgainstLeela(t *testing.T) {
	dir := golden.Path(t, "leela")
	net := readShared(t, filepath.Join(dir, "se32x2.pb.gz"))
	if net.Arch.String() != "32x2-se" {
		t.Errorf("the net is %s", net.Arch)
	}
	againstLeela(t, "imported", dir, net)
	for _, e := range []LayerEncoding{Linear16, Float32} {
		for _, folded := range []bool{false, true} {
			again, _ := readBack(t, writtenNet(t, net, &NetInfo{Folded: folded}, e))
			againstLeela(t, fmt.Sprintf("exported as %s, folded %v", e, folded), dir, again)
		}
	}
}

// againstLeela evaluates lc0's positions with a net.
func againstLeela(t *testing.T, what, dir string, net *nn.Net) {
	t.Helper()
	packed, err := cpu.New(net, kernel.FP32)
	if err != nil {
		t.Fatal(err)
	}
	evaluators := map[string]interface {
		Evaluate(context.Context, *encoding.Batch) error
	}{"cpu": packed.NewEvaluator(16), "reference": &reference.Evaluator{Net: net}}
	positions := readEvals(t, filepath.Join(dir, "evals-se32x2.tsv"))
	if len(positions) != 9 {
		t.Errorf("%d positions", len(positions))
	}
	for name, e := range evaluators {
		b := encoding.NewBatch(len(positions))
		for _, p := range positions {
			var l chess.MoveList
			p.history.Board().GenerateMoves(&l)
			encoding.AppendPosition(b, p.history, &l)
		}
		if err := e.Evaluate(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		for i, p := range positions {
			p.check(t, what+", "+name, b, i)
		}
	}
}

// evaluated is a position and lc0's answer.
type evaluated struct {
	text    string
	history *chess.History
	v, d, m float64
	percent map[uint16]float64 // by policy index
}

func (p *evaluated) check(t *testing.T, name string, b *encoding.Batch, i int) {
	t.Helper()
	near := func(what string, got float32, want, tolerance float64) {
		if math.Abs(float64(got)-want) > tolerance {
			t.Errorf("%s, %s: %s is %v, want %v", name, p.text, what, got, want)
		}
	}
	near("V", b.WDL[i][0]-b.WDL[i][2], p.v, 6e-5)
	near("D", b.WDL[i][1], p.d, 3.5e-3)
	near("M", b.M[i], p.m, .051)
	legal := b.LegalOf(i)
	if len(legal) != len(p.percent) {
		t.Errorf("%s: %d legal moves, want %d", p.text, len(legal), len(p.percent))
	}
	for j, idx := range legal {
		want, ok := p.percent[idx]
		if !ok {
			t.Errorf("%s: policy index %d is not among lc0's", p.text, idx)
			continue
		}
		near("P of "+encoding.PolicyString(idx), 100*b.PriorOf(i)[j], want, .006+.003*want)
	}
}

func readShared(t *testing.T, path string) *nn.Net {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	net, _, err := ReadNet(f)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// readEvals reads lines of position, V, D, M and move:index:percent, separated
// by tabs.
func readEvals(t *testing.T, path string) []evaluated {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	var list []evaluated
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		fields := strings.Split(s.Text(), "\t")
		p := evaluated{text: fields[0], history: playLine(t, fields[0]), v: number(fields[1]), d: number(fields[2]), m: number(fields[3]), percent: map[uint16]float64{}}
		for _, move := range strings.Fields(fields[4]) {
			part := strings.Split(move, ":")
			p.percent[uint16(number(part[1]))] = number(part[2])
		}
		list = append(list, p)
	}
	return list
}

// playLine reads "startpos moves ..." or "fen FEN moves ...".
func playLine(t *testing.T, text string) *chess.History {
	t.Helper()
	position, moves, _ := strings.Cut(text, " moves ")
	start := chess.StartBoard()
	if fen, ok := strings.CutPrefix(position, "fen "); ok {
		start = chesstest.Board(t, fen)
	}
	h := chess.NewHistory(start)
	for _, s := range strings.Fields(moves) {
		m, err := h.Board().ParseUCI(s)
		if err != nil {
			t.Fatal(err)
		}
		h.Push(m)
	}
	return h
}

// Plane 109 is part of what TestAgainstLeela checks: one of its positions has 13
// plies, and unscaled weights would move V there beyond the tolerance.
func TestRule50Matters(t *testing.T) {
	net := readShared(t, golden.Path(t, "leela", "se32x2.pb.gz"))
	h := playLine(t, "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 13 1")
	var masks [encoding.NumMasks]uint64
	var s encoding.Scalars
	encoding.Encode(h, &masks, &s)
	right := reference.Forward(net, &masks, &s)
	s.Rule50 = 0 // what unscaled weights would see, nearly
	wrong := reference.Forward(net, &masks, &s)
	if d := math.Abs(right.WDL[0] - right.WDL[2] - wrong.WDL[0] + wrong.WDL[2]); d < 2e-4 {
		t.Errorf("V moves by %g only", d)
	}
}
