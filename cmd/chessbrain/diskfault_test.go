package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/fsx"
	"github.com/chessbrain/chessbrain/internal/testing/memfs"
)

// failEach runs a command and lets its n-th operation on the disk fail with EIO, and every
// second time all that follow, about so many n in the short form. The command ends and says
// what, where and what to do, or it goes on where nothing depends on it. The power goes after
// it, and the same command goes on by itself.
func (s *shaky) failEach(some int, args []string, check func()) {
	s.Helper()
	ops := s.again(args, check).Ops()
	var failed []memfs.Op
	what := func(n int) string {
		return fmt.Sprintf("of %d operations %d failed, the first is %v", len(ops), len(failed), failed[:min(len(failed), 1)])
	}
	s.each(len(ops)-1, some, what, func(n int) {
		r := s.recorder()
		r.FailAt(n+1, syscall.EIO, n%2 == 1)
		told, err := s.on(r, args...)
		if failed = r.Failures(); len(failed) > 0 {
			s.told(failed, told, err)
		}
		end := len(r.Ops())
		s.count(r, end)
		s.cut(r, end, memfs.Random(uint64(n)))
		s.again(args, check)
	})
}

// told holds what a command said against the operations that failed in it.
func (s *shaky) told(failed []memfs.Op, told string, err error) {
	s.Helper()
	names, ends := 0, 0 // lines with the fault and its place, and those of the end
	for line := range strings.Lines(told) {
		if strings.Contains(line, syscall.EIO.Error()) && strings.Contains(line, s.root) {
			names++
			if strings.HasPrefix(line, "chessbrain: ") {
				ends++
			}
		}
	}
	probed := len(failed) == 1 && failed[0].Kind == "remove" // of a directory, whose files are then removed one by one
	switch code := exitCode(err); {
	case err == nil && names == 0 && !probed:
		s.Errorf("not a word:\n%s", told)
	case err == nil:
	case code != exitFailure || names == 0 || strings.Count(told, diskRemedy) != 1:
		s.Errorf("exit code %d:\n%s", code, told)
	case len(failed) == 1 && ends != 1:
		s.Errorf("one fault is told %d times:\n%s", ends, told)
	}
}

// TestDiskFaultTrain: a disk that fails at any operation of a run.
func TestDiskFaultTrain(t *testing.T) {
	for _, workers := range []string{"0", "2"} {
		t.Run("workers "+workers, func(t *testing.T) {
			s := newShaky(t, trainRecipe)
			s.failEach(6, s.train(4, "--producer-workers", workers), func() { s.check(4) })
		})
	}
}

// TestDiskFaultSelfplay: the same of a process that only plays.
func TestDiskFaultSelfplay(t *testing.T) {
	s := newShaky(t, trainRecipe)
	s.failEach(6, s.args("selfplay", "--producer-workers", "1", "--max-games-total", "4"), func() { s.verify() })
}

// TestDiskFaultLoop: the same of the closed loop.
func TestDiskFaultLoop(t *testing.T) {
	s := newShaky(t, loopRecipe)
	s.failEach(4, s.args("run"), func() { s.verify() })
}

// TestPrintDiskError: a fault that many tell of is told once, with what to do.
func TestPrintDiskError(t *testing.T) {
	fault := fmt.Errorf("sync run/journal: %w: %w", fsx.ErrSync, syscall.EIO)
	var b bytes.Buffer
	printError(&b, errors.Join(fmt.Errorf("save: %w", fault), fault, fault))
	want := "chessbrain: save: sync run/journal: fsync failed, written data may be lost: input/output error\nchessbrain: " + diskRemedy + "\n"
	if b.String() != want {
		t.Errorf("got %s\nwant %s", &b, want)
	}
}

// TestPrintPathError: a fault of a path says what to do, unless somebody has said it.
func TestPrintPathError(t *testing.T) {
	for _, p := range pathRemedies {
		for said, want := range map[string]string{"%w": "; " + p.remedy, "%w; do this": "; do this"} {
			var b bytes.Buffer
			printError(&b, fmt.Errorf("make report directory: "+said, &fs.PathError{Op: "mkdir", Path: "a", Err: p.fault}))
			if want = "chessbrain: make report directory: mkdir a: " + p.fault.Error() + want + "\n"; b.String() != want {
				t.Errorf("got %s\nwant %s", &b, want)
			}
		}
	}
}
