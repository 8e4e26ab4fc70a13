package spawn

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lead gives the process a group of its own and has the kernel kill it
// when the thread that starts it ends, as it does when this program is killed.
func Lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits until a child has ended and leaves it to be waited for: until
// then its number, and its group's, stay taken. false: it cannot be told.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
