package handover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWanted: cuda must have the GPU program, auto takes it where it is, cpu never
// looks, and the GPU program hands nothing over.
func TestWanted(t *testing.T) {
	const beside = "/opt/chessbrain-cuda"
	for _, c := range []struct {
		name, variable string
		built, gpu     bool
		program        string
		devices        string
		path, reason   string
	}{
		{name: "auto", gpu: true, program: beside, devices: "auto cpu", path: beside},
		{name: "auto for producers", gpu: true, program: beside, devices: "cpu auto", path: beside},
		{name: "auto, no program", gpu: true, devices: "auto cpu"},
		{name: "auto, no GPU", program: beside, devices: "auto cpu"},
		{name: "cuda", gpu: true, program: beside, devices: "cpu cuda:1", path: beside},
		{name: "cuda, no program", gpu: true, devices: "cuda cpu", reason: "make cuda"},
		{name: "cuda, no GPU", program: beside, devices: "cuda cpu", reason: "no driver here"},
		{name: "named", variable: "/x/gpu", devices: "auto", path: "/x/gpu"},
		{name: "off", variable: "off", gpu: true, program: beside, devices: "auto"},
		{name: "off but asked for", variable: "off", gpu: true, program: beside, devices: "cuda", reason: "CHESSBRAIN_CUDA=off"},
		{name: "the GPU program itself", built: true, gpu: true, program: beside, devices: "cuda auto"},
	} {
		g := Search{
			built:     c.built,
			available: func() (bool, string) { return c.gpu, "no driver here" },
			lookup:    func(string) (string, bool) { return c.variable, c.variable != "" },
			program:   func() string { return c.program },
		}
		path, reason := g.Wanted(strings.Fields(c.devices)...)
		if path != c.path || (reason == "") != (c.reason == "") || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %q, %q, want %q, %q", c.name, path, reason, c.path, c.reason)
		}
	}
	asked := func() (bool, string) { t.Error("--device cpu looked for a driver"); return false, "" }
	never := Search{available: asked, lookup: func(string) (string, bool) { asked(); return "", false }, program: func() string { asked(); return "" }}
	if path, reason := never.Wanted("cpu", "cpu"); path != "" || reason != "" {
		t.Errorf("cpu: %q, %q", path, reason)
	}
}

// TestFindProgram: it is looked for on PATH where none lies beside the program.
func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if path := findProgram(); path != "" {
		t.Fatalf("found %s in an empty directory", path)
	}
	want := filepath.Join(dir, Program)
	if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if path := findProgram(); path != want {
		t.Errorf("found %q, want %q", path, want)
	}
}

// TestAfterFault: it is said once, and not to programs that this one starts.
func TestAfterFault(t *testing.T) {
	t.Setenv(faultVar, "1")
	if first, second := AfterFault(), AfterFault(); !first || second {
		t.Errorf("after a fault: %v, then %v", first, second)
	}
	if _, there := os.LookupEnv(faultVar); there {
		t.Errorf("%s is handed on", faultVar)
	}
}
