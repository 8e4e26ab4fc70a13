package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	unitVariable = regexp.MustCompile(`\$\{?([A-Z_]+)\}?`)
	unitFlag     = regexp.MustCompile(`--([a-z0-9-]+)`)
)

// TestUnits holds the systemd units against the program: each starts a command
// with flags that there are, or a script, and its variables are all in run.env.
func TestUnits(t *testing.T) {
	const dir = "../../scripts/systemd"
	env, err := os.ReadFile(filepath.Join(dir, "run.env"))
	if err != nil {
		t.Fatal(err)
	}
	units, err := filepath.Glob(filepath.Join(dir, "*.service"))
	if err != nil || len(units) != 5 {
		t.Fatalf("%d units, want 5: %v", len(units), err)
	}
	for _, path := range units {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unit := strings.ReplaceAll(string(text), "\\\n", "")
		for _, line := range []string{"KillMode=mixed", "SuccessExitStatus=5", "Restart=on-failure", "RestartPreventExitStatus=2 3", "EnvironmentFile=/etc/chessbrain/run.env"} {
			if !strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("%s lacks %s", path, line)
			}
		}
		_, start, ok := strings.Cut(unit, "\nExecStart=")
		start, _, _ = strings.Cut(start, "\n")
		words := strings.Fields(start)
		if !ok || len(words) < 2 {
			t.Fatalf("%s starts nothing", path)
		}
		for _, v := range unitVariable.FindAllStringSubmatch(start, -1) {
			if !strings.Contains(string(env), "\n"+v[1]+"=") {
				t.Errorf("%s: run.env has no %s", path, v[1])
			}
		}
		if name, script := strings.CutPrefix(words[0], "/usr/local/share/chessbrain/scripts/"); script {
			if _, err := os.Stat(filepath.Join("../../scripts", name)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		for _, flag := range unitFlag.FindAllStringSubmatch(start, -1) {
			if find(t, words[1]).Flags().Lookup(flag[1]) == nil {
				t.Errorf("%s: chessbrain %s has no flag --%s", path, words[1], flag[1])
			}
		}
	}
	for _, line := range strings.Split(string(env), "\n") {
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if file, ours := strings.CutPrefix(value, "/usr/local/share/chessbrain/"); ours {
			if _, err := os.Stat(filepath.Join("../..", file)); err != nil {
				t.Errorf("run.env: %s: %v", name, err)
			}
		}
		for command, variable := range map[string]string{"train": "TRAIN_FLAGS", "shuffle": "SHUFFLE_FLAGS"} {
			for _, flag := range unitFlag.FindAllStringSubmatch(value, -1) {
				if name == variable && find(t, command).Flags().Lookup(flag[1]) == nil {
					t.Errorf("run.env: %s: chessbrain %s has no flag --%s", name, command, flag[1])
				}
			}
		}
	}
}
