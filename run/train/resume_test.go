package train

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/kerneltest"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// TestArithmeticIsShown: log, run.json and status say what is computed with, and
// one warning says that bf16 is not there.
func TestArithmeticIsShown(t *testing.T) {
	kerneltest.InTier(t, kernel.Generic)
	dir := t.TempDir() + "/run"
	_, log := train(t, dir, "--episodes=1 --amp=true --precision=bf16")
	if !strings.Contains(log, "kernels=generic precision=fp32 producer_precision=fp32") {
		t.Errorf("the devices line lacks the precision:\n%s", log)
	}
	if n := strings.Count(log, "level=WARN"); n != 1 || !strings.Contains(log, "bf16 was asked for (training.amp from --amp)") {
		t.Errorf("%d warnings, want one about --amp:\n%s", n, log)
	}
	_, info, err := setup.OpenDir(dir)
	if want := (run.Arithmetic{Kernels: "generic", Precision: "fp32", ProducerPrecision: "fp32", Device: "cpu", ProducerDevice: "cpu"}); err != nil || info.Arithmetic != want {
		t.Errorf("run.json: %+v, %v", info.Arithmetic, err)
	}
	text, err := json.Marshal(Page{Arithmetic: info.Arithmetic})
	if err != nil || !strings.Contains(string(text), `"precision":"fp32"`) {
		t.Errorf("status %s, %v", text, err)
	}
}

// TestArithmeticAtResume: other kernels or another precision are logged, and
// refused under --deterministic.
func TestArithmeticAtResume(t *testing.T) {
	if kernel.BestTier() == kernel.Generic {
		t.Skip("SKIPPED: this CPU has no second tier")
	}
	kerneltest.InTier(t, kernel.BestTier())
	free, fixed := t.TempDir()+"/free", t.TempDir()+"/fixed"
	train(t, free, "--episodes=1")
	train(t, fixed, "--episodes=1 --deterministic=true")
	kerneltest.InTier(t, kernel.Generic)
	change := "kernels in use: " + kernel.BestTier().String() + " -> generic"
	if _, log := train(t, free, "--episodes=2"); !strings.Contains(log, change) {
		t.Errorf("no %q in the log:\n%s", change, log)
	}
	_, _, err := tryTrain(t, t.Context(), fixed, "--episodes=2 --deterministic=true")
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) || coded.ExitCode() != 2 || !strings.Contains(err.Error(), change) {
		t.Errorf("deterministic: %v", err)
	}
	if _, log := train(t, fixed, "--episodes=2"); !strings.Contains(log, change) {
		t.Errorf("no %q in the log:\n%s", change, log)
	}
}

// TestPrecision: what each setting means where there are bf16 products, where these are
// faster, and where there are none, and whether that needs a word.
func TestPrecision(t *testing.T) {
	for _, tier := range []kernel.Tier{kernel.Generic, kernel.BestTier()} {
		kerneltest.InTier(t, tier)
		has, usual := "fp32", "fp32"
		if kernel.HasBF16() {
			has = "bf16"
		}
		if kernel.PrefersBF16() {
			usual = "bf16"
		}
		for _, c := range []struct {
			text, trainer, players string
			asked                  string // field that asks for bf16
		}{
			{"seed: 7", usual, usual, ""},
			{"training { amp: ON }", has, has, "training.amp"},
			{"training { amp: OFF }", "fp32", "fp32", ""},
			{"training { amp: BF16 }", has, has, "training.amp"},
			{"training { amp: FP16 }", "fp32", "fp32", "training.amp"}, // no CPU has it
			{"selfplay { precision: FP16 }", usual, "fp32", "selfplay.precision"},
			{"selfplay { precision: FP32 }", usual, "fp32", ""},
			{"selfplay { precision: BF16 }", usual, has, "selfplay.precision"},
			{"selfplay { precision: FP32 } training { amp: ON }", has, "fp32", "training.amp"},
			{"selfplay { precision: BF16 } training { amp: OFF }", "fp32", "fp32", ""},
		} {
			file, err := config.Parse("test.textproto", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			e, err := config.Resolve(config.Input{File: file})
			if err != nil {
				t.Fatal(err)
			}
			want := run.Arithmetic{Kernels: tier.String(), Precision: c.trainer, ProducerPrecision: c.players, Device: "cpu", ProducerDevice: "cpu"}
			if a := setup.ArithmeticOf(e.Config, true, true); a != want {
				t.Errorf("%s: %+v, want %+v", c.text, a, want)
			}
			warning := setup.LacksPrecision(e, true, true)
			if wanted := c.asked != "" && (has == "fp32" || strings.Contains(c.text, "FP16")); (warning != "") != wanted || wanted && !strings.Contains(warning, c.asked) {
				t.Errorf("%s in tier %s: warning %q", c.text, tier, warning)
			}
		}
	}
}

func TestPositions(t *testing.T) {
	dir := t.TempDir() + "/run"
	train(t, dir, "--episodes=3")
	all, err := setup.Positions(t.Context(), dir, 1000, 1)
	if err != nil || all.N < 3 || all.N > 36 {
		t.Fatalf("%d positions of 3 games of at most 12 plies: %v", all.N, err)
	}
	some, err := setup.Positions(t.Context(), dir, 3, 1)
	if err != nil || some.N != 3 {
		t.Fatalf("%d positions, %v", some.N, err)
	}
	again, err := setup.Positions(t.Context(), dir, 3, 1)
	if err != nil || !slices.Equal(some.Masks[:3], again.Masks[:3]) {
		t.Errorf("the same seed draws others: %v", err)
	}
	other, err := setup.Positions(t.Context(), dir, 3, 2)
	if err != nil || slices.Equal(some.Masks[:3], other.Masks[:3]) {
		t.Errorf("another seed draws the same: %v", err)
	}
	if _, err := setup.Positions(t.Context(), t.TempDir(), 3, 1); err == nil {
		t.Error("positions of no run")
	}
}
