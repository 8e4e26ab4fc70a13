//go:build !linux

package uci

import (
	"os/exec"
	"syscall"
)

// setAttributes gives the process a group of its own. That the engine ends with
// a process of ours that was killed is up to the engine here: its input ends.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// awaitExit returns false at once: without Linux's waitid a child is waited for
// and reaped in one.
func awaitExit(int) bool { return false }
