//go:build unix

package host

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/chessbrain/chessbrain/internal/testing/filetest"
)

// leave takes a program out of the group that started it.
func leave(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Children of a plugin end with it; one that got away does not hold the host up.
func TestChildren(t *testing.T) {
	for _, name := range []string{"parent", "runaway"} {
		b := newBench(t, []string{name}, nil)
		r := b.rescorer(name)
		data := filetest.Read(t, filepath.Join(b.dir, "child"))
		pid := 0
		for _, digit := range data {
			pid = 10*pid + int(digit-'0')
		}
		if !alive(pid) {
			t.Fatal("the child is not there")
		}
		if err := b.Release(r); err != nil {
			t.Error(err)
		}
		if name == "parent" || runtime.GOOS == "linux" {
			eventually(t, "the child is gone", func() bool { return !alive(pid) })
		} else {
			kill(t, pid)
		}
	}
}
