package python

import (
	"bytes"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/host"
	"github.com/chessbrain/chessbrain/plugins/plugintest"
	"github.com/chessbrain/chessbrain/plugins/stage"
	"github.com/chessbrain/chessbrain/record"
)

// interpreter returns a python3 that has grpcio.
var interpreter = sync.OnceValues(func() (string, error) {
	var err error
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, lookErr := exec.LookPath(name)
		if lookErr != nil {
			err = lookErr
			continue
		}
		if err = exec.Command(path, "-c", "import grpc, google.protobuf").Run(); err == nil {
			return path, nil
		}
	}
	return "", err
})

// python skips the test where there is no interpreter.
func python(t *testing.T) string {
	t.Helper()
	path, err := interpreter()
	if err != nil {
		t.Skipf("SKIPPED, the Python template is NOT TESTED: no python3 with grpcio here (Debian: python3-grpcio): %v", err)
	}
	return path
}

// TestLacksModules: where Python lacks grpcio, the plugin says what to install.
func TestLacksModules(t *testing.T) {
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("SKIPPED, there is no python3 here: %v", err)
	}
	lacking := t.TempDir()
	write(t, filepath.Join(lacking, "grpc.py"), []byte(`raise ImportError("No module named 'grpc'")`), 0o600)
	c := exec.Command(path, "-B", filepath.Join("decided", "plugin.py"))
	c.Env = append(os.Environ(), "PYTHONPATH="+lacking)
	said, err := c.CombinedOutput()
	want := regexp.MustCompile(`^No module named 'grpc': \S+ needs grpcio and protobuf \(pip install grpcio protobuf, .*\n$`)
	if err == nil || !want.Match(said) {
		t.Errorf("%v: %s", err, said)
	}
}

// program makes a plugin of the given name and script, with the helper modules
// beside it, and returns its directory.
func program(t *testing.T, name, script string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(script, "\n")
	if !ok || !strings.HasPrefix(script, "#!/usr/bin/env -S python3 -B\n") {
		t.Fatalf("%s: no first line that names the interpreter", name)
	}
	write(t, filepath.Join(dir, "plugin.py"), []byte("#!"+python(t)+" -B\n"+body), 0o700)
	for _, module := range []string{"chessbrain_plugin.py", "chessbrain_services.py", "plugin_pb2.py"} {
		write(t, filepath.Join(dir, module), []byte(read(t, filepath.Join("decided", module))), 0o600)
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	return string(filetest.Read(t, path))
}

func write(t *testing.T, path string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

func TestRescorerConforms(t *testing.T) {
	dir := program(t, "decided", read(t, "decided/plugin.py"))
	plugintest.RunProgram(t, dir, map[string]string{"threshold": "0.4", "factor": "0.5"})
}

func TestSamplerConforms(t *testing.T) {
	dir := program(t, "recent", read(t, "examples/recent.py"))
	plugintest.RunProgram(t, dir, map[string]string{"games": "500"})
}

func TestExporterConforms(t *testing.T) {
	plugintest.RunProgram(t, program(t, "summary", read(t, "examples/summary.py")), nil)
}

// over returns a host that finds the program, as a run has it. The test closes
// it.
func over(t *testing.T, dir string, log *slog.Logger) *host.Host {
	t.Helper()
	h, err := host.New(host.Options{Dirs: []string{filepath.Dir(dir)}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() }) // the second time it does nothing
	return h
}

// rescorer starts a program.
func rescorer(t *testing.T, h *host.Host, name string, settings map[string]string) stage.BatchRescorer {
	t.Helper()
	r, err := h.Rescorer(t.Context(), stage.Choice{Name: name, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	return r.(stage.BatchRescorer)
}

// decided is what the template says it does.
func decided(g *record.Game, threshold, factor float64) *record.Game {
	out := g.Clone()
	for i := range out.Plies {
		if p := &out.Plies[i]; math.Abs(float64(p.Root.Q)) >= threshold {
			p.Weight = float32(float64(p.Weight) * factor)
		}
	}
	return out
}

// The template gives the bytes that the same rescorer gives in Go.
func TestDecided(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := over(t, program(t, "decided", read(t, "decided/plugin.py")), nil)
	r := rescorer(t, h, "decided", map[string]string{"threshold": "0.3", "factor": "0.7"})
	games := append(plugintest.Games(seed, 40), plugintest.EdgeGames(seed)...)
	got, err := r.RescoreBatch(t.Context(), games)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i, g := range games {
		one, err1 := record.Append(nil, got[i])
		two, err2 := record.Append(nil, decided(g, 0.3, 0.7))
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Fatalf("game %d differs: %v, %v", i, err1, err2)
		}
		if got[i] != g {
			changed++
		}
	}
	if changed == 0 || changed == len(games) {
		t.Errorf("%d of %d games changed", changed, len(games))
	}
	if s := h.Stats(); len(s) != 1 || s[0].Restarts != 0 || s[0].Games != uint64(len(games)) {
		t.Errorf("%d games, the host counts %+v", len(games), s)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
