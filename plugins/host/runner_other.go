//go:build !linux

package host

import (
	"os/exec"
	"syscall"
)

// setAttributes gives the process a group of its own. That the plugin ends with
// a host that was killed is up to the plugin here: the SDK looks for its parent.
func setAttributes(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// awaitExit returns false at once: without Linux's waitid a child is waited for
// and reaped in one.
func awaitExit(int) bool { return false }
