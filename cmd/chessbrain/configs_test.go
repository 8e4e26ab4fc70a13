package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// recipes are the files of configs/ and the command that each is for; "" = it is
// no configuration of a command.
var recipes = map[string]string{
	"example.textproto": "train", "models.textproto": "",
	"chess.textproto": "train", "first.textproto": "train", "speedrun.textproto": "train", "anew.textproto": "train", "endgames.textproto": "train --openings starts.txt", "rl.textproto": "train", "sl.textproto": "train",
	"human.textproto": "train --data games.pgn", "distill.textproto": "train --data games.pgn",
	"smoke.textproto": "run", "laptop.textproto": "run", "gpu.textproto": "run", "h200.textproto": "run", "gumbel.textproto": "run", "loop.textproto": "run",
	"training/selfplay1.textproto": "selfplay", "training/selfplay2.textproto": "selfplay", "training/selfplay8a.textproto": "selfplay",
	"training/selfplay8b.textproto": "selfplay", "training/selfplay8main.textproto": "selfplay",
	"training/gatekeeper1.textproto": "gatekeeper", "training/gatekeeper2a.textproto": "gatekeeper",
	"training/gatekeeper2b.textproto": "gatekeeper", "training/gatekeeper2c.textproto": "gatekeeper",
}

// TestRecipes: every file of configs/ is taken by its command as it is, without a
// warning, and a recipe says what to expect.
func TestRecipes(t *testing.T) {
	root, err := filepath.Abs("../../configs")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"*.textproto", "*/*.textproto"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) != len(recipes) {
		t.Errorf("%d files in configs/, %d in the table of this test", len(files), len(recipes))
	}
	for _, path := range files {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			command, known := recipes[filepath.ToSlash(name)]
			if !known {
				t.Fatal("not in the table of this test")
			}
			if command == "" {
				return
			}
			text := filetest.Read(t, path)
			if name != "example.textproto" && !strings.HasPrefix(name, "training") && !strings.Contains(string(text), "\n# Expect") {
				t.Error("it does not say what to expect")
			}
			dryRun(t, command, path)
		})
	}
}

// dryRun tries a configuration in an empty directory.
func dryRun(t *testing.T, command, path string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, data := range []string{"games", "leela"} { // what rl and sl watch
		if err := os.Mkdir(data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"games.pgn": "[Event \"a\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n", "starts.txt": "8/8/8/8/8/2k5/8/KQ6 w - - 0 1\n"} {
		filetest.Write(t, name, text)
	}
	root, out := newRoot(), new(bytes.Buffer)
	root.SetOut(out)
	root.SetErr(out)
	root.SetArgs(append(strings.Fields(command), "--dry-run", "--config", path, "--run-dir", "run"))
	if err := root.Execute(); err != nil {
		t.Fatalf("chessbrain %s: %v\n%s", command, err, out)
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "warning: ") && !strings.Contains(line, "bf16") && !strings.Contains(line, "none is used") { // both are this machine's
			t.Error(line)
		}
	}
}
