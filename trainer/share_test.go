package trainer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
)

func shares(t *testing.T, text string) Schedule {
	t.Helper()
	s, err := ParseShares(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMixAt: lines between the points, in stairs of 16 steps, and never quite 0 or 1.
func TestMixAt(t *testing.T) {
	m := &Mix{QRatio: .25}
	near(t, "no schedule", m.At(7), .25, 0)
	m.Schedule = shares(t, " 1@0, 0.5@160,0@320 ")
	for step, want := range map[int64]float64{0: 1, 15: 1, 16: .95, 31: .95, 80: .75, 160: .5, 240: .25, 319: .05, 320: 0, 1e15: 0} {
		near(t, fmt.Sprint("step ", step), m.At(step), want, 2*leastShare)
		if r := float32(m.At(step)); r <= 0 || r >= 1 {
			t.Errorf("step %d has share %v, which asks for one part alone", step, r)
		}
	}
	if m.Schedule = shares(t, "0.6@0"); m.At(0) != .6 || m.At(1e9) != .6 {
		t.Errorf("one point is not the share of all steps: %v", m.Schedule)
	}
	if s, err := ParseShares(" "); s != nil || err != nil {
		t.Errorf("an empty text is %v, %v", s, err)
	}
}

func TestParseSharesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"0.6":            `point 1, "0.6", must be SHARE@STEP`,
		"1@0,":           `point 2, "", must be SHARE@STEP`,
		"1@0,x@5":        `point 2, "x@5", must be`,
		"1@0,0.5@9.5":    `point 2, "0.5@9.5", must be`,
		"1@0,1.5@9":      "point 2 is 1.5, allowed is 0 to 1",
		"nan@0":          "point 1 is NaN, allowed",
		"-0.1@0":         "point 1 is -0.1, allowed",
		"1@5":            "first point is at step 5, must be at 0",
		"1@-5":           "first point is at step -5, must be at 0",
		"1@0,0@9,0.5@9":  "point 3 is at step 9, not after point 2 at 9",
		"1@0,0.5@1,1@-1": "point 3 is at step -1, not after point 2 at 1",
	} {
		if _, err := ParseShares(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// mixed is a configuration whose value has a blend of result and root.
func mixed(arch nn.Arch, m Mix) Config {
	cfg := exactConfig(arch, 16)
	m.Other = encoding.TargetRoot
	cfg.Losses[1].Target, cfg.Losses[1].Mix = encoding.TargetResult, &m
	return cfg
}

// TestShareOfStep: a step and a validation have the share of their time, as if it were so
// throughout. Rows that know one part alone count at each of them.
func TestShareOfStep(t *testing.T) {
	arch := nntest.TinyArch()
	schedule := Mix{Schedule: shares(t, "1@0,0@32")}
	for step, share := range map[int64]float64{0: 1 - leastShare, 15: 1 - leastShare, 16: .5, 32: leastShare} {
		now := newTestTrainer(t, nn.Init(arch, 1), mixed(arch, schedule))
		throughout := newTestTrainer(t, nn.Init(arch, 1), mixed(arch, Mix{QRatio: share}))
		var rows [2]int
		var losses [2]EvalStats
		for i, tr := range []*Trainer{now, throughout} {
			if err := tr.Continue(Continuation{Steps: step}); err != nil {
				t.Fatal(err)
			}
			var err error
			if losses[i], err = tr.Evaluate(context.Background(), newRowsSource(3, 16, 4), 64); err != nil {
				t.Fatal(err)
			}
			rows[i] = mustStep(t, tr, newRowsSource(4, 16, 1)).Measures.Losses[1].N
		}
		if losses[0].Losses[1] != losses[1].Losses[1] || rows[0] != rows[1] {
			t.Errorf("step %d: validation %+v of %d rows a step, with share %v throughout %+v of %d", step, losses[0].Losses[1], rows[0], share, losses[1].Losses[1], rows[1])
		}
		sameBits(t, fmt.Sprint("after step ", step), now.Net(), throughout.Net())
	}
}

// TestShareAfterRestart: a run that goes on from a checkpoint takes the steps that it would
// have taken, also where the share has changed since.
func TestShareAfterRestart(t *testing.T) {
	arch := nntest.TinyArch()
	cfg := mixed(arch, Mix{Schedule: shares(t, "1@0,0.25@48")})
	first, src := newTestTrainer(t, nn.Init(arch, 1), cfg), newRowsSource(5, 16, -1)
	for range 20 {
		mustStep(t, first, src)
	}
	second := newTestTrainer(t, nn.Init(arch, 2), cfg)
	if err := second.Section().Load(bytes.NewReader(saveOf(t, first)), SectionVersion); err != nil {
		t.Fatal(err)
	}
	again := newRowsSource(5, 16, -1)
	for range 20 {
		if err := again.Next(context.Background(), encoding.NewTrainBatch(16)); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		a, b := mustStep(t, first, src), mustStep(t, second, again)
		if a.Objective != b.Objective {
			t.Fatalf("step %d: objective %v, after the restart %v", a.Step, a.Objective, b.Objective)
		}
	}
	sameBits(t, "net", first.Net(), second.Net())
}
