package tools

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run/setup"
	"github.com/chessbrain/chessbrain/trainer"
)

// fresh is the subject that a configuration begins with.
func fresh(t *testing.T, text string) *Subject {
	t.Helper()
	e := resolve(t, text)
	net, err := setup.InitialNet(e, e.Config.GetSeed())
	if err != nil {
		t.Fatal(err)
	}
	return NewSubject("fresh", net, e)
}

// Made-up rows of a small net are learnt; three steps are too few, and a head that
// gets no gradient is named although the sum has fallen.
func TestOverfit(t *testing.T) {
	s := fresh(t, fmt.Sprintf(tiny, t.TempDir()))
	opt := OverfitOptions{Rows: 16, Steps: 1500, LR: 0.05, Near: 0.05, Every: 100}
	r, err := Overfit(context.Background(), s, nil, opt, func(OverfitPoint) error { return nil })
	if err != nil || !r.Learnt || r.Rows != 16 || r.PolicyAccuracy != 1 || r.Floor != 0 {
		t.Fatalf("%v %+v", err, r)
	}
	first, last := r.Curve[0], r.Curve[len(r.Curve)-1]
	if last.Excess > 0.05*first.Excess || last.Losses["moves_left_loss"] > first.Losses["moves_left_loss"]/2 {
		t.Errorf("%+v -> %+v", first, last)
	}
	opt.Steps = 3
	points := 0
	r, err = Overfit(context.Background(), s, nil, opt, func(OverfitPoint) error { points++; return nil })
	if !errors.Is(err, ErrNotLearnt) || r.Learnt || points != 2 || len(r.Stuck) == 0 || !strings.Contains(err.Error(), "after 3 steps") {
		t.Errorf("three steps: %v, %d points", err, points)
	}
	warm := fresh(t, strings.Replace(fmt.Sprintf(tiny, t.TempDir()), "training {", "training { lr_rule { duration_steps: 100 lr: 0 lr: 0.03 transition: LINEAR }", 1))
	if r, _ = Overfit(context.Background(), warm, nil, OverfitOptions{Rows: 4, Steps: 1, Near: 0.05, Every: 1}, func(OverfitPoint) error { return nil }); r == nil || r.LR != 0.03 {
		t.Errorf("a schedule that begins at 0: %+v", r)
	}
	losses := []trainer.Loss{{Metric: "a", Weight: 1}, {Metric: "b", Weight: 0.1}, {Metric: "c", Weight: 1}}
	if got := stuck(losses, []float64{4, 0.1, 1e-4}, []float64{0.01, 0.09, 1e-4}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("stuck: %v", got)
	}
}

// The rows of a batch differ in their input, also where data hold a position more
// than once.
func TestFixedBatchIsDistinct(t *testing.T) {
	dir := sharedRun(t)
	s := openRun(t, dir)
	rows := openRows(t, s, dir)
	for name, r := range map[string]*Rows{"data": rows, "made up": nil} {
		b, err := fixedBatch(context.Background(), s, r, 40)
		if err != nil || b.N != 40 {
			t.Fatalf("%s: %d rows, %v", name, b.N, err)
		}
		seen := map[[2]uint64]bool{}
		for i := range b.N {
			hi, lo := encoding.Key128(&b.Masks[i], &b.Scalars[i])
			if seen[[2]uint64{hi, lo}] {
				t.Errorf("%s: row %d is there twice", name, i)
			}
			seen[[2]uint64{hi, lo}] = true
		}
	}
	if b, err := fixedBatch(context.Background(), s, rows, 500); err != nil || b.N >= 97 || b.N < 50 {
		t.Errorf("of 96 rows: %d, %v", b.N, err)
	}
}

// Four steps from 1e-3 to 1 have the rates 0.001, 0.01, 0.1, 1.
func TestRangeRates(t *testing.T) {
	o := RangeOptions{From: 1e-3, To: 1, Steps: 4}
	for i, want := range []float64{1e-3, 1e-2, 1e-1, 1} {
		if got := o.rates()[i]; math.Abs(got/want-1) > 1e-12 {
			t.Errorf("step %d: %v, want %v", i, got, want)
		}
	}
	for _, bad := range []RangeOptions{{0, 1, 100}, {1, 1, 100}, {2, 1, 100}, {1e-3, 1, 9}, {1e-3, 1, 20000}, {1e-3, math.Inf(1), 100}, {math.NaN(), 1, 100}} {
		if err := bad.Validate(); !isInput(err) {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// A smoothed loss that falls as a logistic curve of log10(lr) around 1e-3 and then
// rises: steepest at 1e-3, lowest where the rise begins.
func TestRangeJudgement(t *testing.T) {
	var r RangeResult
	for i := range 61 {
		x := -6 + float64(i)/10
		loss := 3 - 2/(1+math.Exp(-4*(x+3)))
		if x > -1 {
			loss += 10 * (x + 1)
		}
		r.Points = append(r.Points, RangePoint{LR: math.Pow(10, x), Smoothed: loss})
	}
	r.judge()
	if math.Abs(math.Log10(r.Steepest)+3) > 0.11 || math.Abs(math.Log10(r.Lowest)+1) > 0.11 {
		t.Errorf("steepest %v, lowest %v", r.Steepest, r.Lowest)
	}
	// Noise at the beginning, before the average has settled, is not taken for a descent.
	noisy := RangeResult{Points: slices.Clone(r.Points)}
	noisy.Points[0].Smoothed, noisy.Points[1].Smoothed = 30, 20
	if noisy.judge(); noisy.Steepest != r.Steepest {
		t.Errorf("noise at the beginning: %v instead of %v", noisy.Steepest, r.Steepest)
	}
	if s := slope([]RangePoint{{LR: 1, Smoothed: 5}, {LR: math.E, Smoothed: 3}, {LR: math.E * math.E, Smoothed: 1}}); math.Abs(s+2) > 1e-12 {
		t.Errorf("a slope of -2 is %v", s)
	}
	rising := RangeResult{Points: []RangePoint{{LR: 1, Smoothed: 1}, {LR: 2, Smoothed: 2}, {LR: 3, Smoothed: 3}}}
	rising.judge()
	if rising.Steepest != 0 {
		t.Errorf("a loss that never falls suggests %v", rising.Steepest)
	}
}

// The test trains, writes its steps as CSV, and leaves net and run alone.
func TestTuneLR(t *testing.T) {
	dir := sharedRun(t)
	s := openRun(t, dir)
	before, id := treeOf(t, dir, ""), s.Net.ID()
	r, err := TuneLR(context.Background(), s, openRows(t, s, dir), RangeOptions{From: 1e-4, To: 1e4, Steps: 60})
	if err != nil {
		t.Fatal(err)
	}
	if treeOf(t, dir, "") != before || s.Net.ID() != id {
		t.Error("something was changed")
	}
	if !r.Diverged || r.Steps >= 60 || r.Lowest <= 0 {
		t.Errorf("a rate of up to 10000: %+v", r)
	}
	var text bytes.Buffer
	if err := r.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(lines) != len(r.Points)+1 ||
		strings.Join(lines[0], ",") != "step,lr,loss,smoothed_loss,grad_norm,policy_loss,value_loss,moves_left_loss,l2_loss" || lines[1][1] != "0.0001" {
		t.Errorf("%v %v", err, lines[:2])
	}
}

// An epoch has every row once, in an order that the seed decides, and its cursor
// goes on where it was.
func TestEpochRows(t *testing.T) {
	dir := sharedRun(t)
	s := openRun(t, dir)
	rows := openRows(t, s, dir)
	want := map[string]int{}
	collect := func(src trainer.BatchSource, into map[string]int) (order []string) {
		b := encoding.NewTrainBatch(7)
		for {
			b.Reset()
			if err := src.Next(context.Background(), b); errors.Is(err, io.EOF) {
				return order
			} else if err != nil {
				t.Fatal(err)
			}
			for i := range b.N {
				key := fmt.Sprint(b.Masks[i], b.Scalars[i], b.PolicyOf(i), b.Targets[i], b.Weight[i])
				into[key]++
				order = append(order, key)
			}
		}
	}
	plain := collect(rows.Pass(0), want)
	got := map[string]int{}
	src, end := rows.Epoch()
	order := collect(src, got)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if len(order) != rows.window.Rows() || slices.Equal(order, plain) {
		t.Errorf("%d of %d rows, or in the order of the games", len(order), rows.window.Rows())
	}
	for key, n := range want {
		if got[key] != n {
			t.Fatalf("a row is there %d times instead of %d", got[key], n)
		}
	}
	e := newEpoch(rows.window.View(), &setup.Training{Seed: 1})
	e.next = 20
	var saved bytes.Buffer
	if err := e.Section().Save(&saved); err != nil {
		t.Fatal(err)
	}
	again := newEpoch(rows.window.View(), &setup.Training{Seed: 1})
	if err := again.Section().Load(&saved, 1); err != nil || again.next != 20 {
		t.Errorf("next row %d: %v", again.next, err)
	}
}

// A checkpoint goes on with its steps; all rows are trained on once, and nothing is
// written.
func TestTrainEpoch(t *testing.T) {
	dir := sharedRun(t)
	s := openRun(t, dir)
	before := treeOf(t, dir, "")
	points := 0
	r, err := TrainEpoch(context.Background(), s, openRows(t, s, dir), EpochOptions{Every: 10}, func(p EpochPoint) error {
		if points++; points == 1 && p.Step != 34 {
			t.Errorf("the first point is step %d, want 34", p.Step)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := int64(openRows(t, s, dir).window.Rows()); r.Rows != n || r.Steps != (n+3)/4 || !r.Ended || r.RowsPerSecond <= 0 || len(r.Losses) != 4 || points != int(r.Steps+9)/10 {
		t.Errorf("%+v of %d rows, %d points", r, n, points)
	}
	if treeOf(t, dir, "") != before {
		t.Error("something was written")
	}
	short, err := TrainEpoch(context.Background(), NewSubject("net", nn.Init(s.Net.Arch, 1), s.Effective), openRows(t, s, dir), EpochOptions{Steps: 2, Every: 10},
		func(EpochPoint) error { return nil })
	if err != nil || short.Ended || short.Steps != 2 || short.Rows != 8 {
		t.Errorf("two steps: %+v %v", short, err)
	}
}
