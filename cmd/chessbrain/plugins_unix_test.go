//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/host"
)

// TestSwap replaces stages of a run at work: a new one takes over, one that
// cannot be had changes nothing, and the run's configuration follows.
func TestSwap(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "runs/chessbrain")
	if err := os.MkdirAll(filepath.Join(run, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(host.DirEnv, filepath.Join(run, "plugins")) // nobody searches there by himself
	program := "#!/bin/sh\n" + serveVar + "=policy-temperature exec chessbrain\n"
	if err := os.WriteFile(filepath.Join(run, "plugins/policy-temperature"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	swap := func(args ...string) (string, error) {
		cmd := exec.Command("chessbrain", append([]string{"plugins", "swap", run}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := swap("rescorer", "identity"); err == nil || !strings.Contains(out, "is not a run directory") {
		t.Errorf("before the run: %v: %s", err, out)
	}
	p := start(t, dir, endless...)
	p.waitFor("training phase=")
	for _, c := range []struct {
		args []string
		want string // "" = it is taken
	}{
		{[]string{"rescorer", "plies-left,policy-temperature", "--set", "policy-temperature.temperature=1.25"}, ""},
		{[]string{"sampler", "nosuch"}, `unknown sampler "nosuch"`},
		{[]string{"rescorer", "deblunder", "--set", "deblunder.threshold=3"}, `threshold: "3", want a number from 0 to 2`},
		{[]string{"exporter", "lc0"}, ""},
	} {
		out, err := swap(c.args...)
		if c.want == "" && (err != nil || !strings.Contains(out, `"type":"ok"`)) {
			t.Errorf("swap %v: %v: %s", c.args, err, out)
		}
		if c.want != "" && (err == nil || !strings.Contains(out, c.want)) {
			t.Errorf("swap %v: %v: %s, want %q", c.args, err, out, c.want)
		}
	}
	if out, err := ctl(dir, "stop"); err != nil {
		t.Errorf("ctl stop: %v: %s", err, out)
	}
	if code, rest := p.exit(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, rest)
	}
	data := filetest.Read(t, filepath.Join(run, "config.textproto"))
	for _, want := range []string{`"plies-left"`, `"policy-temperature"`, `"1.25"`, `exporter: "lc0"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in the run's configuration", want)
		}
	}
	if regexp.MustCompile(`(?m)^[^#]*"deblunder"`).Match(data) {
		t.Error("the configuration names a stage that was refused")
	}
	if out, err := swap("sampler", "uniform"); err == nil || !strings.Contains(out, "nobody trains in") {
		t.Errorf("after the run: %v: %s", err, out)
	}
}
