package spawn

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lead gives the process a group of its own and has the kernel kill it
// when the thread that starts it ends, as it does when this program is killed.
func Lead(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), markPrefix+rand.Text()+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// markPrefix begins the name of a variable that a process and all that it starts have in
// their environment. The names differ, so that a chessbrain below another adds its own.
const markPrefix = "CHESSBRAIN_STARTED_"

// markedRounds bounds the looks at all processes: one that is found may start another.
const markedRounds = 10

// killMarked kills the processes with the mark that Lead put last into an environment:
// those that left the group by setsid.
func killMarked(env []string) {
	mark := ""
	for _, one := range env {
		if strings.HasPrefix(one, markPrefix) {
			mark = one
		}
	}
	for round, found := 0, mark != ""; found && round < markedRounds; round++ {
		found = false
		paths, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range paths {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			p, err := os.FindProcess(pid) // before the look: its number may go to another one after
			if err != nil {
				continue
			}
			data, _ := os.ReadFile(path) // empty once it has ended
			if bytes.Contains(append([]byte{0}, data...), append(append([]byte{0}, mark...), 0)) {
				found = true
				p.Kill()
			}
			p.Release()
		}
	}
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
