//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchPlugins measures this test binary as a plugin (see TestMain), which
// leaves nothing behind.
func TestBenchPlugins(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	out, err := benchOutput("plugins", "--seconds", "1e-9", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Rescorer  string  `json:"rescorer"`
		Version   string  `json:"version"`
		Program   string  `json:"program"`
		Rows      int     `json:"rows"`
		PerCall   float64 `json:"games_per_call"`
		PerRow    float64 `json:"bytes_per_row"`
		Rate      float64 `json:"rows_s"`
		Bytes     float64 `json:"bytes_s"`
		Latency   float64 `json:"latency_s"`
		HostCPU   float64 `json:"host_cpu_s"`
		PluginCPU float64 `json:"plugin_cpu_s"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatal(err)
	}
	if v.Rescorer != "identity" || v.Version == "" || v.Program != "" || v.Rows < 6*80 || v.PerCall < 10 || v.PerRow < 50 || v.PerRow > 1000 {
		t.Errorf("%+v", v)
	}
	if !(v.Rate > 0 && v.Bytes > 0 && v.Latency > 0 && v.HostCPU > 0 && v.PluginCPU > 0) {
		t.Errorf("%+v", v)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	// A program of the user's, with a setting.
	program := filepath.Join(t.TempDir(), "policy-temperature")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+serveVar+"=policy-temperature exec chessbrain\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err = benchOutput("plugins", "--seconds", "1e-9", "--program", program, "--set", "temperature=2")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rescorer policy-temperature 1.0.0 as a plugin (" + program + "): calls of ", " MB/s ", " rows ", " ms of a call", "\n  CPU "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, args := range [][]string{{"--set", "temperature=-1"}, {"--set", "nosuch=1"}, {"--set", "temperature"}} {
		if _, err := benchOutput(append([]string{"plugins", "--seconds", "1e-9", "--program", program}, args...)...); exitCode(err) != exitUsage {
			t.Errorf("%q: error %v gives exit code %d", args, err, exitCode(err))
		}
	}
}
