package setup

import (
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/kerneltest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run"
)

// TestPrecisionOfPlayers: a process that only plays is not warned of what only a
// trainer would miss.
func TestPrecisionOfPlayers(t *testing.T) {
	kerneltest.InTier(t, kernel.Generic)
	for text, warned := range map[string]bool{
		"--amp=true": true, "--amp=true --precision=fp32": false, "--precision=bf16": true, "--no-amp=true": false,
	} {
		e := runtest.Resolve(t, t.TempDir(), text)
		if got := LacksPrecision(e, false, true) != ""; got != warned {
			t.Errorf("%s: warned %v", text, got)
		}
	}
	want := run.Arithmetic{Kernels: "generic", ProducerPrecision: "fp32", ProducerDevice: "cpu"}
	if a := ArithmeticOf(runtest.Resolve(t, t.TempDir(), "").Config, false, true); a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
}
