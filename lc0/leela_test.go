package lc0

import (
	"bufio"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/nn/cpu"
	"github.com/chessbrain/chessbrain/nn/reference"
)

// TestAgainstLeela holds the whole path (file, rules, planes, tower, heads,
// policy indices) against what lc0's float32 backend says of nine positions. The
// tolerances are the rounding of the printed figures.
func TestAgainstLeela(t *testing.T) {
	dir := sharedData(t)
	net := readShared(t, filepath.Join(dir, "se32x2.pb.gz"))
	if net.Arch.String() != "32x2-se" {
		t.Errorf("the net is %s", net.Arch)
	}
	packed, err := cpu.New(net)
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
			p.check(t, name, b, i)
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
	near("V", b.WDL[i][0]-b.WDL[i][2], p.v, 1e-4)
	near("D", b.WDL[i][1], p.d, 1e-3)
	near("M", b.M[i], p.m, .1)
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
		near("P of "+encoding.PolicyString(idx), 100*b.PriorOf(i)[j], want, .02)
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
		var err error
		if start, err = chess.ParseFEN(fen); err != nil {
			t.Fatal(err)
		}
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

// With every weight of plane 109 in plies, the answer must move with rule50 as
// lc0's does; the file of this position has 13 plies. Wrong scaling shows in V.
func TestRule50Matters(t *testing.T) {
	net := readShared(t, filepath.Join(sharedData(t), "se32x2.pb.gz"))
	var masks [encoding.NumMasks]uint64
	at := func(plies uint8) []float64 { return reference.Forward(net, &masks, &encoding.Scalars{Rule50: plies}).Value }
	if slices.Equal(at(0), at(13)) {
		t.Error("the net does not look at plane 109: TestAgainstLeela would not see its scaling")
	}
}
