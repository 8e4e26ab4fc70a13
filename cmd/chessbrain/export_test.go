package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/loop"
	"github.com/chessbrain/chessbrain/nn"
)

// executeLine runs a command line in this process and returns its standard output.
func executeLine(args ...string) (string, error) {
	root, out := newRoot(), new(bytes.Buffer)
	root.SetOut(out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

// TestExportCommand: a net handed over becomes a file that plays at once with
// --gating 0; the run directory is that of the nets; wrong flags exit with 2.
func TestExportCommand(t *testing.T) {
	base := t.TempDir()
	t.Chdir(t.TempDir())
	from := filepath.Join(base, "toexport")
	if err := os.MkdirAll(filepath.Join(from, "n"), 0o777); err != nil {
		t.Fatal(err)
	}
	a := nn.DefaultArch()
	a.Filters, a.Blocks, a.ValueChannels, a.ValueHidden, a.MLChannels, a.MLHidden = 8, 1, 4, 8, 2, 8
	f, err := os.Create(filepath.Join(from, "n", loop.HandedNet))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(nn.WriteSafetensors(f, nn.Init(a, 1), nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	args := []string{"export", "--models-dir", from, "--gating", "0", "--once", "--quiet"}
	out, err := executeLine(append(args, "--dry-run")...)
	if err != nil || !strings.Contains(out, filepath.Join(base, "models")+": 1 nets\n  n\n") {
		t.Fatalf("dry run: %v\n%s", err, out)
	}
	out, err = executeLine(args...)
	made := filepath.Join(base, "models", "n.safetensors")
	if err != nil || !strings.Contains(out, "n (raw) -> "+made+"\n1 nets exported") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := loop.ReadNet(made); err != nil {
		t.Error(err)
	}
	here, err := os.ReadDir(".")
	if err != nil || len(here) > 0 {
		t.Errorf("something was made in the working directory: %v, %v", here, err)
	}
	for want, args := range map[string][]string{
		"--gating": {"--gating", "maybe"}, "--poll": {"--poll", "0s"}, "keep one of the two": {"--once", "--poll", "1s"}, "--lock-wait": {"--lock-wait", "-1s"},
	} {
		if _, err := executeLine(append([]string{"export", "--run-dir", base}, args...)...); exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
