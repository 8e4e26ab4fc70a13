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

// oldNet is the id of the net that comes of the run at nine episodes. It was that of the
// last program with a package loop, bit for bit, until games that are cut lost their
// plies-left targets: with them it was e83f9974..., which this program also made.
const oldNet = "f743fa1bb6f52b41651a3e46b78e1d46eb14ae75ffb20a9b18c21f1dc2eda519"

// TestOldRun: a run that an older program began goes on to the same net, bit for bit,
// whatever is changed: its games, its checkpoint with averaged weights and
// the state of a sampler, its journal and its configuration are read as they are.
func TestOldRun(t *testing.T) {
	if testing.Short() {
		t.Skip("one training, its figures bit by bit")
	}
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
		t.Errorf("the net is %s, want %s\n%s", got, oldNet, log.String())
	}
}
