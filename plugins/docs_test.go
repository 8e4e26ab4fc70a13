package plugins_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/plugins/export"
	"github.com/chessbrain/chessbrain/plugins/plugintest"
	"github.com/chessbrain/chessbrain/plugins/rescore"
	"github.com/chessbrain/chessbrain/plugins/sample"
	"github.com/chessbrain/chessbrain/plugins/stage"
)

// text returns a file of the repository.
func text(t *testing.T, path string) string {
	t.Helper()
	return string(filetest.Read(t, filepath.Join("..", path)))
}

// block returns the n-th block of a language in docs/PLUGINS.md.
func block(t *testing.T, language string, n int) string {
	t.Helper()
	parts := strings.Split(text(t, "docs/PLUGINS.md"), "\n```"+language+"\n")
	if len(parts) <= n+1 {
		t.Fatalf("docs/PLUGINS.md has %d blocks of %s, want more than %d", len(parts)-1, language, n)
	}
	code, _, ok := strings.Cut(parts[n+1], "\n```\n")
	if !ok {
		t.Fatalf("docs/PLUGINS.md: block %d of %s has no end", n, language)
	}
	return code + "\n"
}

// The example in Go is a plugin that conforms, built as it stands there.
func TestGoExample(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "decided")
	filetest.Write(t, source, block(t, "go", 0))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, source)
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	plugintest.RunProgram(t, program, map[string]string{"threshold": "0.4", "factor": "0.5"})
}

// The example in Python is that of the template.
func TestPythonExample(t *testing.T) {
	if code := block(t, "python", 0); !strings.Contains(text(t, "plugins/python/decided/plugin.py"), "\n"+code) {
		t.Errorf("docs/PLUGINS.md differs from plugins/python/decided/plugin.py:\n%s", code)
	}
}

// shipped returns the definitions of the stages that are programs, too.
func shipped(t *testing.T) []*stage.Definition {
	t.Helper()
	all := slices.Concat(rescore.Definitions(), sample.Definitions(), export.Definitions())
	return slices.DeleteFunc(all, func(d *stage.Definition) bool { return d.Name == "identity" })
}

// row is a stage's line in the table.
func row(d *stage.Definition) string {
	var settings []string
	for _, s := range d.Settings {
		one := s.Name
		if s.Default != "" {
			one += " (" + s.Default + ")"
		}
		settings = append(settings, one)
	}
	return fmt.Sprintf("| %s | [%s](../plugins/%s/README.md) | %s | %s |\n", d.Kind, d.Name, d.Name, d.Doc, strings.Join(settings, ", "))
}

func TestTable(t *testing.T) {
	var want strings.Builder
	for _, d := range shipped(t) {
		want.WriteString(row(d))
	}
	_, section, _ := strings.Cut(text(t, "docs/PLUGINS.md"), "\n## The shipped plugins\n")
	_, got, ok := strings.Cut(section, "\n|---|---|---|---|\n")
	if !ok || got != want.String() {
		t.Errorf("docs/PLUGINS.md should end with these lines:\n%s", want.String())
	}
}

// Each shipped plugin has a folder, whose README names every setting and how it
// is chosen.
func TestFolders(t *testing.T) {
	for _, d := range shipped(t) {
		readme := text(t, filepath.Join("plugins", d.Name, "README.md"))
		for _, s := range d.Settings {
			if !strings.Contains(readme, "`"+s.Name+"`") {
				t.Errorf("plugins/%s/README.md does not name the setting `%s`", d.Name, s.Name)
			}
		}
		if !strings.HasPrefix(readme, "# "+d.Name+"\n") {
			t.Errorf("plugins/%s/README.md does not begin with its name", d.Name)
		}
		if main := text(t, filepath.Join("plugins", d.Name, "main.go")); !strings.Contains(main, `"`+d.Name+`"`) {
			t.Errorf("plugins/%s/main.go serves another stage", d.Name)
		}
	}
}
