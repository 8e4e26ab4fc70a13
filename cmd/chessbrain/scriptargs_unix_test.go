//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// scriptNames are the scripts that a person starts, as paths below scripts/.
func scriptNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.sh", "*.py", "demo/*.sh"} {
		found, err := filepath.Glob(filepath.Join("../../scripts", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no scripts/%s: %v", pattern, err)
		}
		for _, path := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(path), "../../scripts/"))
		}
	}
	return names
}

// nothingToStart is an environment in which a script that builds or starts anything
// fails.
func nothingToStart(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(os.Environ(), "CHESSBRAIN=/nowhere/chessbrain", "GO=/nowhere/go")
	return cmd
}

// variables are those that the environment may set: ${NAME:-default} and its like.
var variables = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*):?[-?+]`)

// TestScriptsHelp: each script answers -h and --help, wherever they stand, with its
// arguments and every variable that it reads, and does nothing else.
func TestScriptsHelp(t *testing.T) {
	for _, name := range scriptNames(t) {
		path, err := filepath.Abs(filepath.Join("../../scripts", name))
		if err != nil {
			t.Fatal(err)
		}
		text := filetest.Read(t, path)
		interpreter := "bash"
		if strings.HasSuffix(name, ".py") {
			interpreter = "python3"
		}
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(interpreter); err != nil {
				t.Skipf("SKIPPED: there is no %s here, the help of %s is NOT TESTED", interpreter, name)
			}
			for _, args := range [][]string{{"-h"}, {"--help"}, {"1", "run", "main", "16x1", "1", "--help"}} {
				cmd := nothingToStart(exec.Command(interpreter, append([]string{path}, args...)...))
				cmd.Dir = t.TempDir()
				var out, errs strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Run(); err != nil || errs.Len() > 0 || !strings.Contains(out.String(), filepath.Base(name)) {
					t.Errorf("%q: %v, said %q and on stderr %q", args, err, out.String(), errs.String())
				}
				for _, v := range variables.FindAllStringSubmatch(string(text), -1) {
					if !strings.Contains(out.String(), v[1]) && v[1] != "SCREEN_PID" { // bash's own, of coproc SCREEN
						t.Errorf("%q does not tell of $%s", args, v[1])
					}
				}
				if made, err := os.ReadDir(cmd.Dir); err != nil || len(made) > 0 {
					t.Errorf("%q made %v, %v", args, made, err)
				}
			}
		})
	}
}

// TestScriptsRefuseDashes: what begins with - is no name and no directory.
func TestScriptsRefuseDashes(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("SKIPPED: there is no bash here, the scripts' arguments are NOT TESTED")
	}
	var tried []string
	for _, line := range []string{
		"amx_emulated.sh -x", "bench_peers.sh -x", "bench_plugins.sh -x", "build_cuda.sh -x", "check_cuda.sh -x", "check_lc0.sh -x",
		"check_loop.sh -x", "check_loop.sh run -x", "demo/run_training_cycle.sh -x", "emulated_gpu.sh -x", "endgames.sh -x", "first_gpu.sh -x", "first_gpu.sh pack -x",
		"export_model_for_selfplay.sh -x base 1", "export_model_for_selfplay.sh a -x 1",
		"external_games.sh -x", "fuzz.sh -x", "learn_chess.sh -x", "precision_curves.sh -x", "producers.sh 1 -x", "producers.sh stop -x", "speedrun.sh -x", "watch_pictures.sh -x .",
		"shuffle.sh -x tmp 1", "shuffle.sh base -x 1",
		"shuffle_and_export_loop.sh -x base tmp 1 128 1", "shuffle_and_export_loop.sh a -x tmp 1 128 1", "shuffle_and_export_loop.sh a base -x 1 128 1",
		"synchronous_loop.sh -x", "synchronous_loop.sh a -x", "synchronous_loop.sh a run -x", "synchronous_loop.sh a run main -x",
		"test_pipeline.sh -x", "train.sh -x main b6c64 128 main", "train.sh base -x b6c64 128 main", "train.sh base main -x 128 main",
	} {
		words := strings.Fields(line)
		tried = append(tried, words[0])
		cmd := nothingToStart(loopScript(t, t.TempDir(), words[0], words[1:]...))
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || strings.Contains(string(out), "/nowhere") {
			t.Errorf("%s: %v, want exit code 2 before a program is looked for:\n%s", line, err, out)
		}
		if made, err := os.ReadDir(cmd.Dir); err != nil || len(made) > 0 {
			t.Errorf("%s made %v, %v", line, made, err)
		}
	}
	for _, name := range scriptNames(t) {
		if !slices.Contains(tried, name) && !strings.HasSuffix(name, ".py") { // its arguments are numbers and argparse's
			t.Errorf("no line for %s", name)
		}
	}
}
