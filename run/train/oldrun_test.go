package train

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/golden"
	"github.com/chessbrain/chessbrain/internal/testing/kerneltest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn/kernel"
	"github.com/chessbrain/chessbrain/run/setup"
)

// oldNet is the id of the net that an older program, the last one with a
// package loop, wrote when it went on from the same run to nine episodes.
const oldNet = "e83f99745d6cb561e69881396e22a2dca971394b905263f6016aeee0059e2195"

// TestOldRun: a run that an older program began goes on to the net that the older
// program came to, bit for bit: its games, its checkpoint with averaged weights and
// the state of a sampler, its journal and its configuration are read as they are.
func TestOldRun(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the older program ran on amd64; elsewhere Go may fuse a product and a sum, which rounds otherwise")
	}
	kerneltest.InTier(t, kernel.Generic)
	dir := filepath.Join(t.TempDir(), "oldrun") // the name of the run is its job's
	if err := os.CopyFS(dir, os.DirFS(golden.Path(t, "oldrun"))); err != nil {
		t.Fatal(err)
	}
	flags := config.NewFlagSet(config.TrainGroups...)
	if err := errors.Join(flags.Lookup("run-dir").Set(dir), flags.Lookup("episodes").Set("9")); err != nil {
		t.Fatal(err)
	}
	e, err := config.Resolve(config.Input{Path: filepath.Join(dir, "config.textproto"), Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	_, err = Train(t.Context(), Options{Training: setup.TrainingOf(e), Command: "test", Version: "test", Log: runtest.LogTo(&log)})
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	got := netID(t, filepath.Join(dir, "models", "oldrun-main-s96-d106.safetensors"))
	if got != oldNet {
		t.Errorf("the net is %s, the older program's %s\n%s", got, oldNet, log.String())
	}
}
