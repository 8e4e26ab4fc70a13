package main

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chessbrain/chessbrain/internal/monitor"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

var (
	unitVariable = regexp.MustCompile(`\$\{?([A-Z_]+)\}?`)
	unitFlag     = regexp.MustCompile(`--([a-z0-9-]+)`)
)

// TestUnits holds the systemd units against the program: each starts a command
// with flags that there are, or a script, and its variables are all in run.env.
func TestUnits(t *testing.T) {
	const dir = "../../scripts/systemd"
	env := filetest.Read(t, filepath.Join(dir, "run.env"))
	units, err := filepath.Glob(filepath.Join(dir, "*.service"))
	if err != nil || len(units) != 6 {
		t.Fatalf("%d units, want 6: %v", len(units), err)
	}
	for _, path := range units {
		text := filetest.Read(t, path)
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

// TestManifests holds what starts players on clusters against the program: each names
// selfplay with flags that there are, and the files' own languages are what their programs
// read.
func TestManifests(t *testing.T) {
	const dir = "../../scripts/fleet"
	flags := find(t, "selfplay").Flags()
	for _, name := range []string{"kubernetes.yaml", "player.nomad.hcl", "player.slurm", "Dockerfile"} {
		data := filetest.Read(t, filepath.Join(dir, name))
		text, joins := string(data), 0
		for _, line := range strings.Split(text, "\n") {
			_, args, ok := strings.Cut(line, "selfplay")
			if !ok {
				continue
			}
			for _, flag := range unitFlag.FindAllStringSubmatch(args, -1) {
				if flag[1] != "help" && flags.Lookup(flag[1]) == nil {
					t.Errorf("%s: chessbrain selfplay has no flag --%s", name, flag[1])
				}
				if flag[1] == "join" {
					joins++
				}
			}
		}
		if joins == 0 {
			t.Errorf("%s: nobody joins", name)
		}
		for open, close := range map[string]string{"{": "}", "[": "]"} {
			if strings.Count(text, open) != strings.Count(text, close) {
				t.Errorf("%s: %d %s and %d %s", name, strings.Count(text, open), open, strings.Count(text, close), close)
			}
		}
	}
	manifest := filetest.Read(t, filepath.Join(dir, "kubernetes.yaml"))
	kinds, players := []string{}, ""
	for decoder := yaml.NewDecoder(bytes.NewReader(manifest)); ; {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     map[string]any
		}
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, object.Kind)
		if object.Kind == "StatefulSet" {
			players = object.Metadata.Name
		}
		if object.Spec["selector"] == nil {
			t.Errorf("%s selects nothing", object.Kind)
		}
	}
	if want := []string{"StatefulSet", "PodDisruptionBudget"}; !slices.Equal(kinds, want) {
		t.Errorf("kubernetes.yaml has %v, want %v", kinds, want)
	}
	var keda struct {
		Kind string
		Spec struct {
			ScaleTargetRef struct{ Kind, Name string } `yaml:"scaleTargetRef"`
			Triggers       []struct {
				Metadata struct{ Query, Threshold string }
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "keda.yaml"))
	if err == nil {
		err = yaml.Unmarshal(data, &keda)
	}
	if err != nil || keda.Kind != "ScaledObject" || keda.Spec.ScaleTargetRef.Name != players || len(keda.Spec.Triggers) != 1 {
		t.Fatalf("keda.yaml: %+v, %v", keda, err)
	}
	page := httptest.NewRecorder()
	monitor.NewProm("j").Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	names := regexp.MustCompile(`chessbrain_\w+`).FindAllString(keda.Spec.Triggers[0].Metadata.Query, -1)
	for _, name := range names {
		if !strings.Contains(page.Body.String(), "\n"+name+"{") {
			t.Errorf("keda.yaml asks for %s, which Prometheus is not told", name)
		}
	}
	if len(names) != 2 {
		t.Errorf("keda.yaml asks for %v", names)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		if out, err := exec.Command(bash, "-n", filepath.Join(dir, "player.slurm")).CombinedOutput(); err != nil {
			t.Errorf("player.slurm: %s", out)
		}
	}
}
