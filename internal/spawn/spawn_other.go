//go:build unix && !linux

package spawn

import (
	"os/exec"
	"syscall"
)

// Lead gives the process a group of its own. That it ends with this program where that is
// killed is up to it here: an engine's input ends, and a plugin looks for its parent.
func Lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// awaitExit returns false at once: without Linux's waitid a child is waited for
// and reaped in one.
func awaitExit(int) bool { return false }

// killMarked does nothing here: no process tells another its environment.
func killMarked([]string) {}
