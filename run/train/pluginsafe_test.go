package train

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// trap puts programs of these names into a directory that leave a mark where they
// are started. It returns what says whether one was.
func trap(t *testing.T, dir string, names ...string) (started func() bool) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(t.TempDir(), "started")
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "#!/bin/sh\n: >'%s'\nexit 1\n", mark), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return func() bool {
		_, err := os.Stat(mark)
		return err == nil
	}
}

// TestRunDirIsData: programs in plugins/ of a run directory are run by nobody who
// does not name that directory, not even under the names of built-in stages, by
// which every run setup.Uses them. The log of the start says that they are there.
func TestRunDirIsData(t *testing.T) {
	dir := t.TempDir() + "/run"
	started := trap(t, dir+"/plugins", "uniform", "safetensors", "identity", "mine")
	s, log := train(t, dir, "--rescorer=identity --episodes=2")
	if s.Steps == 0 || !strings.Contains(log, "level=WARN msg=\"programs in a run directory are not used unless you name their directory\" dir="+dir+"/plugins") {
		t.Errorf("the log does not say that programs lie there:\n%s", log)
	}
	e := runtest.Resolve(t, dir, "--rescorer=identity")
	var page bytes.Buffer
	if err := errors.Join(setup.DryRun(e, &page), setup.DryRunSelfPlay(e, &page)); err != nil || strings.Contains(page.String(), dir+"/plugins") {
		t.Errorf("dry runs: %v\n%s", err, page.String())
	}
	for _, kinds := range [][]stage.Kind{{stage.KindRescorer, stage.KindSampler, stage.KindExporter}, {stage.KindExporter}, {stage.KindSampler}} {
		stages, err := setup.OpenKinds(t.Context(), e, dir, slog.New(slog.DiscardHandler), kinds...)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range stages.Infos() {
			if i.Path != "" {
				t.Errorf("%s", i)
			}
		}
		if err := stages.Close(); err != nil {
			t.Error(err)
		}
	}
	h, err := host.New(setup.HostOptions(nil, dir, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if programs, err := h.Programs(); err != nil || len(programs) != 0 {
		t.Errorf("%v, %v", programs, err)
	}
	if _, err := h.Rescorer(t.Context(), stage.Choice{Name: "mine"}); !errors.Is(err, host.ErrUnknown) {
		t.Error(err)
	}
	if started() {
		t.Error("a program of the run directory was started")
	}
}

// TestDryRunStartsNothing: also where the user named the directory. A program of a
// built-in name is warned of; one that others can write is refused.
func TestDryRunStartsNothing(t *testing.T) {
	root := t.TempDir()
	programs := root + "/programs"
	started := trap(t, programs, "mine", "uniform")
	games := root + "/games"
	train(t, games, "")
	loader := strings.Replace(graph(run.Dir{Root: games}.Selfplay(), "epochs: 1"), `stage { name: "unpack" input: "pool"`,
		`stage { name: "program" input: "pool" plugin { name: "mine" } }
  stage { name: "unpack" input: "program"`, 1)
	for _, more := range []string{"--rescorer=mine --sampler=uniform", "--source=dir --source-dir=" + run.Dir{Root: games}.Selfplay() + " --rescorer=mine --sampler=uniform", "--source=loader " + loader} {
		e := runtest.Resolve(t, root+"/run", more+" --plugin-dir="+programs)
		var page bytes.Buffer
		if err := setup.DryRun(e, &page); err != nil {
			t.Errorf("%s: %v", more, err)
		}
		warned := strings.Contains(page.String(), "\nwarning: sampler uniform: the program "+programs+"/uniform takes the place of the built-in one, if it is a sampler\n")
		if uses := strings.Contains(more, "--sampler"); warned != uses {
			t.Errorf("%s:\n%s", more, page.String())
		}
	}
	if err := setup.DryRunSelfPlay(runtest.Resolve(t, root+"/run", "--rescorer=mine --plugin-dir="+programs), &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
	if _, err := setup.LookAtStages(runtest.Resolve(t, root+"/run", "--exporter=mine --plugin-dir="+programs), setup.Uses{stage.KindExporter: setup.Opened}); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(programs, 0o777); err != nil {
		t.Fatal(err)
	}
	_, _, trained := tryTrain(t, t.Context(), root+"/run", "--plugin-dir="+programs)
	dry := setup.DryRun(runtest.Resolve(t, root+"/run", "--plugin-dir="+programs), &bytes.Buffer{})
	for _, err := range []error{trained, dry} {
		if _, ok := errors.AsType[*host.Error](err); !ok || !errors.Is(err, host.ErrUnsafe) || !strings.Contains(err.Error(), "chmod go-w "+programs) {
			t.Errorf("a directory that all can write: %v", err)
		}
	}
	if started() {
		t.Error("a program was started")
	}
}
