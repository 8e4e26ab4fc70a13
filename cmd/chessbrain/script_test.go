package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chessbrain/chessbrain/internal/handover"
)

// TestMain lets the test binary be the program too: scripts and tests run it by
// its name.
func TestMain(m *testing.M) {
	if _, set := os.LookupEnv(handover.Var); !set {
		os.Setenv(handover.Var, "off") // a GPU program on this machine is another build
	}
	if !servePlugin() { // a host starts it under another name
		testscript.Main(m, map[string]func(){"chessbrain": main})
	}
}

// TestScripts runs the command lines of testdata/script, each in its own empty
// directory.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(e *testscript.Env) error { e.Setenv(handover.Var, "off"); return nil },
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(name string) (bool, error) {
			if name == "root" { // may write everywhere
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition " + name)
		},
	})
}

// exits CODE PROGRAM ARGS... runs a program and fails unless it exits with the
// code; stdout and stderr are kept for later lines.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
