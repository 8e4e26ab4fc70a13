package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/chess"
	"github.com/chessbrain/chessbrain/encoding"
	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/record"
	"github.com/chessbrain/chessbrain/replay"
	"github.com/chessbrain/chessbrain/run/setup"
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
	a := nntest.Resized(nn.Tower(8, 1), 4, 8, 2, 8)
	f, err := os.Create(filepath.Join(from, "n", setup.NetFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(nn.WriteSafetensors(f, nn.Init(a, 1), nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	args := []string{"export", "--models-dir", from, "--gating", "0", "--once", "--quiet"}
	out, err := executeLine(append(args, "--dry-run")...)
	if err != nil || !strings.Contains(out, filepath.Join(base, "models")+": 1 net\n  n\n") {
		t.Fatalf("dry run: %v\n%s", err, out)
	}
	out, err = executeLine(args...)
	made := filepath.Join(base, "models", "n.safetensors")
	if err != nil || !strings.Contains(out, "n (raw) -> "+made+"\n1 net exported") {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := setup.ReadNet(made); err != nil {
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

// TestExportNetGames: an exporter gets the games of --games file by file, those of
// the oldest file first whatever their numbers, so that its limit keeps the newest.
func TestExportNetGames(t *testing.T) {
	t.Chdir(t.TempDir())
	b := chess.StartBoard()
	move, err := b.ParseUCI("e2e4")
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range []string{"games/b/train", "games/a/train"} { // the older file comes last by name
		unknown := encoding.UnknownQDM
		g := &record.Game{ID: [16]byte{byte(i + 1)}, NetID: "n", Ordinal: uint64(9 - i), End: record.EndAborted,
			Plies: []record.Ply{{Move: move, Weight: 1, Root: unknown, Best: unknown, Played: unknown, Orig: unknown}}}
		w := replay.NewWriter(fsx.OS, dir, replay.WriterOptions{})
		if err := errors.Join(w.Append(g), w.Close()); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(dir + "/*")
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		if at := time.Unix(int64(1000+i), 0); os.Chtimes(files[0], at, at) != nil {
			t.Fatal("cannot set the time of a file")
		}
	}
	for limit, want := range map[string][]string{"1": {"02000"}, "0": {"01000", "02000"}} {
		out := "out" + limit
		if _, err := executeLine("export-net", "random-weights:1:8x1", "--exporter", "pgn", "--games", "games", "--set", "games="+limit, "--out", out); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(out + "/*.pgn")
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		text := filetest.Read(t, files[0])
		var got []string
		for _, part := range strings.Split(string(text), `[GameId "`)[1:] {
			got = append(got, part[:5])
		}
		if !slices.Equal(got, want) {
			t.Errorf("at most %s games: %v, want %v", limit, got, want)
		}
	}
}
