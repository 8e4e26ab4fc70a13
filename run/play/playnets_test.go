package play

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chessbrain/chessbrain/internal/config"
	"github.com/chessbrain/chessbrain/internal/testing/filetest"
	"github.com/chessbrain/chessbrain/internal/testing/nntest"
	"github.com/chessbrain/chessbrain/internal/testing/runtest"
	"github.com/chessbrain/chessbrain/nn"
	"github.com/chessbrain/chessbrain/run"
	"github.com/chessbrain/chessbrain/run/setup"
)

// putNet writes a net file as if at a time, in seconds.
func putNet(t *testing.T, path string, seed uint64, at int64) *nn.Net {
	t.Helper()
	arch := nntest.Named("16x1")
	return writeNet(t, path, nn.Init(arch, seed), at)
}

func writeNet(t *testing.T, path string, net *nn.Net, at int64) *nn.Net {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(nn.WriteSafetensors(f, net, nil), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
		t.Fatal(err)
	}
	return net
}

// TestModelFiles: an empty directory means random weights; then the file that was
// written last plays, each once; files under way and foreign ones do not count; a
// damaged one is an error each time until it is mended; so is a directory that
// vanished.
func TestModelFiles(t *testing.T) {
	models := t.TempDir() + "/models"
	e := runtest.Resolve(t, t.TempDir(), "")
	e.Config.Selfplay.ModelsDir = &models
	if err := setup.CheckModels(e, run.Dir{}); err == nil || !strings.Contains(err.Error(), "selfplay.models_dir") {
		t.Errorf("no directory: %v", err)
	}
	if err := os.Mkdir(models, 0o755); err != nil {
		t.Fatal(err)
	}
	finder := NewNetFinder(e, &setup.SelfPlay{Models: models, Job: "j"})
	expect := func(what, name string, samples uint64) {
		t.Helper()
		for _, want := range []string{name, ""} { // once
			found, err := finder.Find()
			got := ""
			if found != nil {
				got = found.Name
			}
			if err != nil || got != want || want != "" && (found.Samples != samples || found.Net == nil) {
				t.Errorf("%s: %q %v, want %q", what, got, err, want)
			}
		}
	}
	expect("empty directory", "random", 0)
	putNet(t, models+"/b-main-s100-d10.safetensors", 1, 1000)
	expect("first file", "b-main-s100-d10", 100)
	putNet(t, models+"/.c.safetensors", 1, 3000)
	putNet(t, models+"/.tmp/net.safetensors", 1, 3000)
	filetest.Write(t, models+"/note.txt", "")
	expect("what is being written", "", 0)
	putNet(t, models+"/a-main-s900-d90/net.safetensors", 2, 2000)
	expect("a directory with a net", "a-main-s900-d90", 900)
	putNet(t, models+"/z-main-s900-d90.safetensors", 2, 2000)
	expect("of the same time the last by name", "z-main-s900-d90", 900)
	putNet(t, models+"/older.safetensors", 2, 500)
	expect("an older file", "", 0)
	putNet(t, models+"/z-main-s800-d80.safetensors", 2, 2500)
	expect("an older net that was put back", "", 0)
	bad := models + "/bad.safetensors"
	filetest.Write(t, bad, "no net")
	for range 2 {
		if found, err := finder.Find(); found != nil || err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("damaged file: %v %v", found, err)
		}
	}
	putNet(t, bad, 3, time.Now().Unix()+10)
	expect("mended file", "bad", 0)
	for i, number := range []float32{float32(math.NaN()), math.MaxFloat32} {
		name := []string{"nan", "overflow"}[i]
		net := putNet(t, models+"/other.safetensors", 3, 1)
		for i := range net.Params {
			net.Params[i].Data[0] = number
		}
		writeNet(t, models+"/"+name+".safetensors", net, time.Now().Unix()+20+int64(i))
		for range 2 {
			if found, err := finder.Find(); found != nil || err == nil || !strings.Contains(err.Error(), filepath.Join(models, name)) {
				t.Errorf("%s: %v %v", name, found, err)
			}
		}
	}
	putNet(t, models+"/good.safetensors", 3, time.Now().Unix()+30)
	expect("a net after those that cannot play", "good", 0)
	if err := os.RemoveAll(models); err != nil {
		t.Fatal(err)
	}
	if found, err := finder.Find(); err == nil || !strings.Contains(err.Error(), models) {
		t.Errorf("vanished directory: %v %v", found, err)
	}
}

// TestDamagedAtStart: a start plays with the newest net that it can play with, and names the
// newer ones; a net that plays is not left for an older one; with none that is good a start
// is refused.
func TestDamagedAtStart(t *testing.T) {
	models, out := t.TempDir(), t.TempDir()+"/games"
	e, err := config.Resolve(config.Input{File: mustParse(t, runtest.Tiny), Overrides: []string{"selfplay.models_dir=" + models, "selfplay.output_dir=" + out}})
	if err != nil {
		t.Fatal(err)
	}
	damaged, nan := filepath.Join(models, "damaged.safetensors"), filepath.Join(models, "sub", "nan.safetensors")
	net := putNet(t, nan, 3, 1)
	net.Params[0].Data[0] = float32(math.NaN())
	writeNet(t, nan, net, 3000)
	if err := errors.Join(os.WriteFile(damaged, []byte("no net"), 0o644), os.Chtimes(damaged, time.Unix(4000, 0), time.Unix(4000, 0))); err != nil {
		t.Fatal(err)
	}
	_, err = playWith(t, t.Context(), e, 1, 2)
	if err == nil || !strings.Contains(err.Error(), damaged) || !strings.Contains(err.Error(), nan) {
		t.Errorf("no good net: %v", err)
	}
	if games, _ := filepath.Glob(out + "/*/p1/*.games"); len(games) != 0 {
		t.Errorf("no good net played %v", games)
	}
	putNet(t, models+"/older.safetensors", 1, 1000)
	putNet(t, models+"/good.safetensors", 2, 2000)
	var log strings.Builder
	p, err := SelfPlay(t.Context(), SelfPlayOptions{Effective: e, Process: 1, MaxGames: 2, Command: "test", Log: runtest.LogTo(&log)})
	if err != nil || p.Games != 2 || strings.Count(log.String(), "cannot be read; playing with good") != 1 || !strings.Contains(log.String(), damaged) || !strings.Contains(log.String(), nan) {
		t.Errorf("%v, %+v\n%s", err, p, log.String())
	}
	if games, err := filepath.Glob(out + "/good/p1/*.games"); err != nil || len(games) == 0 {
		t.Errorf("the good net played no games: %v", err)
	}
	finder := NewNetFinder(e, &setup.SelfPlay{Models: models, Job: "j"})
	expect := func(what, name string) {
		t.Helper()
		found, err := finder.Find()
		got := ""
		if found != nil {
			got = found.Name
		}
		if got != name || err == nil || !strings.Contains(err.Error(), damaged) {
			t.Errorf("%s: %q, want %q: %v", what, got, name, err)
		}
	}
	expect("at the start", "good")
	expect("the same again", "")
	if err := os.Remove(models + "/good.safetensors"); err != nil {
		t.Fatal(err)
	}
	expect("an older net", "")
	putNet(t, models+"/newer.safetensors", 2, 3500)
	expect("a newer one that is good", "newer")
}

// TestPlayFromModels: a process that has only a directory of nets and one for its
// games writes the games there, under the net's name, with what else it needs
// beside them.
func TestPlayFromModels(t *testing.T) {
	models, out := t.TempDir(), t.TempDir()+"/games"
	putNet(t, models+"/x-main-s5-d6.safetensors", 1, 1000)
	e, err := config.Resolve(config.Input{File: mustParse(t, runtest.Tiny), Overrides: []string{
		"selfplay.models_dir=" + models, "selfplay.output_dir=" + out, "selfplay.producer_workers=2"}})
	if err != nil {
		t.Fatal(err)
	}
	if e.Config.GetRunDir() != out {
		t.Errorf("run directory %s, want %s", e.Config.GetRunDir(), out)
	}
	p, err := playWith(t, t.Context(), e, 0, 5)
	if err != nil || p.Games != 5 || p.Played != 5 || p.WhiteWins+p.Draws+p.BlackWins != 5 || p.Workers != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	var text strings.Builder
	if err := p.Write(&text); err != nil || !strings.Contains(text.String(), "Process 1 has 5 games on disk, 5 of them from this start") {
		t.Errorf("%s %v", text.String(), err)
	}
	chunks, err := filepath.Glob(out + "/x-main-s5-d6/p1/*.games")
	if err != nil || len(chunks) == 0 {
		t.Errorf("no games in %s: %v", out, err)
	}
	metrics, err := filepath.Glob(out + "/metrics/*/selfplay-p1/metrics.jsonl")
	if err != nil || len(metrics) != 1 {
		t.Fatalf("metrics %v %v", metrics, err)
	}
	events, err := os.ReadFile(metrics[0])
	for _, want := range []string{`"type":"selfplay"`, `"games":5`, `"phase":"done"`, `"net_id":"x-main-s5-d6"`} {
		if !strings.Contains(string(events), want) {
			t.Errorf("no %s in the events: %v\n%s", want, err, events)
		}
	}
}

func mustParse(t *testing.T, text string) *config.File {
	t.Helper()
	f, err := config.Parse("test.textproto", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
