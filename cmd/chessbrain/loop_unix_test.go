//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckLoop lets scripts/check_loop.sh kill and check a small closed loop of
// each kind: chessbrain run, and scripts/synchronous_loop.sh.
func TestCheckLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("plays some hundred games")
	}
	for _, tool := range []string{"bash", "setsid", "pkill", "flock"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: there is no %s here, the scripts of the closed loop are NOT TESTED", tool)
		}
	}
	script, err := filepath.Abs("../../scripts/check_loop.sh")
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("chessbrain") // this test binary, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"run", "script"} {
		dir := filepath.Join(t.TempDir(), "with space", mode)
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(script, mode, dir)
		cmd.Env = append(os.Environ(), "CHESSBRAIN="+program, "CYCLES=3", "KILLS=2", "LONG_CYCLES=0", "LIMIT_MIB=2000")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), mode+": 2 kills") || !strings.Contains(string(out), "all well") {
			t.Errorf("%s: %v\n%s", mode, err, out)
			log, _ := os.ReadFile(filepath.Join(dir, mode+".txt"))
			t.Logf("it said:\n%s", log[max(0, len(log)-4000):])
		}
	}
}

// TestLoopScriptRefuses: what the script cannot do is said with exit code 2, before
// anything is made.
func TestLoopScriptRefuses(t *testing.T) {
	script, err := filepath.Abs("../../scripts/synchronous_loop.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"a b", "run"}, `NAMEOFRUN "a b"`},
		{[]string{"a", "--cycles"}, `BASEDIR "--cycles"`},
		{[]string{"a", "run", "main", "16x1", "2"}, `USEGATING "2"`},
		{[]string{"a", "run", "main", "16x1", "1", "--cycels", "3"}, "unknown flag: --cycels"},
		{[]string{"a", "run", "main", "b0c0"}, "b0c0"},
		{[]string{"a", "run", "main", "16x1", "1", "--rating-games", "3"}, "loop.rating.games"},
	} {
		dir := t.TempDir()
		cmd := exec.Command(script, c.args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CHESSBRAIN=chessbrain")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), c.want) {
			t.Errorf("%q: %v, want exit code 2 and %q:\n%s", c.args, err, c.want, out)
		}
		if made, err := os.ReadDir(dir); err != nil || len(made) > 0 {
			t.Errorf("%q made %v, %v", c.args, made, err)
		}
	}
}
